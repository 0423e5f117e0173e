"""Figures of held-out rows: error, coverage of intervals, and whether the floor is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.artefact import Artefact
from perfc.analyzers.estimators.predictor import Estimates, predict_with
from perfc.analyzers.features.rows import Rows
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of
from perfc.analyzers.intervals.conformal import coverage_of
from perfc.ir.record import frozen
from perfc.machine import load_machine

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CallerContext(Enum):
    """What a caller says of a kernel besides what its model tells; the value is for tables."""

    EVERYTHING = ""
    """Whose framework's it is, and all that is the framework's choice."""
    CHOICES = "framework not named"
    """Which kernel, or how operands are quantised, but not whose."""
    NOTHING = "as analyze asks"
    """Neither, as `perfc.analyzers.features.lowering`."""

    def of(self, rows: Rows) -> Rows:
        """Rows as such a caller describes them."""
        hidden = class_of(rows.class_name).by_framework if self is CallerContext.NOTHING else ()
        columns = {n: c for n, c in rows.columns.items() if n not in hidden}
        return (
            rows
            if self is CallerContext.EVERYTHING
            else replace(rows, columns=columns, framework="")
        )

    def among(self, blocks: Sequence[Rows]) -> list[Rows]:
        """Rows that such a caller may mean: of kernels that a tuner chose, or that are named."""
        if self is not CallerContext.NOTHING:
            return list(blocks)
        masks = [untuned(block) for block in blocks]
        return [
            block.take(~mask) if mask.any() else block
            for block, mask in zip(blocks, masks, strict=True)
            if not mask.all()
        ]

    def slices(self, slices: Sequence[RowSlice]) -> Sequence[RowSlice]:
        """The same; goals are of callers who say everything."""
        if self is CallerContext.EVERYTHING:
            return slices
        return [replace(part, goal=None, anchor="") for part in slices]


def untuned(rows: Rows) -> NDArray[np.bool_]:
    """Which rows are of kernels that were timed without their tuner."""
    kind = class_of(rows.class_name)
    found = np.zeros(len(rows), np.bool_)
    for values in kind.untuned:
        stated = zip(kind.by_framework, values, strict=True)
        found |= np.all([rows.columns.get(n, np.nan) == v for n, v in stated], axis=0)
    return found


@frozen
class RowSlice:
    """Some of the rows tested, and what is asked of them.

    Args:
        name: in tables.
        which: the rows of a block that belong to it.
        goal: mean absolute relative error to stay below; None where none is set.
        anchor: the best figure published, in words.
    """

    name: str
    which: Callable[[Rows], NDArray[np.bool_]]
    goal: float | None = None
    anchor: str = ""


@frozen
class SliceErrors:
    """Errors of one slice under one way of holding out.

    Args:
        split: how rows were held out.
        slice: name of the slice.
        rows: how many.
        mape: mean of ``|predicted / measured − 1|``.
        median: of the same.
        coverage: share of measured times inside their interval.
        floor_holds: share of rows not faster than their floor.
        width: median of the interval's upper over lower end.
        goal: of ``mape``.
        anchor: the best figure published.
    """

    split: str
    slice: str
    rows: int
    mape: float
    median: float
    coverage: float
    floor_holds: float
    width: float
    goal: float | None = None
    anchor: str = ""

    @property
    def met(self) -> bool:
        """Whether the goal is reached; True where none is set."""
        return self.goal is None or self.mape <= self.goal


@dataclass(frozen=True, eq=False)
class Tested:
    """A block with its estimates."""

    rows: Rows
    estimates: Estimates


def test(found: Artefact, blocks: Sequence[Rows], asked: CallerContext) -> list[Tested]:
    """Predict blocks as a user's call would."""
    return [
        Tested(
            block,
            predict_with(
                found,
                told.columns,
                told.dtype,
                Sheet(load_machine(told.target)),
                told.protocol,
                told.framework,
            ),
        )
        for block, told in ((block, asked.of(block)) for block in asked.among(blocks))
    ]


def figure(split: str, part: RowSlice, tested: Sequence[Tested]) -> SliceErrors | None:
    """The figures of a slice; None if it has no rows."""
    names = ("time_s", "low_s", "high_s", "floor_s")
    columns: dict[str, list[NDArray[np.float64]]] = {n: [] for n in ("measured", *names)}
    for one in tested:
        which = part.which(one.rows)
        columns["measured"].append(one.rows.time_s[which])
        for name in names:
            columns[name].append(getattr(one.estimates, name)[which])
    joined = {n: np.concatenate(c) if c else np.zeros(0) for n, c in columns.items()}
    measured = joined["measured"]
    if not len(measured):
        return None
    error = np.abs(joined["time_s"] / measured - 1)
    return SliceErrors(
        split,
        part.name,
        len(measured),
        float(error.mean()),
        float(np.median(error)),
        coverage_of(measured, joined["low_s"], joined["high_s"]),
        float((joined["floor_s"] <= measured).mean()),
        float(np.median(joined["high_s"] / joined["low_s"])),
        part.goal,
        part.anchor,
    )


def everything(rows: Rows) -> NDArray[np.bool_]:
    """The slice of all rows."""
    return np.ones(len(rows), np.bool_)
