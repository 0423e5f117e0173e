"""The interval of a sum of kernels, by the correlation of their errors.

Launches of one kernel have the same error. Errors of different kernels of one class on one machine
are correlated as those of held-out kernels were. On a machine unlike all measured ones, the common
error is that of the machine: errors are assumed fully correlated. Errors of classes are
independent.
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
"""Correlation of equal errors: they add up in a sum."""
PRODUCTS = "matmul_f32"
_FITTED = constants_next_to(__file__)
IN_INFERENCE, IN_TRAINING = _FITTED["correlation_in_inference"].number, TOGETHER
"""Correlation of the errors of FP32 products in a run.

In training no correlation covers 90 % of the runs: half of the forward passes on one machine took
1.5 times what the kernels that the same source lists add up to.
"""
CORRELATION: Mapping[str, float] = {PRODUCTS: IN_INFERENCE} | _FITTED["correlation"].by_name
"""Correlation of the errors of kernels with a common extent, by class; an unlisted class counts as
one error."""


class ErrorSide(NamedTuple):
    """Possible error of one kernel on one side of its prediction.

    Args:
        class_name: class name of kernels; errors of different classes are independent.
        is_own: whether kernels of the class were measured on this very machine.
        width: seconds or joules, of all launches together.
    """

    class_name: str
    is_own: bool
    width: float


Sides = Mapping[ErrorSide, float]
"""Kernels and how often each runs; such of the same width are the same kernel."""


def sides_of(kernels: Sequence[Estimate]) -> tuple[Counter[ErrorSide], Counter[ErrorSide]]:
    """Return the possible errors of kernels below and above, as their sum counts them."""
    below: Counter[ErrorSide] = Counter()
    above: Counter[ErrorSide] = Counter()
    # equal kernels share their estimate
    each = {id(k): k for k in kernels}
    for at, count in Counter(map(id, kernels)).items():
        k = each[at]
        below[ErrorSide(k.class_name, k.is_own, k.time_s - k.summed.low)] += count
        above[ErrorSide(k.class_name, k.is_own, k.summed.high - k.time_s)] += count
    return below, above


def half_width(sides: Sides, products: float = IN_INFERENCE) -> float:
    """Return the half-width of the sum's interval on one side.

    With correlation ρ the variance of a class is ``ρ (Σ w)² + (1 − ρ) Σ w²``.

    Args:
        sides: sides of the kernels.
        products: ρ of those of FP32.

    >>> half_width({ErrorSide("pooling", True, 1.0): 3})
    3.0
    >>> two = {ErrorSide("matmul_f32", True, width): 1 for width in (3.0, 4.0)}
    >>> round(half_width(two, 0.25), 3)
    5.568
    """
    shares = {**CORRELATION, PRODUCTS: products}
    sums: dict[tuple[str, bool], tuple[float, float]] = {}
    for side, count in sides.items():
        key = side.class_name, side.is_own
        line, square = sums.get(key, (0.0, 0.0))
        width = side.width * count
        sums[key] = line + width, square + width * width
    return math.hypot(
        *(
            joined(shares.get(name, TOGETHER) if is_own else TOGETHER, *both)
            for (name, is_own), both in sums.items()
        )
    )


def joined(shared: float, line: float, square: float) -> float:
    """Return the same of one class, from its correlation, its sum and its sum of squares."""
    return line if shared == TOGETHER else math.sqrt(shared * line * line + (1 - shared) * square)
