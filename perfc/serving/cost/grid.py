"""Interpolate costs of kernels between the sizes of a grid.

`StageCost` estimates each group of kernels once on a grid; a simulation then asks a `Surface` for
the cost of every step. `Parts` is the result of a step.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from perfc.ir import entity, record

from .program import QUANTITIES, KernelCost

SMALLEST = 1e-12
"""Value in seconds or joules that replaces zero, so that its logarithm is finite."""


Corners: TypeAlias = tuple[tuple[int, float], ...]
"""Indices of points in ``Grid.logs``, each with its weight."""


@entity
class Grid:
    """Quantity on a few axes, interpolated in logarithms.

    Sizes below an axis count as its smallest; beyond its end the last cell is extrapolated.

    Args:
        axes: logarithms of the sizes along each axis, rising.
        strides: distance in ``logs`` between neighbours along each axis.
        logs: logarithms of the quantity, the last axis varying fastest.
    """

    axes: tuple[tuple[float, ...], ...]
    strides: tuple[int, ...]
    logs: tuple[float, ...]

    @classmethod
    def of(cls, axes: Sequence[Sequence[float]], values: Iterable[float]) -> Grid:
        """Return a grid from values in the order of `points`."""
        logs = tuple([math.log(max(v, SMALLEST)) for v in values])
        strides = [1]
        for axis in reversed(axes[1:]):
            strides.insert(0, strides[0] * len(axis))
        return cls(tuple([tuple(map(math.log, axis)) for axis in axes]), tuple(strides), logs)

    def at(self, *sizes: float) -> float:
        """Return the quantity at a size on each axis.

        >>> round(Grid.of([(1, 4), (1, 4)], [1.0, 4.0, 4.0, 16.0]).at(2, 2), 9)
        4.0
        """
        return self.interpolated(self.corners(sizes))

    def corners(self, sizes: Sequence[float]) -> Corners:
        """Return the points around a size on each axis, with their weights."""
        corners: Corners = ((0, 1.0),)
        for axis, stride, size in zip(self.axes, self.strides, sizes, strict=True):
            last_cell = len(axis) - 2
            # an axis of one point has no neighbours: its size does not matter
            if last_cell < 0:
                continue
            value = math.log(size) if size > 0 else axis[0]
            i = bisect_right(axis, value) - 1
            i = 0 if i < 0 else last_cell if i > last_cell else i
            # above the last point the share exceeds 1, so that the weights extrapolate
            share = (value - axis[i]) / (axis[i + 1] - axis[i])
            near = i * stride
            # at and below the first point of the cell, its value holds
            if share > 0:
                # each axis splits every corner in two
                far, rest = near + stride, 1 - share
                corners = tuple(
                    [
                        corner
                        for at, weight in corners
                        for corner in (
                            (at + near, weight * rest),
                            (at + far, weight * share),
                        )
                    ]
                )
            elif near:
                corners = tuple([(at + near, weight) for at, weight in corners])
        return corners

    def interpolated(self, corners: Corners) -> float:
        """Return the quantity between points of the grid."""
        logs = self.logs
        return math.exp(sum([weight * logs[at] for at, weight in corners]))


def points(axes: Sequence[Sequence[float]]) -> list[tuple[float, ...]]:
    """Return every combination of sizes, the last axis varying fastest."""
    combinations: list[tuple[float, ...]] = [()]
    for axis in axes:
        combinations = [(*point, size) for point in combinations for size in axis]
    return combinations


def octaves(least: int, largest: int, *, step: int = 2, between: int = 0) -> tuple[float, ...]:
    """Return sizes from ``least`` to ``largest``, each ``step`` times the previous one.

    Args:
        least: first size.
        largest: last size, whatever its ratio.
        step: ratio of neighbours.
        between: size from which the midpoints between neighbours are added; 0 for never.

    >>> octaves(1, 32, between=8)
    (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0)
    """
    sizes: list[float] = []
    size = least
    while size < largest:
        sizes.append(float(size))
        middle = size * (1 + step) // 2
        if between and between <= size and middle < largest:
            sizes.append(float(middle))
        size *= step
    return (*sizes, float(largest))


MOST_SIZES = 16_384
"""Maximum sizes of steps that a surface retains, as a run needs both time and energy of each."""


@entity
class Surface:
    """Costs of kernels on a grid of sizes.

    Args:
        grids: a grid of each of ``QUANTITIES``, all on the same axes.
        known: corners of the sizes at which a quantity was computed.
        values: the quantities computed at these sizes.
    """

    grids: Mapping[str, Grid]
    known: dict[tuple[float, ...], Corners] = field(default_factory=dict)
    values: dict[tuple[str, tuple[float, ...]], float] = field(default_factory=dict)

    @classmethod
    def of(cls, axes: Sequence[Sequence[float]], costs: Sequence[KernelCost]) -> Surface:
        """Return a surface from costs in the order of the grid's points."""
        return cls({name: Grid.of(axes, [getattr(c, name) for c in costs]) for name in QUANTITIES})

    def at(self, quantity: str, *sizes: float) -> float:
        """Return one of ``QUANTITIES`` at the given sizes."""
        key = quantity, sizes
        value = self.values.get(key)
        if value is None:
            grid, known = self.grids[quantity], self.known
            corners = known.get(sizes)
            if corners is None:
                # the limit bounds memory only: cleared sizes are computed again
                if len(known) >= MOST_SIZES:
                    known.clear()
                    self.values.clear()
                corners = known[sizes] = grid.corners(sizes)
            value = self.values[key] = grid.interpolated(corners)
        return value


@record
class Parts:
    """A quantity of a step, split into collectives and all other kernels."""

    kernels: float
    exchanges: float
