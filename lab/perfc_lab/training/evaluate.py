"""Test a predictor of kernels on held-out rows, and score slices of them.

Rows are tested with all that they say of a kernel, and with only as much as a caller would say.
Scores are the error, the coverage of intervals, and how often a time is above its lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact
from perfc.analyzers.estimators.predictor import Estimates, predict_with
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of
from perfc.ir.record import frozen
from perfc.machine import load_machine

from ..board import Score, score
from ..data.rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CallerContext(Enum):
    """Details that a caller gives of a kernel beyond shape and type; the value is for tables."""

    EVERYTHING = ""
    """The framework that runs the kernel, and all that the framework chooses."""
    CHOICES = "framework not named"
    """All that the framework chooses, such as the kernel or the quantisation, but not its name."""
    NOTHING = "as analyze asks"
    """Neither, as in kernels that `perfc.analyzers.features.lowering` describes."""

    def of(self, rows: Rows) -> Rows:
        """Return the rows as such a caller describes them."""
        # columns that the framework chooses
        hidden = class_of(rows.class_name).by_framework if self is CallerContext.NOTHING else ()
        columns = {n: c for n, c in rows.columns.items() if n not in hidden}
        return (
            rows
            if self is CallerContext.EVERYTHING
            else replace(rows, columns=columns, framework="")
        )

    def among(self, blocks: Sequence[Rows]) -> list[Rows]:
        """Return the rows that a call with this context may stand for; others are left out."""
        if self is not CallerContext.NOTHING:
            return list(blocks)
        # a caller that names no kernel gets the one that the tuner selects
        masks = [untuned(block) for block in blocks]
        return [
            block.take(~mask) if mask.any() else block
            for block, mask in zip(blocks, masks, strict=True)
            if not mask.all()
        ]

    def slices(self, slices: Sequence[RowSlice]) -> Sequence[RowSlice]:
        """Return the slices; their goals hold only for callers that say everything."""
        if self is CallerContext.EVERYTHING:
            return slices
        return [replace(part, goal=None, anchor="") for part in slices]


def untuned(rows: Rows) -> NDArray[np.bool_]:
    """Return the mask of rows of kernels that were timed without their tuner."""
    kind = class_of(rows.class_name)
    mask = np.zeros(len(rows), np.bool_)
    for values in kind.untuned:
        choices = zip(kind.by_framework, values, strict=True)
        mask |= np.all([rows.columns.get(n, np.nan) == v for n, v in choices], axis=0)
    return mask


@frozen
class RowSlice:
    """Some of the tested rows, with the goal of their error.

    Args:
        name: name in tables.
        which: returns the mask of the rows of a block that belong to the slice.
        goal: mean absolute relative error to stay below; None without a goal.
        anchor: the best published figure, in words.
    """

    name: str
    which: Callable[[Rows], NDArray[np.bool_]]
    goal: float | None = None
    anchor: str = ""


@dataclass(frozen=True, eq=False)
class Tested:
    """A block of rows with an estimate for each."""

    rows: Rows
    estimates: Estimates


def test(artefact: Artefact, blocks: Sequence[Rows], context: CallerContext) -> list[Tested]:
    """Return blocks with their estimates, predicted as in a call with the given context."""
    return [
        Tested(
            block,
            predict_with(
                artefact,
                shown.columns,
                shown.dtype,
                Sheet(load_machine(shown.target)),
                shown.protocol,
                shown.framework,
            ),
        )
        for block, shown in ((block, context.of(block)) for block in context.among(blocks))
    ]


def figure(split: str, part: RowSlice, tested: Sequence[Tested]) -> Score | None:
    """Return the score of a slice; None if it has no rows."""
    masks = [part.which(block.rows) for block in tested]
    if not any(mask.any() for mask in masks):
        return None
    pairs = list(zip(tested, masks, strict=True))
    measured = np.concatenate([block.rows.time_s[mask] for block, mask in pairs])
    predicted, low, high, floor = (
        np.concatenate([getattr(block.estimates, name)[mask] for block, mask in pairs])
        for name in ("time_s", "low_s", "high_s", "floor_s")
    )
    goal, anchor = part.goal, part.anchor
    return score(split, part.name, measured, predicted, low, high, floor, goal=goal, anchor=anchor)


def everything(rows: Rows) -> NDArray[np.bool_]:
    """Return the slice of all rows."""
    return np.ones(len(rows), np.bool_)
