"""Experiment on whole models under several runtimes, as `perfc analyze` predicts them by default.

Graphs, sources, chips and rows are left out in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact, Ready
from perfc.analyzers.runs.runtime_runs import NAME, RuntimeRun, estimated
from perfc.passes.runtimes import DEFAULT
from perfc.view.report import Grade

from ...board import Score, score
from ...splitting import fold_of, leave_out
from ...tables import digests
from ...tables.ort_runs import TABLE
from ...tables.whole_models import ODD_GRAPHS, table_files
from ..runs.measured_runs import MeasuredRun, measured_runs
from ..runs.run_fit import RunRecipe, chips_left_out, train_runs
from ..runs.unseen_gpu import RunPrediction, predictions
from . import Experiment, Say

FOLDS = 5
"""Folds, each of which is left out once."""
# names of the splits on the board
GRAPHS = "graphs left out, each once"
NEWER = "chip and newer left out, perfc analyze"
ROWS = "rows left out, each once"
SOURCES = "source and its networks left out, the default runtime of graphs"
# grades of confidence, the best first
GRADES = tuple(grade.value for grade in Grade)
Pair = tuple[MeasuredRun, RuntimeRun]
"""A measured run and its estimate."""
Slice = tuple[str, Callable[[MeasuredRun, RuntimeRun], bool], float | None]
"""Name of a group of rows, predicate that selects them, and goal of their mean error, if any."""


GOAL, GOAL_OF_ONE = 0.15, 0.20
"""Goals of the mean error: of each runtime, and of the rows with batch 1 under all runtimes."""


def under(runtime: str, stored: str = "") -> Slice:
    """Return the slice of a runtime in one precision, or in all; only all together have a goal."""
    return (
        f"{runtime}, {stored}" if stored else runtime,
        lambda run, _: run.table.runtime == runtime and stored in ("", run.table.stored),
        None if stored else GOAL,
    )


# slices over all runtimes
TOGETHER: tuple[Slice, ...] = (
    ("batch 1", lambda run, _: run.row.deployment.dims["batch"] == 1, GOAL_OF_ONE),
    ("all", lambda *_: True, None),
)


def slices(runs: Sequence[MeasuredRun]) -> Iterator[Slice]:
    """Yield each runtime, each of its precisions where it has several, then slices of all rows."""
    pairs = {(run.table.runtime, run.table.stored) for run in runs}
    for runtime in sorted({name for name, _ in pairs}):
        yield under(runtime)
        precisions = sorted(stored for name, stored in pairs if name == runtime)
        yield from (under(runtime, stored) for stored in precisions if len(precisions) > 1)
    yield from TOGETHER


@cache
def every_run(folder: Path, say: Say) -> tuple[MeasuredRun, ...]:
    """Return all usable rows, lowered once for all experiments of a run."""
    return tuple(measured_runs(folder, say))


@dataclass(frozen=True, eq=False)
class RuntimeExperiment(Experiment):
    """All runtimes together.

    Args:
        name: name of the weights.
        title: title in the scoreboard.
        recipe: how runs are learned; chosen on folds of graphs that no figure uses.
    """

    name: str
    title: str
    recipe: RunRecipe = field(default_factory=RunRecipe)

    @property
    def held_out(self) -> str:
        """Return how rows are held out, in words."""
        return (
            "Every graph is held out once, with all its rows, every source of ONNX Runtime with "
            "its networks, then every row; the predictor `runs` predicts them. Chips are held out "
            "with all newer ones; `perfc analyze` predicts up to 200 runs of each."
        )

    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Train on every row."""
        runs = every_run(folder, say)
        names = [path.name for path in table_files(folder)]
        data = digests(folder, [*names, *(p.name for p in folder.glob(TABLE))])
        return train_runs(self.name, runs, self.recipe, say, data=data, ready=ready)

    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Yield scores with graphs, sources, chips and rows left out."""
        runs = every_run(folder, say)
        yield from figures(GRAPHS, self.graphs(runs, say))
        yield from figures(SOURCES, self.sources(runs, say))
        yield from self.chips(folder, runs, say)
        yield from figures(ROWS, self.rows(runs, say))

    def chips(self, folder: Path, runs: Sequence[MeasuredRun], say: Say) -> Iterator[Score]:
        """Yield scores of ``perfc.analyze`` on each chip, held out with all newer ones."""
        every = list[RunPrediction]()
        for chip, train, tested in chips_left_out(runs):
            say(f"{self.name}: {chip}, {NEWER}")
            weights = train_runs(self.name, train, self.recipe, say)
            targets = sorted({run.row.deployment.target for run in tested})
            of_chip = predictions(weights, folder, targets)
            every += of_chip
            yield from door_scores(NEWER, chip, of_chip)
        yield from door_scores(NEWER, "all chips", every)

    def graphs(self, runs: Sequence[MeasuredRun], say: Say) -> list[Pair]:
        """Return every row with its estimate by a model that has not seen its graph."""
        # another seed than that of the folds that calibrate (`RunRecipe.seed`)
        dealt = fold_of([run.row.graph for run in runs], FOLDS, seed=7)
        return self.left_out(runs, [dealt[run.row.graph] for run in runs], GRAPHS, say)

    def rows(self, runs: Sequence[MeasuredRun], say: Say) -> list[Pair]:
        """Return every row with its estimate by a model that may have seen others of its graph."""
        # a permutation makes folds of equal size
        dealt = np.random.default_rng(7).permutation(len(runs)) % FOLDS
        return self.left_out(runs, dealt.tolist(), ROWS, say)

    def sources(self, runs: Sequence[MeasuredRun], say: Say) -> list[Pair]:
        """Return rows of the default runtime, by a model without their source and networks."""
        pairs: list[Pair] = []
        of_default = [run for run in runs if run.table.runtime == DEFAULT]
        for source in sorted({run.row.source for run in of_default}):
            test = [run for run in of_default if run.row.source == source]
            graphs = {run.row.graph for run in test}
            say(f"{self.name}: {SOURCES}, {source}")
            # other sources may have measured the same networks: those rows are left out as well
            train = [r for r in runs if r.row.source != source and r.row.graph not in graphs]
            pairs += estimates(train_runs(self.name, train, self.recipe, say), test)
        return pairs

    def left_out(
        self, runs: Sequence[MeasuredRun], dealt: Sequence[int], split: str, say: Say
    ) -> list[Pair]:
        """Return every row with its estimate by a model that has not seen its fold."""
        pairs: list[Pair] = []
        for fold, train, test in leave_out(runs, dealt):
            say(f"{self.name}: {split}, {fold + 1} of {FOLDS}")
            artefact = train_runs(self.name, train, self.recipe, say, leave_machines_out=False)
            pairs += estimates(artefact, test)
        return pairs


def door_scores(split: str, chip: str, runs: Sequence[RunPrediction]) -> Iterator[Score]:
    """Yield scores of `perfc analyze`: all times, those of each grade, sums of kernels alone."""
    # the last element of a prediction is its grade, the others are numbers
    grades = [(f"{chip}, graded {g}", [r for r in runs if r[-1] == g]) for g in GRADES]
    for name, rows in ((chip, runs), *grades):
        if rows:
            measured, low, mid, high, kernels, floor = np.array([r[:-1] for r in rows]).T
            yield score(split, name, measured, mid, low, high, floor)
            if name == chip:
                yield score(split, f"{chip}, kernels alone", measured, kernels)


def estimates(artefact: Artefact, runs: Sequence[MeasuredRun]) -> list[Pair]:
    """Return runs with their estimates; runs under runtimes without training rows are left out."""
    return [
        (run, estimated(artefact, run.table))
        for run in runs
        if run.table.runtime in artefact.card.frameworks
    ]


def figures(split: str, pairs: Sequence[Pair], wanted: Sequence[Slice] = ()) -> Iterator[Score]:
    """Yield the errors and coverage of every slice that has rows; by default all of `slices`."""
    for name, which, goal in wanted or slices([run for run, _ in pairs]):
        members = [pair for pair in pairs if which(*pair)]
        if members:
            yield figure_of(members, split, name, goal)


def figure_of(pairs: Sequence[Pair], split: str, name: str, goal: float | None) -> Score:
    """Return the score of some rows; those faster than a peak rate do not judge the floor."""
    measured = np.array([run.row.time_s for run, _ in pairs])
    low_s, time_s, high_s = (
        np.array([getattr(e.time, end) for _, e in pairs]) for end in ("low", "mid", "high")
    )
    holds = [run.row.time_s >= e.floor_s for run, e in pairs if run.row.graph not in ODD_GRAPHS]
    return score(
        split,
        name,
        measured,
        time_s,
        low_s,
        high_s,
        floor_holds=float(np.mean(holds or [True])),
        goal=goal,
    )


RUNTIMES = RuntimeExperiment(NAME, "Whole models under several runtimes")
