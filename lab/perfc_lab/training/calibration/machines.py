"""Calibrate intervals of unmeasured machines by leaving each measured machine out in turn.

A forest of the other machines predicts its rows; the errors show how large those of a new machine
may be. Distances between machines are those of `perfc.analyzers.features.distance`.
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
"""Minimum machines whose errors are used; fewer have `FEWER_MACHINES`."""
BEYOND = 2.5
"""Maximum distance of a machine left out from the others: one of another vendor is further away,
and its errors say nothing of new machines."""
ROWS_LEFT_OUT = 20_000
"""Maximum tested rows of a machine left out, drawn at random."""
FEWER_MACHINES = Unseen(0.2, Band(-3.0, 3.0))
"""Common error and band of classes with fewer than `LEAST_MACHINES`: those of attention of prompts,
which was measured on seven machines, rounded (0.197 and -2.91 to 3.14 in its card). Attention of
single tokens has a common error of 0.162."""
NEAR = 0.5
"""Maximum distance of machines with one chip, or nearly the same."""


@dataclass(frozen=True, eq=False)
class Grown:
    """A forest, and the minimum and maximum of each feature in the rows that it was grown from."""

    forest: Forest
    low: Array
    high: Array


Key = tuple[tuple[str, ...], tuple[str, ...], tuple[Protocol, ...], int, int]
"""Machines, frameworks, protocols, number of trees and maximum rows of a forest."""


@frozen
class ForestCache:
    """Forests by the machines whose rows they were grown from.

    A scoreboard leaves the same machines out several times. A cache is valid for the rows of one
    experiment.
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
        """Return the forest of blocks, from the cache if it is there.

        ``stack`` is the table of the blocks if the caller has it.
        """
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

    Each machine is left out alone, and with all machines near it. If there are fewer machines than
    `LEAST_MACHINES`, the result is `FEWER_MACHINES`.
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

    Each machine is left out alone, and if others are within `NEAR` of it, once more with these.
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
            # some machine must remain for the training
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
    """Return the tested rows of a machine left out; None if others are not within `BEYOND`."""
    train = [b for b in blocks if b.target not in left_out]
    test = [b for b in blocks if b.target == target]
    separation = distance(train, test)
    if separation > BEYOND:
        return None
    protocols = protocols_of(blocks)
    small = recipe.for_unseen_machine()
    grown = (memory or ForestCache()).grow(train, known, protocols, small)
    plain = replace(small, max_rows=ROWS_LEFT_OUT)
    stack = stacked(test, known, plain, protocols)
    values = stack.table.values
    # intervals widen for rows outside the range of training features, so that residuals are divided
    # by the same factor here
    beyond = excess(values, grown.low, grown.high, sides(grown.low, grown.high))
    residual = (stack.log_factor - grown.forest(values)) / (1 + beyond)
    expected = np.maximum(np.exp(spread(values)), LEAST_SPREAD)
    return LeftOut(separation, residual, expected, stack.table.category)


def distance(train: Sequence[Rows], test: Sequence[Rows]) -> float:
    """Return the distance from the tested machine to the nearest other, the maximum over types."""
    distances = []
    for dtype in sorted({b.dtype for b in test} & {b.dtype for b in train}):
        others = tuple(places(train, dtype))
        distances += [nearest(p, others) for p in places(test, dtype)]
    return max(distances, default=math.inf)


def places(blocks: Sequence[Rows], dtype: str) -> tuple[tuple[float, ...], ...]:
    """Return the coordinates of the machines with blocks of an element type."""
    names = sorted({b.target for b in blocks if b.dtype == dtype})
    kind = class_of(blocks[0].class_name)
    return tuple(kind.place(Sheet(load_machine(n)), dtype) for n in names)
