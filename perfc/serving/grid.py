"""Times on a grid of sizes, and between its points."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.ir.record import entity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST = 1e-12
"""Seconds or joules that stand for none, whose logarithm is finite."""


@entity
class Grid:
    """A positive quantity on one axis or two, interpolated in logarithms, extended beyond the ends.

    Args:
        first: sizes along the first axis, rising.
        second: along the second; a single one where there is only one axis.
        logs: logarithms of the quantity, a row for each of ``first``.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    logs: tuple[tuple[float, ...], ...]

    @classmethod
    def of(
        cls, first: Sequence[float], second: Sequence[float], values: NDArray[np.float64]
    ) -> Grid:
        """Of values in the order of the axes."""
        import numpy as np

        shape = (len(first), len(second))
        logs = np.log(np.maximum(np.asarray(values, float).reshape(shape), SMALLEST))
        rows = tuple(tuple(float(v) for v in row) for row in logs)
        return cls(tuple(map(math.log, first)), tuple(map(math.log, second)), rows)

    def at(self, first: float, second: float = 1.0) -> float:
        """The quantity at some sizes, 1 at least each."""
        i, u = _place(self.first, math.log(first))
        if len(self.second) == 1:
            low, high = self.logs[i][0], self.logs[min(i + 1, len(self.first) - 1)][0]
            return math.exp(low + u * (high - low))
        j, v = _place(self.second, math.log(second))
        near, far = self.logs[i], self.logs[min(i + 1, len(self.first) - 1)]
        low = near[j] + v * (near[j + 1] - near[j])
        high = far[j] + v * (far[j + 1] - far[j])
        return math.exp(low + u * (high - low))


def _place(axis: tuple[float, ...], value: float) -> tuple[int, float]:
    """The cell of an axis in which a value lies, and where in it."""
    if len(axis) == 1:
        return 0, 0.0
    i = min(max(bisect_right(axis, value) - 1, 0), len(axis) - 2)
    place = (value - axis[i]) / (axis[i + 1] - axis[i])
    # smaller than the smallest costs as much as that; larger goes on as the last cell does
    return i, max(place, 0.0)


def steps_of(largest: int, *, least: int = 1, finer: int = 16) -> tuple[float, ...]:
    """Sizes from ``least`` to ``largest``: powers of two, and half-way between from ``finer`` on.

    >>> steps_of(32)
    (1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0)
    """
    found: list[float] = []
    size = least
    while size < largest:
        found.append(float(size))
        if finer <= size and size * 3 // 2 < largest:
            found.append(float(size * 3 // 2))
        size *= 2
    return (*found, float(largest))
