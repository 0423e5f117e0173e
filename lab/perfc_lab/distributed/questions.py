"""Turn published training runs into calls of `perfc.plan` that use given laws of runs.

The laws replace the shipped ones, which were fitted to the same runs.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import perfc
from perfc.analyzers.runs import run_law as laws
from perfc.analyzers.runs.run_law import RunLaw
from perfc.machine.parallel import ALONE

from ..command_line import command_line
from . import RunRow
from .learn import group_of, predicted_s
from .models import SHIPPED, configuration

FIXED = ("tp", "pp", "zero")
"""Degrees of parallelism that `perfc.plan` would search if a call left them out."""
WITHOUT_OPTIMIZER = "neusight"
"""Source of steps without an optimizer, which `perfc.plan` does not take."""


def is_supported(row: RunRow) -> bool:
    """Return True if `perfc.plan` has options for the row: not for frozen weights, as with LoRA."""
    return row.source != WITHOUT_OPTIMIZER and not row.training.is_frozen


def options(row: RunRow) -> dict[str, Any]:
    """Return the keyword arguments of `perfc.plan` for a row."""
    # degrees of 1 are the default and left out, except degrees that the call searches by default
    defaults, training = ALONE.as_json(), row.training
    degrees = {
        key: value
        for key, value in row.parallel.as_json().items()
        if key in FIXED or value != defaults[key]
    }
    return {
        "batch": training.batch,
        "seq": training.seq,
        "train": training.optimizer,
        # 16 bits are the type of the models themselves, which "" leaves as it is
        "dtype": "" if row.weights in ("bf16", "f16") else row.weights,
        "parallel": degrees,
        "checkpointing": training.checkpointing.value,
        "micro_batch": training.micro_batch,
        "trained_by": row.framework,
    }


def command(row: RunRow) -> str:
    """Return the command line of the same call, as the board shows it.

    A model that is not shipped appears as a file, ``NAME.json``.
    """
    model = SHIPPED.get(row.model) or f"{row.model}.json"
    # the command line names the keyword ``batch`` --global-batch
    given = {"global_batch" if n == "batch" else n: v for n, v in options(row).items()}
    words = ("perfc", "plan", model, "--gpus", row.parallel.devices, "-t", row.cluster)
    return command_line(*words, options=given)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for configurations, which lasts as long as the process."""
    return tempfile.TemporaryDirectory()


def config_of(row: RunRow) -> str:
    """Return the model as the public call takes it: a shipped name or a configuration's file."""
    if row.model in SHIPPED:
        return SHIPPED[row.model]
    # the number of positions of some models depends on the sequence: a file for each length
    name = "".join(c if c.isalnum() else "-" for c in f"{row.model} {row.training.seq}")
    path = Path(_folder().name) / name / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(configuration(row.model, row.training.seq)), encoding="utf-8")
    return str(path)


@contextmanager
def with_laws(replaced: Mapping[str, RunLaw]) -> Iterator[None]:
    """Let `perfc.plan` use other laws, by name; shipped laws of other names remain."""
    all_laws = {**laws.laws(), **replaced}
    with patch.object(laws, "laws", lambda: all_laws):
        yield


def answered_s(row: RunRow, law: RunLaw) -> float:
    """Return the seconds of a step as `perfc.plan` predicts them with a law.

    Rows that it has no options for (`is_supported`) are costed without it. A setting that does not
    fit in memory has a time as well, as the run was measured.

    Raises:
        PerfcError: as `perfc.plan`.
    """
    if not is_supported(row):
        return predicted_s(row, law)
    with with_laws({group_of(row): law}):
        answer = perfc.plan(config_of(row), row.parallel.devices, row.cluster, **options(row))
    # of the settings that fit the fastest; if none fits, the one with the least memory
    best = answer.best or answer.smallest
    assert best is not None
    return best.time_s
