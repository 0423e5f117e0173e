"""Distance between machines by the logarithms of the numbers of their data sheets.

Intervals of predictors widen with the distance to the nearest measured machine.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.machine import load_machine

from .sheet import Sheet

if TYPE_CHECKING:
    from .classes import Array

VENDORS = {"NVIDIA": 0.0, "AMD": 8.0, "Intel": -8.0}
"""Coordinate of each vendor with measured machines. They are so far from each other that machines
of one vendor never count as near to machines of another."""
OTHER_VENDOR = 16.0
"""Coordinate of vendors without measured machines, as far from AMD as AMD is from NVIDIA."""
SAME_CHIP = 0.2
"""Distance within which machines have the same chip or nearly the same one, such as boards that
differ in memory, power limit and form factor."""
USUAL_POWER_W = constants_next_to(__file__)["usual_power_w"].number
"""Power limit of a board whose data sheet declares none."""


def coordinates(sheet: Sheet, dtype: str) -> tuple[float, ...]:
    """Return the rates, sizes and power that determine the speed of kernels, and the vendor.

    All but the vendor, which is last, are logarithms to base two. Power is one of them because a
    board of 72 W is much slower than one of 350 W with otherwise equal numbers.
    """
    # matrix and vector rate, bandwidth, last cache, multiprocessors, clock, power
    numbers = (
        sheet.matrix_flop_per_s(dtype),
        sheet.vector_flop_per_s("f32"),
        sheet.device_bytes_per_s,
        max(sheet.l2_bytes, 1.0),
        float(sheet.sm_count),
        sheet.clock_hz,
        sheet.power_w or USUAL_POWER_W,
    )
    return (*(math.log2(n) for n in numbers), vendor(sheet))


def squares(mine: Array, mine_squared: Array, theirs: Array, theirs_squared: Array) -> Array:
    """Return squared Euclidean distances of one set of points from another, ``[mine, theirs]``.

    Args:
        mine: points ``[rows, columns]``.
        mine_squared: squared length of each row.
        theirs: points ``[rows, columns]`` of the other set.
        theirs_squared: squared length of each of its rows.
    """
    # (a − b)² = a² + b² − 2ab as one matrix product; rounding may give less than 0
    result: Array = mine_squared[:, None] + theirs_squared - 2 * mine @ theirs.T
    return np.maximum(result, 0.0)


def place(target: str, dtype: str) -> tuple[float, ...]:
    """Return `coordinates` of a machine by its name.

    Raises:
        TargetError: there is none.
    """
    return coordinates(Sheet(load_machine(target)), dtype)


def vendor(sheet: Sheet) -> float:
    """Return the coordinate of the vendor of a machine."""
    return VENDORS.get(sheet.machine.vendor, OTHER_VENDOR)


def distance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the root mean square of the differences between the coordinates of two points.

    It is 1 if each number differs by a factor of two.
    """
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / len(one))


@lru_cache(maxsize=1024)
def nearest(place: tuple[float, ...], others: tuple[tuple[float, ...], ...]) -> float:
    """Return the distance to the nearest of other points; infinite if there are none."""
    return min((distance(place, other) for other in others), default=math.inf)
