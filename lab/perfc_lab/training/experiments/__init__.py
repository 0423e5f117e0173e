"""Experiments: each trains one predictor and tests it; modules of this package define them.

An experiment defines its rows, splits and figures before anything is trained. `train` returns the
weights that ship, from all rows; `evaluate` trains again without the rows that it tests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact, Ready
from perfc.analyzers.features.table import class_of
from perfc.common.declared import modules
from perfc.errors import PerfcError

from ...board import Score
from ...data.rows import Rows
from ...tables import sources
from ..calibration.calibrate import Calibrating
from ..calibration.machines import ForestCache
from ..evaluate import CallerContext, RowSlice, Tested, figure, test
from ..fit import Recipe, train
from ..protocols import (
    FOLDS,
    Holdout,
    UnseenMachine,
    UnseenShapes,
    dealt,
    every_fold,
    shapes_name,
    split,
    targets,
)

Say = Callable[[str], None]


class Experiment(ABC):
    """One predictor's training and its scoreboard."""

    name: str
    title: str
    has_weights: ClassVar[bool] = True
    """True if there is something to train."""

    @property
    @abstractmethod
    def held_out(self) -> str:
        """Return how rows are held out for the figures, in sentences for the scoreboard."""

    @abstractmethod
    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Return the shipped weights, trained on all rows of the tables in a folder.

        ``ready`` gets name and schema before the training, and may raise an error to refuse them.
        """

    @abstractmethod
    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Return the figures of held-out rows."""


