"""Calibrate intervals of unmeasured machines: each measured one is left out in turn.

A forest of the other machines predicts its rows; the errors say how far off a new machine may be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.distance import nearest
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of
from perfc.analyzers.intervals.conformal import LEAST_SPREAD, Band, Unseen, excess, sides
from perfc.ir.record import frozen
from perfc.machine import load_machine

from ...data.rows import Rows
from ..growing import Recipe, StackedTables, grow, protocols_of, stacked
from ..protocols import targets
from .unseen import LeftOut, learned

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

LEAST_MACHINES = 3
"""Machines below which their errors give no distribution."""
BEYOND = 2.5
"""Distance above which a machine left out says nothing of others, one of another maker."""
ROWS_LEFT_OUT = 20_000
"""Maximum rows of a training without a machine; there are as many trainings as machines."""
FEWER_MACHINES = Unseen(0.2, Band(-3.0, 3.0))
"""Prior of classes with fewer machines: what attention of prompts shares on the seven it was
measured on, rounded (0.197 and -2.91 to 3.14 in its card); attention of single tokens has 0.162."""
NEAR = 0.5
"""Distance below which machines are of one chip, or nearly so."""


@dataclass(frozen=True, eq=False)
class Grown:
    """A forest, and the least and the largest value of each feature that it was grown from."""

    forest: Forest
    low: Array
    high: Array


Key = tuple[tuple[str, ...], tuple[str, ...], tuple[Protocol, ...], int, int]
"""Machines, frameworks, protocols, trees and rows of a forest."""


@frozen
class ForestCache:
    """Forests by the machines they know: a scoreboard leaves the same ones out again and again.

    Valid for the rows of one experiment.
    """

    forests: dict[Key, Grown] = field(default_factory=dict)

    def grow(
        self,
        blocks: Sequence[Rows],
        known: tuple[str, ...],
        protocols: tuple[Protocol, ...],
        recipe: Recipe,
        stack: StackedTables | None = None,
    ) -> Grown:
        """Return the forest of blocks, grown unless it was before; ``stack`` is they if at hand."""
        key = (targets(blocks), known, protocols, recipe.trees, recipe.max_rows)
        if key not in self.forests:
            stack = stack or stacked(blocks, known, recipe, protocols)
            values = stack.table.values
            low, high = values.min(axis=0), values.max(axis=0)
            self.forests[key] = Grown(grow(stack, recipe), low, high)
        return self.forests[key]


def unseen_machines(
    blocks: Sequence[Rows],
    recipe: Recipe,
    known: tuple[str, ...],
    spread: Forest,
    memory: ForestCache | None = None,
) -> Mapping[str, Unseen]:
    """Return intervals by category, ``""`` for all rows together; empty if no machine is left out.

    Machines are left out one at a time, and with all that are near them. Too few of them tell
    nothing of others: what they share is `FEWER_MACHINES` then.
    """
    if len(targets(blocks)) < LEAST_MACHINES:
        return {"": FEWER_MACHINES}
    # machines that are left out together are one group
    groups: dict[frozenset[str], list[LeftOut]] = {}
    for target, left_out in leaving(blocks):
        departure = depart(blocks, target, left_out, recipe, known, spread, memory)
        if departure:
            groups.setdefault(left_out, []).append(departure)
    names = class_of(blocks[0].class_name).categories
    return learned(list(groups.values()), names) if groups else {}


def leaving(blocks: Sequence[Rows]) -> list[tuple[str, frozenset[str]]]:
    """Return pairs of a machine to test and the machines to leave out.

    Each machine leaves alone, and once more with all that are within `NEAR` of it, if any are.
    """
    names = targets(blocks)
    result: list[tuple[str, frozenset[str]]] = []
    for name in names:
        of_machine = [b for b in blocks if b.target == name]
        near = {
            n
            for n in names
            if n != name and distance([b for b in blocks if b.target == n], of_machine) <= NEAR
        }
        alone = frozenset({name})
        for left_out in (alone, alone | near) if near else (alone,):
            # something must be left to train on
            if set(names) - left_out:
                result.append((name, left_out))
    return result


def depart(
    blocks: Sequence[Rows],
    target: str,
    left_out: frozenset[str],
    recipe: Recipe,
    known: tuple[str, ...],
    spread: Forest,
    memory: ForestCache | None,
) -> LeftOut | None:
    """Return a machine left out; None if it is beyond what may be compared.

    Its residuals are over how far rows leave the training hull, as intervals widen there.
    """
    train = [b for b in blocks if b.target not in left_out]
    test = [b for b in blocks if b.target == target]
    separation = distance(train, test)
    if separation > BEYOND:
        return None
    protocols = protocols_of(blocks)
    small = recipe.for_unseen_machine()
    grown = (memory or ForestCache()).grow(train, known, protocols, small)
    # the tested rows are limited too
    plain = replace(small, max_rows=ROWS_LEFT_OUT)
    stack = stacked(test, known, plain, protocols)
    values = stack.table.values
    # intervals widen where features leave the hull; so do those that calibrate
    beyond = excess(values, grown.low, grown.high, sides(grown.low, grown.high))
    residual = (stack.log_factor - grown.forest(values)) / (1 + beyond)
    expected = np.maximum(np.exp(spread(values)), LEAST_SPREAD)
    return LeftOut(separation, residual, expected, stack.table.category)


def distance(train: Sequence[Rows], test: Sequence[Rows]) -> float:
    """Return the distance of the tested machine to its nearest other, the largest over types."""
    distances = []
    for dtype in sorted({b.dtype for b in test} & {b.dtype for b in train}):
        others = tuple(places(train, dtype))
        distances += [nearest(p, others) for p in places(test, dtype)]
    return max(distances, default=math.inf)


def places(blocks: Sequence[Rows], dtype: str) -> tuple[tuple[float, ...], ...]:
    """Return the coordinates of the machines of blocks of one element type."""
    names = sorted({b.target for b in blocks if b.dtype == dtype})
    kind = class_of(blocks[0].class_name)
    return tuple(kind.place(Sheet(load_machine(n)), dtype) for n in names)
