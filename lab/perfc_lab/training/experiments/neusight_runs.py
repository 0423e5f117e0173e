"""Whole transformers in eager PyTorch: built from their configurations, never trained on.

Kernels are predicted by the shipped operator predictor, whose rows are single operators, not whole
models. The correlation of the errors of products in a run is chosen for each network on the
runs of all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact, Ready
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.intervals.conformal import COVERAGE
from perfc.analyzers.intervals.summing import TOGETHER
from perfc.common.cache_folder import cache_folder
from perfc.errors import MissingExtraError
from perfc.ir.record import frozen
from perfc.passes.runtimes import Tf32

from ...board import Score, score
from ...tables import read_parquet
from ..export import exported, layer_units
from ..runs.end_to_end import Plan, TrainingStep, inference, training
from . import Experiment, Say

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "neusight_e2e.parquet"
# eager PyTorch, whose kernels are those of single operators
RUNTIME = "eager-literal"
# goal of the mean error by mode, and NeuSight's published one
GOALS = {"inf": (0.09, "NeuSight 10.1 %"), "train": (0.09, "NeuSight 9.8 %")}
STEPS = 100
"""Number of correlations between 0 and 1 that are tried."""
TASKS = {
    ("bert_large", "inf"): "BertForSequenceClassification",
    ("bert_large", "train"): "BertForPreTraining",
}
"""Classes that ran where the configuration names another: the last nodes of the runs that the same
source lists node by node are a pooler and two logits, and in training two heads."""
# names of modes in slices
TITLES = {"inf": "inference", "train": "training, forward and backward", "": "both"}


class Runs(Experiment):
    """NeuSight's end-to-end labels: eager, FP32 without TF32."""

    name = "neusight_runs"
    title = "Whole transformers, eager PyTorch in FP32, kernels summed"
    has_weights: ClassVar[bool] = False
    held_out = (
        "Every run of a whole model is held out: the predictors learned from single operators "
        "alone. The width of a run's interval is chosen on runs of the other networks."
    )

    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Train nothing.

        Raises:
            DataError: always.
        """
        raise DataError("whole runs have no weights of their own", where=self.name)

    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Yield the inference, training, both, then each by machine.

        Nothing where torch is missing.
        """
        frame = read_parquet(folder / FILE)
        frame = frame[frame["variant"] == "eager"]
        try:
            runs = [timed(row, say) for row in frame.itertuples()]
        except MissingExtraError as error:
            say(f"{self.name}: left out, {error}")
            return
        by_slice: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        for mode in GOALS:
            of_mode = [run for run in runs if run.mode == mode]
            say(f"correlation of products, {TITLES[mode]}: {correlation(of_mode)}")
            # the width of a run's interval is chosen without runs of its network
            by_others = {
                name: correlation(run for run in of_mode if run.model != name)
                for name in {run.model for run in of_mode}
            }
            for run in of_mode:
                line = run.line(by_others[run.model])
                # of the mode, of both modes, of the mode on the machine
                for key in ((mode, ""), ("", ""), (mode, run.device)):
                    by_slice.setdefault(key, []).append(line)
        for (mode, device), lines in sorted(by_slice.items(), key=lambda item: item[0][::-1]):
            yield figure(mode, device, lines)


@frozen
class TimedLabel:
    """A measured run with its prediction.

    Args:
        device: the machine.
        model: name of the network.
        mode: ``inf`` or ``train``.
        measured_s: measured time.
        made: the prediction.
    """

    device: str
    model: str
    mode: str
    measured_s: float
    made: TrainingStep

    def line(self, products: float) -> tuple[float, ...]:
        """Return the measured, predicted, the interval's ends at a correlation, and the floor."""
        whole = replace(self.made.whole, products=products)
        return self.measured_s, whole.time_s, whole.low_s, whole.high_s, self.made.floor_s

    def is_held(self, products: float) -> bool:
        """Return True if the interval contains the label."""
        measured_s, _, low_s, high_s, _ = self.line(products)
        return low_s <= measured_s <= high_s


def correlation(runs: Iterable[TimedLabel]) -> float:
    """Return the least correlation with which intervals contain 90 % of the runs; 1 if none."""
    labels = list(runs)
    enough = (
        share / STEPS
        for share in range(STEPS)
        if sum(label.is_held(share / STEPS) for label in labels) >= COVERAGE * len(labels)
    )
    return next(enough, TOGETHER)


def timed(row: Any, say: Say) -> TimedLabel:
    """Return one label, built and predicted."""
    table, measured_s = run(row), row.e2e_latency_ms * 1e-3
    ratio = table.whole.time_s / measured_s
    say(f"{row.device} {row.model} {row.mode} {row.batch} x {row.seq_len}: {ratio:.3f}")
    return TimedLabel(str(row.device), str(row.model), str(row.mode), measured_s, table)


def run(row: Any) -> TrainingStep:
    """Return the prediction of a run, extrapolated from models of one and of two layers."""
    is_training = row.mode == "train"
    cuts = []
    # the second layer is the time of each further one, as all are equal
    for units in (1, 2):
        path = exported(
            str(row.model),
            row.hf_config_json,
            int(row.seq_len),
            units,
            training=is_training,
            folder=cache(),
            architecture=TASKS.get((str(row.model), str(row.mode)), ""),
        )
        dims = {"batch": int(row.batch)}
        plan = Plan.of(path, str(row.device), dims, RUNTIME, tf32=Tf32.NONE, trains=is_training)
        cuts.append(training(plan) if is_training else inference(plan))
    return cuts[1].layers(cuts[0], layer_units(row.hf_config_json))


def figure(mode: str, device: str, lines: list[tuple[float, ...]]) -> Score:
    """Return the errors of the runs of one mode, ``""`` for both, of all machines or one."""
    columns: NDArray[np.float64] = np.array(lines)
    measured, predicted, low, high, floor = columns.T
    goal, anchor = GOALS.get(mode, (None, "")) if not device else (None, "")
    part = TITLES[mode] + (f", {device}" if device else "")
    split = "no whole model seen"
    return score(split, part, measured, predicted, low, high, floor, goal=goal, anchor=anchor)


def cache() -> Path:
    """Return the folder of exported models."""
    return cache_folder("neusight")


EXPERIMENT = Runs()
