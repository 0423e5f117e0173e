"""Calibrates intervals: spread, and the bands of machines seen, near and far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfc.machine import load_machine

from ..conformal import LEAST_SPREAD, NEAR, Band, Calibration, band, excess
from ..distance import coordinates, nearest
from ..forest import Forest
from ..rows import Protocol, Rows
from ..sheet import Sheet
from .growing import Recipe, Stack, boost, grow, protocols_of, stacked
from .protocols import folds, targets

if TYPE_CHECKING:
    from ..classes import Array

LEAST_MACHINES = 3
BEYOND = 2.5
"""Distance above which a machine left out says nothing of others, one of another maker."""
ROWS_LEFT_OUT = 20_000


@dataclass(frozen=True)
class Calibrating:
    """How intervals are calibrated.

    Args:
        parts: into which groups are cut; the last two calibrate: one teaches the spread, the
            other sets the band. Where rows abound, more parts leave more of them to the forest
            that is judged.
        few_machines: whether machines count as a small sample. The band of n of them is widened
            by √(1 + 1/n), the spread of a further draw beside a mean of n; and near ones get one
            more machine, unknown, whose scores are those of far ones (Lee, Barber and Willett,
            "Distribution-free inference with hierarchical data", 2023, put its mass at infinity).
    """

    parts: int = 5
    few_machines: bool = False


def calibrate(
    blocks: Sequence[Rows],
    recipe: Recipe,
    group: tuple[str, ...],
    known: tuple[str, ...],
    *,
    leave_machines_out: bool,
    how: Calibrating,
) -> tuple[Forest, Calibration]:
    """The spread and the bands.

    Args:
        blocks: all rows that may be trained on.
        recipe: of the factor.
        group: shape parameters that make a group; calibration rows share none with the others.
        known: frameworks.
        leave_machines_out: calibrate for unseen machines too, which trains once for each.
        how: bands are set.
    """
    spread, seen = _unseen_shapes(blocks, recipe, group, known, how.parts)
    if not leave_machines_out or len(targets(blocks)) < LEAST_MACHINES:
        return spread, Calibration(seen)
    return spread, _unseen_machines(blocks, recipe, known, spread, seen, how)


def _unseen_shapes(
    blocks: Sequence[Rows],
    recipe: Recipe,
    group: tuple[str, ...],
    known: tuple[str, ...],
    parts: int,
) -> tuple[Forest, Band]:
    """Spread and band from groups that a forest of the others has not seen."""
    fold = [folds(b, group, parts) for b in blocks]
    rest = [b.take(f < parts - 2) for b, f in zip(blocks, fold, strict=True)]
    protocols = protocols_of(blocks)
    taught = stacked([b for b in rest if len(b)], known, recipe, protocols)
    factor = grow(taught, recipe)
    plain = replace(recipe, unnamed=0.0)
    residuals: list[tuple[Stack, Array]] = []
    for one in (parts - 2, parts - 1):
        part = [b.take(f == one) for b, f in zip(blocks, fold, strict=True)]
        stack = stacked([b for b in part if len(b)], known, plain, protocols)
        residuals.append((stack, stack.log_factor - factor(stack.table.values)))
    teach, check = residuals
    spread = _spread(*teach, recipe)
    return spread, band(check[1] / _width(spread, check[0]))


def _spread(stack: Stack, residual: Array, recipe: Recipe) -> Forest:
    """The forest of the log of expected absolute error."""
    import numpy as np

    return boost(
        stack.table.values,
        np.log(np.abs(residual) + LEAST_SPREAD),
        stack.weight,
        stack.table.names,
        {"max_depth": 5, "eta": 0.15, "min_child_weight": 50.0, "subsample": 0.8},
        recipe.spread_trees,
    )


def _width(spread: Forest, stack: Stack) -> Array:
    import numpy as np

    found: Array = np.maximum(np.exp(spread(stack.table.values)), LEAST_SPREAD)
    return found


def _unseen_machines(
    blocks: Sequence[Rows],
    recipe: Recipe,
    known: tuple[str, ...],
    spread: Forest,
    seen: Band,
    how: Calibrating,
) -> Calibration:
    """Bands from machines left out one at a time, and with all that are near them."""
    protocols = protocols_of(blocks)
    scores: dict[bool, list[Array]] = {True: [], False: []}
    reach = 0.0
    for target, left_out in _departures(blocks):
        train = [b for b in blocks if b.target not in left_out]
        test = [b for b in blocks if b.target == target]
        apart = _apart(train, test)
        if apart > BEYOND:
            continue
        scores[apart <= NEAR].append(_scores(train, test, recipe, known, protocols, spread))
        reach = max(reach, apart)
    near, far = scores[True], scores[False]
    further = far if how.few_machines and near else []
    near_band = _of_machines(near, further, how.few_machines, seen)
    far_band = _of_machines(far, [], how.few_machines, near_band or seen)
    return Calibration(seen, near_band, far_band, reach)


def _of_machines(
    scores: Sequence[Array], further: Sequence[Array], few: bool, least: Band
) -> Band | None:
    """The band of machines that count the same, ``further`` together as one; None without any."""
    import numpy as np

    if not scores:
        return None
    weights = [np.full(len(s), 1 / len(s)) for s in scores]
    weights += [np.full(len(s), 1 / len(s) / len(further)) for s in further]
    found = band(np.concatenate([*scores, *further]), np.concatenate(weights))
    return (found.widened(math.sqrt(1 + 1 / len(scores))) if few else found).around(least)


def _scores(
    train: Sequence[Rows],
    test: Sequence[Rows],
    recipe: Recipe,
    known: tuple[str, ...],
    protocols: tuple[Protocol, ...],
    spread: Forest,
) -> Array:
    """Scores of a machine by a forest that has not seen it."""
    small = recipe.for_unseen_machine()
    taught = stacked(train, known, small, protocols)
    plain = replace(small, unnamed=0.0, max_rows=ROWS_LEFT_OUT)
    stack = stacked(test, known, plain, protocols)
    values = taught.table.values
    # intervals widen where features leave the hull; so do those that calibrate
    beyond = excess(stack.table.values, values.min(axis=0), values.max(axis=0))
    residual = stack.log_factor - grow(taught, small)(stack.table.values)
    found: Array = residual / (_width(spread, stack) * (1 + beyond))
    return found


def _departures(blocks: Sequence[Rows]) -> list[tuple[str, frozenset[str]]]:
    """Machines to test with those to leave out: each alone, and with its near ones if any."""
    names = targets(blocks)
    found: list[tuple[str, frozenset[str]]] = []
    for name in names:
        own = [b for b in blocks if b.target == name]
        near = {
            n
            for n in names
            if n != name and _apart([b for b in blocks if b.target == n], own) <= NEAR
        }
        for left_out in {frozenset({name}), frozenset({name, *near})}:
            if set(names) - left_out:
                found.append((name, left_out))
    return found


def _apart(train: Sequence[Rows], test: Sequence[Rows]) -> float:
    """Distance of the tested machine to its nearest kin of the same type, the largest."""
    found = []
    for dtype in sorted({b.dtype for b in test} & {b.dtype for b in train}):
        others = places(train, dtype)
        found += [nearest(p, others) for p in places(test, dtype)]
    return max(found, default=math.inf)


def places(blocks: Sequence[Rows], dtype: str) -> tuple[tuple[float, ...], ...]:
    """Coordinates of the machines of blocks of one element type."""
    names = sorted({b.target for b in blocks if b.dtype == dtype})
    return tuple(coordinates(Sheet(load_machine(n)), dtype) for n in names)
