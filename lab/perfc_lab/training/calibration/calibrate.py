"""Calibrate the intervals of a predictor of kernels: expected errors, and bands that scale them.

The spread is a forest that predicts the absolute error of a row. A band scales it so that 90 % of
held-out rows are inside the interval; measured machines have one band, other machines another.
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
        parts: number of folds of groups of shapes; a forest for calibration lacks one of them. It
            is not five, the number of folds for tests, so that the two divide groups differently.
        turns: number of folds that calibrate, each with a forest; two or more.
        turns_left_out: the same in trainings that leave a machine or a whole group out for a test.
    """

    parts: int = 10
    turns: int = 4
    turns_left_out: int = 2


@dataclass(frozen=True, eq=False)
class Turn:
    """A forest grown without one fold, and the rows of that fold.

    Args:
        factor: forest.
        low: minimum of each feature among the rows that it was grown from.
        high: maximum of each feature.
        blocks: held-out rows.
        stack: held-out rows as one table.
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
    """Return the spread and the bands of a predictor.

    Args:
        blocks: all rows that may be trained on.
        recipe: recipe of the factor.
        group: shape parameters; rows with equal values of them are in one fold.
        card: card of the weights before calibration.
        leave_machines_out: whether to calibrate for unseen machines too, with a training for each.
        how: numbers of folds.
        memory: forests of machines left out, shared by calls that leave out the same.
    """
    turns = _turns(blocks, recipe, group, card, how)
    # rows of a fold are judged by a spread that was fitted to the other folds alone
    spreads = [_spread([*turns[:i], *turns[i + 1 :]] or turns, recipe) for i in range(len(turns))]
    seen = _seen(turns, spreads)
    spread = _spread(turns, recipe)
    unseen: Mapping[str, Unseen] = {}
    if leave_machines_out:
        unseen = unseen_machines(blocks, recipe, card.frameworks, spread, memory)
    # levels are calibrated last, as they need estimates, and these need the other bands
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
    """Return the bands by category; a category without some band has that of all rows."""
    bands = {
        name: Bands(spread, unseen.get(name, unseen.get("")), levels_of.get(name, levels_of[""]))
        for name, spread in seen.items()
    }
    return Calibration(bands.pop(""), bands)


def _turns(
    blocks: Sequence[Rows], recipe: Recipe, group: tuple[str, ...], card: Card, how: Calibrating
) -> list[Turn]:
    """Return for some folds a forest grown without the fold, and the rows of the fold.

    The forest that ships is trained on all groups. A forest that lacks many of them has larger
    errors, so that each forest here lacks few (Vovk, "Cross-conformal predictors", 2015; Barber,
    Candès, Ramdas and Tibshirani, "Predictive inference with the jackknife+", 2021, section 3).
    """
    fold = [folds(b, group, how.parts) for b in blocks]
    if len({int(i) for f in fold for i in np.unique(f)}) < 2:
        # all rows are in one group: folds are of single shapes
        everything = class_of(blocks[0].class_name).parameters
        fold = [folds(b, everything, how.parts) for b in blocks]
    present = sorted({int(i) for f in fold for i in np.unique(f)})
    # all forests have the features of the one that ships
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
    """Return the band of all rows by ``""``, and those of categories that have rows.

    ``spreads`` are forests of expected errors, each fitted without the turn that it belongs to.
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
    """Return the forest of the logarithm of the expected absolute error."""
    # shallow trees with many rows in a leaf, as the forest is to learn the mean of noisy errors
    return boost(
        np.concatenate([turn.stack.table.values for turn in turns]),
        np.log(np.abs(np.concatenate([turn.residual for turn in turns])) + LEAST_SPREAD),
        np.concatenate([turn.stack.weight for turn in turns]),
        turns[0].stack.table.names,
        {"max_depth": 5, "eta": 0.15, "min_child_weight": 50.0, "subsample": 0.8},
        recipe.spread_trees,
    )


def width(spread: Forest, stack: StackedTables) -> Array:
    """Return the expected absolute error of each row, in the logarithm of its time, ``[rows]``."""
    widths: Array = np.maximum(np.exp(spread(stack.table.values)), LEAST_SPREAD)
    return widths
