"""Whole transformers in eager PyTorch: built from their configurations, never trained on.

Kernels come from the operator predictor as it ships, whose rows are single operators; no run of a
whole model was seen by anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from perfc.errors import MissingExtraError

from ...artefact import Artefact, Ready
from ...conformal import coverage_of
from ...end_to_end import Plan, Run, inference, training
from ...rows import DataError
from ...sources import read_parquet
from ..evaluate import Figure
from ..export import exported, layer_units
from . import Experiment, Say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE = "neusight_e2e.parquet"
RUNTIME = "eager-literal"
GOALS = {"inf": (0.09, "NeuSight 10.1 %"), "train": (0.09, "NeuSight 9.8 %")}
TITLES = {"inf": "inference", "train": "training, forward and backward", "": "both"}


class Runs(Experiment):
    """NeuSight's end-to-end labels: eager, FP32 without TF32."""

    name = "neusight_runs"
    title = "Whole transformers, eager PyTorch in FP32, kernels summed"
    has_weights: ClassVar[bool] = False

    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Nothing is trained.

        Raises:
            DataError: always.
        """
        raise DataError("whole runs have no weights of their own", where=self.name)

    def evaluate(self, folder: Path, say: Say) -> Iterator[Figure]:
        """Inference, training, both, then each by machine; nothing where torch is missing."""
        frame = read_parquet(folder / FILE)
        frame = frame[frame["variant"] == "eager"]
        found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        try:
            for row in frame.itertuples():
                made = run(row, say)
                whole = made.whole
                measured_s = row.e2e_latency_ms * 1e-3
                line = (measured_s, whole.time_s, whole.low_s, whole.high_s, made.floor_s)
                mode, device = str(row.mode), str(row.device)
                for key in ((mode, ""), ("", ""), (mode, device)):
                    found.setdefault(key, []).append(line)
        except MissingExtraError as error:
            say(f"{self.name}: left out, {error}")
            return
        for (mode, device), lines in sorted(found.items(), key=lambda item: item[0][::-1]):
            yield figure(mode, device, lines)


def run(row: Any, say: Say) -> Run:
    """One label's model: two cuts of it, and as many layers more as it has."""
    is_training = row.mode == "train"
    cuts = []
    for units in (1, 2):
        path = exported(
            str(row.model), row.hf_config_json, int(row.seq_len), units,
            training=is_training, folder=cache(),
        )  # fmt: skip
        plan = Plan.of(path, str(row.device), {"batch": int(row.batch)}, RUNTIME, tf32=False)
        cuts.append(training(plan) if is_training else inference(plan))
    made = cuts[1].layers(cuts[0], layer_units(row.hf_config_json))
    ratio = made.whole.time_s / (row.e2e_latency_ms * 1e-3)
    say(f"{row.device} {row.model} {row.mode} {row.batch} x {row.seq_len}: {ratio:.3f}")
    return made


def figure(mode: str, device: str, lines: list[tuple[float, ...]]) -> Figure:
    """Errors of the runs of one mode, ``""`` for both, of all machines or one."""
    import numpy as np

    columns: NDArray[np.float64] = np.array(lines)
    measured, predicted, low, high, floor = columns.T
    error = np.abs(predicted / measured - 1)
    goal, anchor = GOALS.get(mode, (None, "")) if not device else (None, "")
    return Figure(
        "no whole model seen",
        TITLES[mode] + (f", {device}" if device else ""),
        len(lines),
        float(error.mean()),
        float(np.median(error)),
        coverage_of(measured, low, high),
        float((floor <= measured).mean()),
        float(np.median(high / low)),
        goal,
        anchor,
    )


def cache() -> Path:
    """Where exported models are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "perfc" / "neusight"


EXPERIMENT = Runs()
