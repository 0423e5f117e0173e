"""Whole models of timm's benchmark: kernels summed, nothing learned of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact, Ready
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.steps.predict import StepEstimate, estimate, weights_name
from perfc.analyzers.steps.setting import RunMode
from perfc.machine import load_machine

from ...board import Score, score
from ...splitting import leave_out
from ...tables import digests
from ...tables.architectures import (
    FAMILY_PARTS,
    SEEDS,
    DatasetPart,
    families_in_turn,
    family,
    random_architectures,
)
from ...tables.timm import TABLE, StepRow, step_rows
from ..runs.step_fit import train_steps
from ..runs.sums import SumRecipe
from . import Experiment, Say

RANDOM, FAMILIES = "random architectures, 3 seeds", "unseen families, each once"
GOALS: Mapping[str, float] = {RANDOM: 0.10, FAMILIES: 0.14}
ANCHORS: Mapping[str, str] = {
    RANDOM: "scalar features + trees 13–21 %",
    FAMILIES: "scalar features + trees 15–28 %",
}
DRAWS: Mapping[str, Sequence[int]] = {RANDOM: SEEDS, FAMILIES: range(FAMILY_PARTS)}
SPLITS: Mapping[str, Callable[[Sequence[str], int], Mapping[str, DatasetPart]]] = {
    RANDOM: random_architectures,
    FAMILIES: families_in_turn,
}

Pair = tuple[StepRow, StepEstimate]


@cache
def every_row(folder: Path, say: Say, training: bool) -> tuple[StepRow, ...]:
    """Usable rows; graphs are lowered once for all experiments of a run."""
    return tuple(step_rows(folder, say, training=training))


@dataclass(frozen=True, eq=False)
class StepExperiment(Experiment):
    """One way of running.

    Args:
        mode: which.
        recipe: how factors are learned; chosen on a seed that no figure uses.
        by_family: likewise, where families calibrate: they differ more than architectures do, so
            that leaving out many of them at a time would widen intervals too much.
    """

    name: str
    title: str
    mode: RunMode
    recipe: SumRecipe = field(default_factory=SumRecipe)
    by_family: SumRecipe = field(default_factory=lambda: SumRecipe(folds=10))

    @property
    def held_out(self) -> str:
        """Architectures, families, machines."""
        return (
            "Three random draws of architectures are held out, then every family of architectures "
            "once, then each machine where several were measured."
        )

    def rows(self, folder: Path, say: Say) -> list[StepRow]:
        """Rows of this way of running."""
        rows = every_row(folder, say, self.mode is RunMode.TRAINING)
        return [r for r in rows if r.setting.mode is self.mode]

    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Train on every row."""
        rows = self.rows(folder, say)
        say(f"{self.name}: {len(rows):,} steps")
        return train_steps(
            self.name, rows, self.by_family, data=digests(folder, (TABLE,)), ready=ready
        )

    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Architectures, then families, then every machine left out."""
        rows = self.rows(folder, say)
        for name in SPLITS:
            yield from self.score(rows, name, say)
        for target, train, test in leave_out(rows, [r.target for r in rows]):
            if train:
                say(f"{self.name}: without {target}")
                found = estimated(train_steps(self.name, train, self.recipe), test)
                part = f"{self.mode.value}, {target}"
                yield figure_of(found, f"unseen machine {target}", part, None, "")

    def score(self, rows: Sequence[StepRow], name: str, say: Say) -> Iterator[Score]:
        """One kind of split, all draws together: each machine, then all of them."""
        pairs: list[Pair] = []
        models = sorted({r.architecture for r in rows})
        for draw in DRAWS[name]:
            say(f"{self.name}: {name}, draw {draw}")
            part = SPLITS[name](models, draw)
            train = [r for r in rows if part[r.architecture] is not DatasetPart.TEST]
            test = [r for r in rows if part[r.architecture] is DatasetPart.TEST]
            group, recipe = (family, self.by_family) if name == FAMILIES else (str, self.recipe)
            found = train_steps(self.name, train, recipe, group=group, leave_machines_out=False)
            pairs += estimated(found, test)
        targets = sorted({r.target for r in rows})
        for target in targets:
            mine = [p for p in pairs if p[0].target == target]
            yield figure_of(mine, name, f"{self.mode.value}, {target}", GOALS[name], ANCHORS[name])
        if len(targets) > 1:
            yield figure_of(pairs, name, self.mode.value, GOALS[name], ANCHORS[name])


def estimated(found: Artefact, rows: Sequence[StepRow]) -> list[Pair]:
    """Steps with their estimates, as a user's call gives them."""
    return [
        (r, estimate(found, r.columns.at(r.batch), r.setting, load_machine(r.target))) for r in rows
    ]


def figure_of(
    pairs: Sequence[Pair], split: str, name: str, goal: float | None, anchor: str
) -> Score:
    """Errors, coverage and the floor of tested steps.

    Raises:
        DataError: there are none.
    """
    if not pairs:
        raise DataError(f"no steps to test: {split}, {name}")
    measured = np.array([r.time_s for r, _ in pairs])
    time_s, low_s, high_s, floor_s = (
        np.array([getattr(e, n) for _, e in pairs])
        for n in ("time_s", "low_s", "high_s", "floor_s")
    )
    return score(split, name, measured, time_s, low_s, high_s, floor_s, goal=goal, anchor=anchor)


EAGER = StepExperiment(
    weights_name(RunMode.EAGER), "Whole models, operator by operator", RunMode.EAGER
)  # fmt: skip
CHANNELS_LAST = StepExperiment(
    weights_name(RunMode.CHANNELS_LAST), "Whole models, channels last", RunMode.CHANNELS_LAST
)
COMPILED = StepExperiment(
    weights_name(RunMode.COMPILED), "Whole models, compiled", RunMode.COMPILED
)  # fmt: skip
LISTED = SumRecipe(least_share=0.002, likens=True)
"""Of steps whose gradients are listed, and whose errors tell those of like steps."""
TRAINING = StepExperiment(
    weights_name(RunMode.TRAINING), "Whole models, training step", RunMode.TRAINING,
    LISTED, replace(LISTED, folds=7),
)  # fmt: skip