@dataclass(frozen=True, eq=False)
class OperatorExperiment(Experiment):
    """Experiment on a class of kernels: tests on unseen shapes, and on each machine left out.

    Args:
        name: name of the predictor and its weights.
        title: title in the scoreboard.
        class_name: name of the kernel class.
        sources: names of the sources of rows (`perfc_lab.tables`).
        group: shape parameters; rows with equal values of them are in one fold.
        recipe: settings of the training.
        shapes: slices of the rows with unseen shapes.
        groups: slices of the rows of whole groups left out (``whole``).
        machines: slices of the rows of a machine left out.
        choose: returns True for a block that is used; by default all blocks of the class are.
        calibrating: settings of the calibration of intervals.
        every_fold: whether all folds of shapes are tested, for classes whose folds have few rows.
        drawn: maximum rows to train and test on, drawn at random; 0 for all.
        tested_rows: maximum rows that one test predicts, drawn at random; 0 for all.
        whole: parameters, or the column of the model; rows with equal values of them are also left
            out as whole groups. Empty for no such test.
        parts: maximum number of parts that these groups are divided into, each tested once.
        shape_folds: number of folds of shapes if only one is tested; ``every_fold`` has `FOLDS`.
    """

    name: str
    title: str
    class_name: str
    sources: tuple[str, ...]
    group: tuple[str, ...]
    recipe: Recipe = field(default_factory=Recipe)
    shapes: tuple[RowSlice, ...] = ()
    groups: tuple[RowSlice, ...] = ()
    machines: tuple[RowSlice, ...] = ()
    choose: Callable[[Rows], bool] | None = None
    calibrating: Calibrating = field(default_factory=Calibrating)
    every_fold: bool = False
    drawn: int = 0
    tested_rows: int = 0
    whole: tuple[str, ...] = ()
    parts: int = 9
    shape_folds: int = FOLDS

    @property
    def held_out(self) -> str:
        """Return the sentences on shapes, whole groups and machines."""
        share = {FOLDS: "fifth", 10: "tenth"}[self.shape_folds]
        folds = "each fifth in turn" if self.every_fold else f"one {share} of them"
        return (
            f"Rows are grouped by their shapes ({', '.join(self.group)}), and {folds} is held out. "
            f"{self.whole_held_out}"
            "Then each machine is held out, alone and with the other machines of its chip."
        )

    @property
    def whole_held_out(self) -> str:
        """Return the sentence on groups that are left out whole; "" without such groups."""
        if not self.whole:
            return ""
        names = ", ".join(self.whole)
        return (
            f"Then all rows that share ({names}) are held out whole; such groups are dealt out to "
            f"at most {self.parts} parts, each of which is tested. "
        )

    def rows(self, folder: Path) -> list[Rows]:
        """Return the blocks of the class from all sources, at most ``drawn`` rows together."""
        blocks = []
        for name in self.sources:
            for block in sources()[name].rows(folder):
                if block.class_name == self.class_name and (not self.choose or self.choose(block)):
                    blocks.append(block)
        return thinned(blocks, self.drawn)

    def train(self, folder: Path, say: Say, ready: Ready | None = None) -> Artefact:
        """Return the weights to ship, trained on all rows."""
        digests: dict[str, str] = {}
        for name in self.sources:
            digests |= sources()[name].digests(folder)
        blocks = self.taught(self.rows(folder))
        say(f"{self.name}: {sum(map(len, blocks)):,} rows of {len(targets(blocks))} machines")
        artefact = train(
            self.name,
            blocks,
            self.recipe,
            self.group,
            data=digests,
            calibrating=self.calibrating,
            ready=ready,
        )
        return artefact

    def taught(self, blocks: list[Rows]) -> list[Rows]:
        """Return the rows to train on, of those that are not held out; here all of them."""
        return blocks

    def evaluate(self, folder: Path, say: Say) -> Iterator[Score]:
        """Yield the scores of shapes, of whole groups, and of machines left out."""
        blocks = self.rows(folder)
        yield from self.check_shapes(blocks, say)
        yield from self.check_groups(blocks, say)
        yield from self.check_machines(blocks, say)

    def check_shapes(self, blocks: Sequence[Rows], say: Say) -> Iterator[Score]:
        """Yield the scores of unseen shapes: fold 0 alone, or the rows of all folds together."""
        single = UnseenShapes(self.group, parts=self.shape_folds)
        # the function of `protocols` returns the folds, the field says whether all are tested
        folds = every_fold(self.group) if self.every_fold else (single,)
        name = shapes_name(self.group, "every fold") if self.every_fold else folds[0].name
        tested_folds = [self.tested(blocks, holdout, say) for holdout in folds]
        for context in self.contexts(blocks):
            tested = [rows for fold in tested_folds for rows in fold.get(context, ())]
            yield from figures(named(name, context), context.slices(self.shapes), tested)

    def check_groups(self, blocks: Sequence[Rows], say: Say) -> Iterator[Score]:
        """Yield the scores of groups left out whole, with the rows of all parts together."""
        if not self.whole:
            return
        parts = dealt(blocks, self.whole, self.parts)
        each = [self.tested(blocks, holdout, say) for holdout in parts]
        name = f"unseen ({', '.join(self.whole)}), each part"
        for context in self.contexts(blocks):
            tested = [rows for part in each for rows in part.get(context, ())]
            yield from figures(named(name, context), context.slices(self.groups), tested)

    def check_machines(self, blocks: Sequence[Rows], say: Say) -> Iterator[Score]:
        """Yield the scores of each machine left out, then of the rows of all of them together."""
        names, memory = targets(blocks), ForestCache()
        # first each machine alone, then with its twins, which are machines of the same chip
        for twins in (False, True):
            by_context: dict[CallerContext, list[Tested]] = {
                context: [] for context in self.contexts(blocks)
            }
            for target in names:
                # `memory` stores forests, so that equal trainings of the two turns run once
                holdout = UnseenMachine(target, twins)
                has_twins = any(holdout.dropped(block) for block in blocks)
                # without a twin the second turn would repeat the first
                tested = (
                    {} if twins and not has_twins else self.tested(blocks, holdout, say, memory)
                )
                yield from figures(
                    holdout.name, self.machines, tested.get(CallerContext.EVERYTHING, ())
                )
                for context, rows in tested.items():
                    by_context[context] += rows
            together = f"each unseen machine{' and its twins' if twins else ''}"
            for context, rows in by_context.items():
                yield from figures(named(together, context), context.slices(self.machines), rows)

    def contexts(self, blocks: Sequence[Rows]) -> tuple[CallerContext, ...]:
        """Return the contexts of callers whose predictions differ."""
        # with rows of one framework, a caller need not name it
        if len({block.framework for block in blocks}) < 2:
            return (CallerContext.EVERYTHING,)
        # without columns that a framework chooses, CHOICES would describe rows as NOTHING does
        has_choices = bool(class_of(self.class_name).by_framework)
        return (
            tuple(CallerContext)
            if has_choices
            else (CallerContext.EVERYTHING, CallerContext.NOTHING)
        )

    def tested(
        self, blocks: Sequence[Rows], holdout: Holdout, say: Say, memory: ForestCache | None = None
    ) -> dict[CallerContext, list[Tested]]:
        """Return held-out rows and predictions by context; empty if one side has no rows."""
        parts = split(blocks, holdout)
        if not parts.train or not parts.test:
            return {}
        say(f"{self.name}: {holdout.name}")
        is_machine = isinstance(holdout, UnseenMachine)
        is_whole = not isinstance(holdout, UnseenShapes)
        # folds of shapes are tested with the recipe that ships. Each machine and each part of whole
        # groups needs a training: these have a shorter recipe and fewer folds of calibration
        recipe = self.recipe.for_unseen_machine() if is_whole else self.recipe
        calibrating = self.calibrating
        if is_whole:
            calibrating = replace(calibrating, turns=calibrating.turns_left_out)
        artefact = train(
            self.name,
            self.taught(parts.train),
            recipe,
            self.group,
            leave_machines_out=is_machine,
            calibrating=calibrating,
            memory=memory,
        )
        tests = thinned(parts.test, self.tested_rows)
        return {context: test(artefact, tests, context) for context in self.contexts(blocks)}


def thinned(blocks: Sequence[Rows], most: int) -> list[Rows]:
    """Return about ``most`` rows of all blocks, drawn at random; all of them for 0."""
    share = most / max(sum(map(len, blocks)), 1) if most else 1.0
    if share >= 1:
        return list(blocks)
    rng = np.random.default_rng(0)
    drawn = [block.take(rng.random(len(block)) < share) for block in blocks]
    return [block for block in drawn if len(block)]


def named(split: str, context: CallerContext) -> str:
    """Return the name of a split and a context of callers, for cards and tables."""
    return f"{split}, {context.value}" if context.value else split


def figures(name: str, slices: Sequence[RowSlice], tested: Sequence[Tested]) -> Iterator[Score]:
    """Yield the figures of every slice that has rows."""
    for part in slices:
        line = figure(name, part, tested)
        if line is not None:
            yield line


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return every experiment by its name."""
    declared = (e for m in modules(__name__) for e in vars(m).values() if isinstance(e, Experiment))
    return {experiment.name: experiment for experiment in declared}


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of those names; all by default.

    Raises:
        PerfcError: no such experiment.
    """
    known = experiments()
    for name in names:
        if name not in known:
            raise PerfcError(f"no experiment {name!r}", hint=f"there are {', '.join(known)}")
    return [known[name] for name in names or known]
