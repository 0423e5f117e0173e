"""Interval of a sum of kernels, from the correlation of their errors.

Launches of one kernel have the same error. Errors of different kernels of one class on a measured
machine are correlated as those of held-out kernels were. On an unmeasured machine most of the error
is common to all kernels: errors of a class are assumed fully correlated. Errors of different
classes are independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from perfc.common.fitted import constants_next_to

if TYPE_CHECKING:
    from ..estimate.estimate import Estimate

TOGETHER = 1.0
"""Correlation of errors that are equal, so that they add up in a sum."""
PRODUCTS = "matmul_f32"
"""Class of FP32 products, whose correlation depends on the kind of run."""
_FITTED = constants_next_to(__file__)
IN_INFERENCE, IN_TRAINING = _FITTED["correlation_in_inference"].number, TOGETHER
"""Correlation of the errors of FP32 products in a run.

In training no correlation covers 90 % of the runs: half of the forward passes on one machine took
1.5 times the sum of the kernels that the same source lists.
"""
CORRELATION: Mapping[str, float] = {PRODUCTS: IN_INFERENCE} | _FITTED["correlation"].by_name
"""Correlation of the errors of any two kernels of one class in a run; all kernels of an unlisted
class have one error (`TOGETHER`)."""


class ErrorSide(NamedTuple):
    """Possible error of one kernel on one side, below or above its prediction.

    Args:
        class_name: class of the kernel; errors of different classes are independent.
        is_own: True if kernels of the class were measured on this machine itself.
        width: largest error at 90 % coverage, in seconds or joules of all launches together.
    """

    class_name: str
    is_own: bool
    width: float


Sides = Mapping[ErrorSide, float]
"""Number of kernels by their error; equal errors are those of equal kernels."""


def sides_of(kernels: Sequence[Estimate]) -> tuple[Counter[ErrorSide], Counter[ErrorSide]]:
    """Return the errors of kernels below and above their estimates, as they enter a sum."""
    below: Counter[ErrorSide] = Counter()
    above: Counter[ErrorSide] = Counter()
    # equal kernels share their estimate
    by_identity = {id(k): k for k in kernels}
    for identity, count in Counter(map(id, kernels)).items():
        k = by_identity[identity]
        below[ErrorSide(k.class_name, k.is_own, k.time_s - k.summed.low)] += count
        above[ErrorSide(k.class_name, k.is_own, k.summed.high - k.time_s)] += count
    return below, above


def half_width(sides: Sides, products: float = IN_INFERENCE) -> float:
    """Return the half-width of the sum's interval on one side.

    With correlation ρ the variance of a class is ``ρ (Σ w)² + (1 − ρ) Σ w²``.

    Args:
        sides: errors of the kernels on that side.
        products: correlation ρ of FP32 products.

    >>> half_width({ErrorSide("pooling", True, 1.0): 3})
    3.0
    >>> two = {ErrorSide("matmul_f32", True, width): 1 for width in (3.0, 4.0)}
    >>> round(half_width(two, 0.25), 3)
    5.568
    """
    shares = {**CORRELATION, PRODUCTS: products}
    # by class and whether it was measured on this machine: Σ w and Σ w²
    sums: dict[tuple[str, bool], tuple[float, float]] = {}
    for side, count in sides.items():
        key = side.class_name, side.is_own
        line, square = sums.get(key, (0.0, 0.0))
        width = side.width * count  # equal kernels have one error
        sums[key] = line + width, square + width * width
    return math.hypot(
        *(
            # on a machine without rows all kernels of a class have one error
            joined(shares.get(name, TOGETHER) if is_own else TOGETHER, *line_and_square)
            for (name, is_own), line_and_square in sums.items()
        )
    )


def joined(shared: float, line: float, square: float) -> float:
    """Return the half-width of one class from its correlation, sum and sum of squares.

    Fully correlated widths are just added, so that rounding leaves no difference.
    """
    return line if shared == TOGETHER else math.sqrt(shared * line * line + (1 - shared) * square)
