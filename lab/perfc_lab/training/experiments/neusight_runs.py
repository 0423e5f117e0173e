"""Test predictions of whole transformers in eager PyTorch, against NeuSight's measured runs.

A model is built from its configuration, and its kernels are predicted by the shipped predictors,
which learned from single operators alone. The width of a run's interval depends on the correlation
of the errors of products, which is chosen for each network on the runs of the others.
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
# goal of the mean error by mode, and NeuSight's published error
GOALS = {"inf": (0.09, "NeuSight 10.1 %"), "train": (0.09, "NeuSight 9.8 %")}
STEPS = 100
"""Number of correlations that are tried, at equal steps from 0 on; 1 follows if none suffices."""
TASKS = {
    ("bert_large", "inf"): "BertForSequenceClassification",
    ("bert_large", "train"): "BertForPreTraining",
}
"""Class of the model that ran, by network and mode, where its configuration names another. The
source lists the nodes of some runs: the last ones are a pooler and two logits, in training two
heads."""
# names of modes in tables; "" is both modes
TITLES = {"inf": "inference", "train": "training, forward and backward", "": "both"}


class Runs(Experiment):
    """Experiment on NeuSight's runs of whole models: eager, in FP32 without TF32."""

    name = "neusight_runs"
    title = "Whole transformers, eager PyTorch in FP32, kernels summed"
    has_weights: ClassVar[bool] = False
    held_out = (
        "Every run of a whole model is held out: the predictors learned from single operators "
        "alone. The width of a run's interval is chosen on runs of the other networks."
    )

    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Raise an error, as there is nothing to train.

        Raises:
            DataError: always.
        """
        raise DataError("whole runs have no weights of their own", where=self.name)

    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Yield the scores of inference, of training and of both, then of each mode by machine.

        Without PyTorch, which builds the models, there are none.
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
                # the run counts for its mode, for both modes, and for its mode on its machine
                for key in ((mode, ""), ("", ""), (mode, run.device)):
                    by_slice.setdefault(key, []).append(line)
        # sorted by machine, where "" for all machines comes first, then by mode
        for (mode, device), lines in sorted(by_slice.items(), key=lambda item: item[0][::-1]):
            yield figure(mode, device, lines)


@frozen
class TimedLabel:
    """A measured run with its prediction.

    Args:
        device: name of the machine.
        model: name of the network.
        mode: ``inf`` or ``train``.
        measured_s: measured time.
        made: predicted run.
    """

    device: str
    model: str
    mode: str
    measured_s: float
    made: TrainingStep

    def line(self, products: float) -> tuple[float, ...]:
        """Return measured and predicted time, both ends of the interval, and the lower bound.

        ``products`` is the correlation of the errors of products, which widens the interval.
        """
        whole = replace(self.made.whole, products=products)
        return self.measured_s, whole.time_s, whole.low_s, whole.high_s, self.made.floor_s

    def is_held(self, products: float) -> bool:
        """Return True if the interval at a correlation contains the measured time."""
        measured_s, _, low_s, high_s, _ = self.line(products)
        return low_s <= measured_s <= high_s


def correlation(runs: Iterable[TimedLabel]) -> float:
    """Return the smallest correlation with which 90 % of the runs are in their interval; else 1."""
    labels = list(runs)
    enough = (
        share / STEPS
        for share in range(STEPS)
        if sum(label.is_held(share / STEPS) for label in labels) >= COVERAGE * len(labels)
    )
    return next(enough, TOGETHER)


def timed(row: Any, say: Say) -> TimedLabel:
    """Return the measured run of a row of the table, with its prediction."""
    table, measured_s = run(row), row.e2e_latency_ms * 1e-3
    ratio = table.whole.time_s / measured_s
    say(f"{row.device} {row.model} {row.mode} {row.batch} x {row.seq_len}: {ratio:.3f}")
    return TimedLabel(str(row.device), str(row.model), str(row.mode), measured_s, table)


def run(row: Any) -> TrainingStep:
    """Return the prediction of a run, extrapolated from models cut to one and to two layers."""
    is_training = row.mode == "train"
    cuts = []
    # layers are equal: the difference of the two is the time of each further layer
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
    """Return the score of the runs of a mode on a machine; "" is both modes, or all machines."""
    columns: NDArray[np.float64] = np.array(lines)
    measured, predicted, low, high, floor = columns.T
    # goals are of all machines together
    goal, anchor = GOALS.get(mode, (None, "")) if not device else (None, "")
    part = TITLES[mode] + (f", {device}" if device else "")
    split = "no whole model seen"
    return score(split, part, measured, predicted, low, high, floor, goal=goal, anchor=anchor)


def cache() -> Path:
    """Return the folder of exported models."""
    return cache_folder("neusight")


EXPERIMENT = Runs()
