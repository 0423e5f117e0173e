"""Calibrates intervals of machines nobody measured, from those that were, each left out in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perfc.machine import load_machine

from ..artefacts.forest import Forest
from ..features.distance import nearest
from ..features.rows import Protocol, Rows
from ..features.sheet import Sheet
from ..features.table import class_of
from ..intervals.conformal import (
    LEAST_DISTANCE,
    LEAST_SPREAD,
    NEAR,
    Band,
    Deviations,
    Part,
    Rings,
    excess,
    part,
    sides,
)
from .growing import Recipe, Stack, grow, protocols_of, stacked
from .protocols import targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..features.classes import Array

LEAST_MACHINES = 3
BEYOND = 2.5
"""Distance above which a machine left out says nothing of others, one of another maker."""
ROWS_LEFT_OUT = 20_000
RINGS = (LEAST_DISTANCE, 0.2, 0.4, 0.8, 1.6)
"""Distances that bands are written down at, and that of the furthest machine left out."""
NOWHERE: dict[str, Rings] = {"": ()}
"""Bands where no machine was left out."""
LEAST_ROWS = 5
"""Of a category on a machine left out, that say something of it."""


@dataclass(frozen=True)
class Growth:
    """How errors on a machine that nobody measured depend on its distance.

    Chosen once, by the coverage of machines left out (docs/accuracy/method.md).

    Args:
        level: power of the distance that what a machine's kernels have in common grows with.
        within: the same of what is left within a machine.
        narrowing: of bands that machines left out in turn say are too wide.
    """

    level: float = 0.4
    within: float = 0.0
    narrowing: float = 1.0

    def factors(self, apart: float) -> tuple[float, float]:
        """Of levels and of what is left within, at a distance."""
        distance = max(apart, LEAST_DISTANCE)
        return distance**self.level, distance**self.within


@dataclass(frozen=True, eq=False)
class Grown:
    """A forest and the box of the rows that it was grown from."""

    forest: Forest
    low: Array
    high: Array


Key = tuple[tuple[str, ...], tuple[str, ...], tuple[Protocol, ...], int, int]


@dataclass(frozen=True)
class Memory:
    """Forests by the machines they know: a scoreboard leaves the same ones out again and again.

    Valid for the rows of one experiment.
    """

    found: dict[Key, Grown] = field(default_factory=dict)

    def grow(
        self,
        blocks: Sequence[Rows],
        known: tuple[str, ...],
        protocols: tuple[Protocol, ...],
        recipe: Recipe,
        stack: Stack | None = None,
    ) -> Grown:
        """The forest of blocks, grown unless it was before; ``stack`` is they if at hand."""
        key = (targets(blocks), known, protocols, recipe.trees, recipe.max_rows)
        if key not in self.found:
            stack = stack or stacked(blocks, known, recipe, protocols)
            values = stack.table.values
            low, high = values.min(axis=0), values.max(axis=0)
            self.found[key] = Grown(grow(stack, recipe), low, high)
        return self.found[key]


@dataclass(frozen=True, eq=False)
class Departure:
    """Rows of one machine by a forest that has not seen it.

    Args:
        target: the machine.
        left_out: it, and others that were left out with it.
        apart: its distance from what was left.
        residual: ``log(measured / predicted)`` over how far the rows leave the training hull.
        spread: that is expected of these rows on a machine that was seen.
        category: of each row, as its class numbers them.
    """

    target: str
    left_out: frozenset[str]
    apart: float
    residual: Array
    spread: Array
    category: NDArray[np.intp]


def unseen_machines(
    blocks: Sequence[Rows],
    recipe: Recipe,
    known: tuple[str, ...],
    spread: Forest,
    growth: Growth,
    memory: Memory | None = None,
) -> tuple[float, dict[str, Rings]]:
    """The power of the spread, and rings by category, ``""`` for all rows together.

    Machines are left out one at a time, and with all that are near them.
    """
    found = [
        departure
        for target, left_out in leaving(blocks)
        if (departure := depart(blocks, target, left_out, recipe, known, spread, memory))
    ]
    if not found:
        return 1.0, NOWHERE
    power = power_of(found)
    everything = Deviations.of(chips(found, power, growth))
    reach = max(d.apart for d in found)
    rings = {"": rings_of(everything, growth, reach)}
    for index, name in enumerate(class_of(blocks[0].class_name).categories):
        if own := chips(found, power, growth, index):
            rings[name] = rings_of(Deviations.of(own).beside(everything), growth, reach)
    return power, rings


def rings_of(found: Deviations, growth: Growth, reach: float) -> Rings:
    """Bands at growing distances, none narrower than the one before."""
    distances = [*(d for d in RINGS if d < reach), max(reach, LEAST_DISTANCE)]
    rings: list[tuple[float, Band]] = []
    for distance in distances:
        one = found.band(*growth.factors(distance)).widened(growth.narrowing)
        rings.append((distance, one.around(rings[-1][1]) if rings else one))
    return tuple(rings)


def leaving(blocks: Sequence[Rows]) -> list[tuple[str, frozenset[str]]]:
    """Machines to test with those to leave out: each alone, and with its near ones if any."""
    names = targets(blocks)
    found: list[tuple[str, frozenset[str]]] = []
    for name in names:
        own = [b for b in blocks if b.target == name]
        near = {
            n
            for n in names
            if n != name and distance([b for b in blocks if b.target == n], own) <= NEAR
        }
        alone = frozenset({name})
        for left_out in (alone, alone | near) if near else (alone,):
            if set(names) - left_out:
                found.append((name, left_out))
    return found


def depart(
    blocks: Sequence[Rows],
    target: str,
    left_out: frozenset[str],
    recipe: Recipe,
    known: tuple[str, ...],
    spread: Forest,
    memory: Memory | None,
) -> Departure | None:
    """Residuals of a machine left out; None if it is beyond what may be compared."""
    import numpy as np

    train = [b for b in blocks if b.target not in left_out]
    test = [b for b in blocks if b.target == target]
    apart = distance(train, test)
    if apart > BEYOND:
        return None
    protocols = protocols_of(blocks)
    small = recipe.for_unseen_machine()
    grown = (memory or Memory()).grow(train, known, protocols, small)
    plain = replace(small, max_rows=ROWS_LEFT_OUT)
    stack = stacked(test, known, plain, protocols)
    values = stack.table.values
    # intervals widen where features leave the hull; so do those that calibrate
    beyond = excess(values, grown.low, grown.high, sides(grown.low, grown.high))
    residual = (stack.log_factor - grown.forest(values)) / (1 + beyond)
    expected = np.maximum(np.exp(spread(values)), LEAST_SPREAD)
    return Departure(target, left_out, apart, residual, expected, stack.table.category)


def power_of(found: Sequence[Departure]) -> float:
    """How much of the spread of seen machines carries over to others, 0 to 1.

    The slope of the log of what was missed over the log of what was expected, within machines,
    every departure counting the same.
    """
    import numpy as np

    both = square = 0.0
    for one in found:
        expected = np.log(one.spread)
        missed = np.log(np.abs(one.residual) + LEAST_SPREAD)
        expected = expected - expected.mean()
        both += float((expected * (missed - missed.mean())).mean())
        square += float((expected * expected).mean())
    return min(max(both / square, 0.0), 1.0) if square > 0 else 0.0


def chips(
    found: Sequence[Departure], power: float, growth: Growth, category: int | None = None
) -> list[list[Part]]:
    """Scores at a distance of 1, of one category or of all; who left the same out are one group."""
    groups: dict[frozenset[str], list[Part]] = {}
    for one in found:
        chosen = slice(None) if category is None else one.category == category
        scores = (one.residual / one.spread**power)[chosen]
        if category is None or len(scores) >= LEAST_ROWS:
            level, left = part(scores)
            level_factor, within_factor = growth.factors(one.apart)
            groups.setdefault(one.left_out, []).append((level / level_factor, left / within_factor))
    return list(groups.values())


def distance(train: Sequence[Rows], test: Sequence[Rows]) -> float:
    """Of the tested machine to its nearest kin of the same type, the largest over types."""
    found = []
    for dtype in sorted({b.dtype for b in test} & {b.dtype for b in train}):
        others = places(train, dtype)
        found += [nearest(p, others) for p in places(test, dtype)]
    return max(found, default=math.inf)


def places(blocks: Sequence[Rows], dtype: str) -> tuple[tuple[float, ...], ...]:
    """Coordinates of the machines of blocks of one element type."""
    names = sorted({b.target for b in blocks if b.dtype == dtype})
    kind = class_of(blocks[0].class_name)
    return tuple(kind.place(Sheet(load_machine(n)), dtype) for n in names)
