"""Scale times of kernels to a given sum, none below its lower bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def above_floors(times_s: Array, floors_s: Array, sum_s: float) -> Array:
    """Return times in proportion to the given ones that sum up to ``sum_s``.

    Times at their lower bounds stay there and the others share the rest. If the bounds exceed the
    sum, all times are at their bounds.

    Args:
        times_s: in seconds, ``[kernels]``.
        floors_s: lower bounds, ``[kernels]``.
        sum_s: sum of the result.

    >>> above_floors(np.array([1.0, 3.0, 4.0]), np.array([0.9, 0.0, 0.0]), 4.0)
    array([0.9       , 1.32857143, 1.77142857])
    """
    at_floor = np.zeros(len(times_s), bool)
    while True:
        free_s = float(times_s[~at_floor].sum())
        shared_s = max(sum_s - float(floors_s[at_floor].sum()), 0.0)
        result = np.where(at_floor, floors_s, times_s * (shared_s / free_s if free_s else 0.0))
        below = ~at_floor & (result < floors_s)
        if not below.any():
            return result
        # each round only adds times at their bounds, so that rounding cannot cause an endless loop
        at_floor |= below
