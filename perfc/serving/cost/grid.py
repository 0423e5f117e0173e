"""A positive quantity on a grid of sizes, and between its points."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from perfc.ir.record import entity

SMALLEST = 1e-12
"""Seconds or joules that stand for none, whose logarithm is finite."""


@entity
class Grid:
    """A quantity on a few axes, interpolated in logarithms.

    Sizes below an axis count as its smallest; beyond its end the last cell goes on.

    Args:
        axes: logarithms of the sizes along each axis, rising.
        strides: how far apart neighbours along each axis lie in ``logs``.
        logs: logarithms of the quantity, the last axis running fastest.
    """

    axes: tuple[tuple[float, ...], ...]
    strides: tuple[int, ...]
    logs: tuple[float, ...]

    @classmethod
    def of(cls, axes: Sequence[Sequence[float]], values: Iterable[float]) -> Grid:
        """Of values in the order of the points that `points` gives."""
        logs = tuple([math.log(max(v, SMALLEST)) for v in values])
        strides = [1]
        for axis in reversed(axes[1:]):
            strides.insert(0, strides[0] * len(axis))
        return cls(tuple([tuple(map(math.log, axis)) for axis in axes]), tuple(strides), logs)

    def at(self, *sizes: float) -> float:
        """The quantity at a size on each axis.

        >>> round(Grid.of([(1, 4), (1, 4)], [1.0, 4.0, 4.0, 16.0]).at(2, 2), 9)
        4.0
        """
        corners = [(0, 1.0)]
        for axis, stride, size in zip(self.axes, self.strides, sizes, strict=True):
            i, share = _place(axis, size)
            near = i * stride
            if share:
                far = near + stride
                corners = [
                    both
                    for at, weight in corners
                    for both in ((at + near, weight * (1 - share)), (at + far, weight * share))
                ]
            else:
                corners = [(at + near, weight) for at, weight in corners]
        logs = self.logs
        return math.exp(sum([weight * logs[at] for at, weight in corners]))


def _place(axis: tuple[float, ...], size: float) -> tuple[int, float]:
    """The cell of an axis in which a size lies, and where in it."""
    if len(axis) == 1:
        return 0, 0.0
    value = math.log(size) if size > 0 else axis[0]
    i = min(max(bisect_right(axis, value) - 1, 0), len(axis) - 2)
    return i, max((value - axis[i]) / (axis[i + 1] - axis[i]), 0.0)


def points(axes: Sequence[Sequence[float]]) -> list[tuple[float, ...]]:
    """Every combination of sizes, the last axis running fastest."""
    found: list[tuple[float, ...]] = [()]
    for axis in axes:
        found = [(*point, size) for point in found for size in axis]
    return found


def octaves(least: int, largest: int, *, step: int = 2, between: int = 0) -> tuple[float, ...]:
    """Sizes from ``least`` to ``largest``, each ``step`` times the one before.

    Args:
        least: first.
        largest: last.
        step: ratio of neighbours.
        between: from this size on the middle between two neighbours is one, too; 0 for nowhere.

    >>> octaves(1, 32, between=8)
    (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0)
    """
    found: list[float] = []
    size = least
    while size < largest:
        found.append(float(size))
        middle = size * (1 + step) // 2
        if between and between <= size and middle < largest:
            found.append(float(middle))
        size *= step
    return (*found, float(largest))
