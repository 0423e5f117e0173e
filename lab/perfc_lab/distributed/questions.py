"""Published training runs as `perfc.plan` is asked for them, with a law in place of the shipped."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import perfc
from perfc.distributed import law as laws
from perfc.distributed.law import RunLaw
from perfc.machine.parallel import KEYS

from . import RunRow
from .learn import group_of, predicted_s
from .models import SHIPPED, configuration

NAMES = {field: key for key, field in KEYS.items()}
UNASKED = "neusight"
"""Source of steps without an optimizer, which `perfc.plan` does not take."""


def is_asked(row: RunRow) -> bool:
    """Return True if the public call takes what the row says; not frozen weights, as of LoRA."""
    return row.source != UNASKED and not row.training.is_frozen


def options(row: RunRow) -> dict[str, Any]:
    """Return the keyword arguments of `perfc.plan` that ask a row."""
    degrees: dict[str, int | str] = {"tp": 1, "pp": 1, "zero": 0}
    degrees |= {NAMES[field]: value for field, value in row.parallel.given().items()}
    training = row.training
    return {
        "batch": training.batch, "seq": training.seq, "train": training.optimizer,
        "dtype": "" if row.weights in ("bf16", "f16") else row.weights, "parallel": degrees,
        "checkpointing": training.checkpointing.value, "micro_batch": training.micro_batch,
        "trained_by": row.framework,
    }  # fmt: skip


def command(row: RunRow) -> str:
    """Return the command line that asks the same."""
    values = options(row)
    words = ["perfc", "plan", SHIPPED.get(row.model, row.model), "--gpus", row.parallel.devices]
    words += ["-t", row.cluster]
    for name, value in {**values, **values.pop("parallel")}.items():
        if value not in ("", None):
            words += [f"--{name.replace('_', '-')}", value]
    return shlex.join(map(str, words))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def config_of(row: RunRow) -> str:
    """Return the model as the public call takes it: a shipped name or a configuration's file."""
    if row.model in SHIPPED:
        return SHIPPED[row.model]
    name = "".join(c if c.isalnum() else "-" for c in f"{row.model} {row.training.seq}")
    path = Path(_folder().name) / name / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(configuration(row.model, row.training.seq)), encoding="utf-8")
    return str(path)


@contextmanager
def with_laws(replaced: Mapping[str, RunLaw]) -> Iterator[None]:
    """Let the public call use laws in place of those of the same names."""
    every = {**laws.laws(), **replaced}
    with patch.object(laws, "laws", lambda: every):
        yield


def answered_s(row: RunRow, law: RunLaw) -> float:
    """Return the seconds of a step as `perfc.plan` predicts them with a law.

    A row that cannot be asked is costed alone. A setting that does not fit is timed all the same.

    Raises:
        PerfcError: as `perfc.plan`.
    """
    if not is_asked(row):
        return predicted_s(row, law)
    with with_laws({group_of(row): law}):
        replaced = perfc.plan(config_of(row), row.parallel.devices, row.cluster, **options(row))
    best = replaced.best or replaced.smallest
    assert best is not None
    return best.time_s
