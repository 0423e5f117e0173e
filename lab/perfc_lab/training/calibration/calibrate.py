"""Calibrate the intervals of a predictor of kernels: expected errors, and bands around them.

The spread is a forest of the expected absolute error of a row. A band scales it so that 90 % of
held-out rows lie inside; there is one for measured machines and one for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.table import class_of
from perfc.analyzers.intervals.conformal import (
    LEAST_SPREAD,
    LEVELS,
    Band,
    Bands,
    Calibration,
    Unseen,
    band,
)
from perfc.ir.record import frozen

from ...data.rows import Rows
from ..growing import Recipe, StackedTables, boost, grow, stacked
from ..protocols import folds
from .bands import of_category
from .levels import levels
from .machines import ForestCache, unseen_machines

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array


@frozen
class Calibrating:
    """Settings of the calibration of intervals.

    Args:
        parts: into which groups are cut; each forest that calibrates sees all but one of them.
            Other than five, so that they cut the folds that test.
        turns: number of folds, two or more.
        turns_left_out: number of folds while a machine is held out for the test.
    """

    parts: int = 10
    turns: int = 4
    turns_left_out: int = 2


@dataclass(frozen=True, eq=False)
class Turn:
    """A forest of some groups, and the rows of the others.

    Args:
        factor: the forest.
        low: least of each feature among the rows it was grown from.
        high: largest.
        blocks: held-out rows.
        stack: the same as one table.
        residual: logarithm of measured over predicted time of each held-out row.
    """

    factor: Forest
    low: Array
    high: Array
    blocks: Sequence[Rows]
    stack: StackedTables
    residual: Array


def calibrate(
    blocks: Sequence[Rows],
    recipe: Recipe,
    group: tuple[str, ...],
    card: Card,
    *,
    leave_machines_out: bool,
    how: Calibrating,
    memory: ForestCache | None = None,
) -> tuple[Forest, Calibration]:
    """Return the spread and the bands.

    Args:
        blocks: all rows that may be trained on.
        recipe: recipe of the factor.
        group: shape parameters that make a group; calibration rows share none with the others.
        card: card of the weights, not calibrated yet.
        leave_machines_out: calibrate for unseen machines too, which trains once for each.
        how: folds are cut.
        memory: forests of machines left out, kept between calls that leave out the same.
    """
    turns = _turns(blocks, recipe, group, card, how)
    # rows of a turn are judged by a spread that was fitted to the other turns alone
    spreads = [_spread([*turns[:i], *turns[i + 1 :]] or turns, recipe) for i in range(len(turns))]
    seen = _seen(turns, spreads)
    spread = _spread(turns, recipe)
    unseen: Mapping[str, Unseen] = {}
    if leave_machines_out:
        unseen = unseen_machines(blocks, recipe, card.frameworks, spread, memory)
    # levels are calibrated last: they need estimates, which need the other bands
    provisional = _calibration(seen, unseen, {"": LEVELS})
    calibrated = replace(card, calibration=provisional)
    bands = levels(
        [
            (Artefact(calibrated, turn.factor, width, turn.low, turn.high, turn.low), turn.blocks)
            for turn, width in zip(turns, spreads, strict=True)
        ]
    )
    return spread, _calibration(seen, unseen, bands)


def _calibration(
    seen: Mapping[str, Band], unseen: Mapping[str, Unseen], levels_of: Mapping[str, Band]
) -> Calibration:
    """Return the bands by category; what one has none of is that of all."""
    bands = {
        name: Bands(spread, unseen.get(name, unseen.get("")), levels_of.get(name, levels_of[""]))
        for name, spread in seen.items()
    }
    return Calibration(bands.pop(""), bands)


def _turns(
    blocks: Sequence[Rows], recipe: Recipe, group: tuple[str, ...], card: Card, how: Calibrating
) -> list[Turn]:
    """Return the groups that a forest of the others has not seen.

    What ships is trained on all groups, and a forest that misses many of them is worse: each that
    calibrates must miss few. The spread of one half of the turns is judged on the other (Vovk,
    "Cross-conformal predictors", 2015; Barber, Candès, Ramdas and Tibshirani, "Predictive
    inference with the jackknife+", 2021, section 3).
    """
    fold = [folds(b, group, how.parts) for b in blocks]
    if len({int(i) for f in fold for i in np.unique(f)}) < 2:
        # rows of one group alone: single ones are left out
        everything = class_of(blocks[0].class_name).parameters
        fold = [folds(b, everything, how.parts) for b in blocks]
    present = sorted({int(i) for f in fold for i in np.unique(f)})
    # all turns have the features of the shipped forest
    known, protocols = card.frameworks, card.protocols
    turns: list[Turn] = []
    for held in present[: how.turns]:
        rest = [b.take(f != held) for b, f in zip(blocks, fold, strict=True)]
        part = [b.take(f == held) for b, f in zip(blocks, fold, strict=True)]
        training = stacked([b for b in rest if len(b)], known, recipe, protocols)
        factor, values = grow(training, recipe), training.table.values
        held_out = [b for b in part if len(b)]
        stack = stacked(held_out, known, recipe, protocols)
        residual = stack.log_factor - factor(stack.table.values)
        low, high = (end.astype(np.float64) for end in (values.min(axis=0), values.max(axis=0)))
        turns.append(Turn(factor, low, high, held_out, stack, residual))
    return turns


def _seen(turns: Sequence[Turn], spreads: Sequence[Forest]) -> dict[str, Band]:
    """Return the band of all rows, under ``""``, and of every category that has some.

    Rows of a turn are judged by the spread of the others.
    """
    pairs = zip(turns, spreads, strict=True)
    scores = np.concatenate([turn.residual / width(spread, turn.stack) for turn, spread in pairs])
    category = np.concatenate([turn.stack.table.category for turn in turns])
    bands = {"": band(scores)}
    for index, name in enumerate(class_of(turns[0].blocks[0].class_name).categories):
        inside = category == index
        if inside.any():
            bands[name] = of_category(scores[inside], scores)
    return bands


def _spread(turns: Sequence[Turn], recipe: Recipe) -> Forest:
    """Return the forest of the log of expected absolute error."""
    # shallow trees of many rows a leaf: what is fitted is the mean of noisy errors
    return boost(
        np.concatenate([turn.stack.table.values for turn in turns]),
        np.log(np.abs(np.concatenate([turn.residual for turn in turns])) + LEAST_SPREAD),
        np.concatenate([turn.stack.weight for turn in turns]),
        turns[0].stack.table.names,
        {"max_depth": 5, "eta": 0.15, "min_child_weight": 50.0, "subsample": 0.8},
        recipe.spread_trees,
    )


def width(spread: Forest, stack: StackedTables) -> Array:
    """Return the expected absolute error of rows, of the logarithm of their time, ``[rows]``."""
    widths: Array = np.maximum(np.exp(spread(stack.table.values)), LEAST_SPREAD)
    return widths
