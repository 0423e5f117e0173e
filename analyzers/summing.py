"""The interval of a sum of kernels: which errors are one error, which hang together.

Launches of one kernel share its error. Errors of different kernels of one class on one machine hang
together as far as held-out kernels say; where none were measured, on a machine that is unlike all
of them, what kernels share is the machine, and their errors are taken for one. Classes are wrong
apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .prediction import KernelPrediction

TOGETHER = 1.0
CORRELATION: Mapping[str, float] = {
    "matmul_f32": 0.25, "elementwise": 0.45, "softmax": 0.4, "normalization": 0.4,
}  # fmt: skip
"""Of errors of kernels that share an extent, on held-out shapes, as
``benchmarks/error_correlation.py`` says; of products it says 0.1. What a run adds to all of its
kernels is not in there, so products have 0.25, chosen by the coverage of whole runs
(docs/accuracy.md). Classes that nobody looked at are taken for one error."""


@dataclass(frozen=True, slots=True)
class Side:
    """How far one kernel may be off on one side of its prediction.

    Args:
        class_name: of kernels; different ones are wrong apart.
        is_own: whether kernels of the class were measured on this very machine.
        width: seconds or joules, of all launches together.
    """

    class_name: str
    is_own: bool
    width: float


Sides = Mapping[Side, float]
"""Kernels and how often each runs; such of the same width are the same kernel."""


def sides_of(kernels: Iterable[KernelPrediction]) -> tuple[Counter[Side], Counter[Side]]:
    """How far kernels may be below and above, as their sum counts them."""
    below: Counter[Side] = Counter()
    above: Counter[Side] = Counter()
    for k in kernels:
        low, high = k.in_run or (k.low_s, k.high_s)
        below[Side(k.class_name, k.is_own, k.time_s - low)] += 1
        above[Side(k.class_name, k.is_own, high - k.time_s)] += 1
    return below, above


def half_width(sides: Sides) -> float:
    """How far the sum may be off.

    With correlation ρ the variance of a class is ``ρ (Σ w)² + (1 − ρ) Σ w²``.

    >>> half_width({Side("pooling", True, 1.0): 3})
    3.0
    >>> round(half_width({Side("matmul_f32", True, 3.0): 1, Side("matmul_f32", True, 4.0): 1}), 3)
    5.568
    """
    sums: dict[tuple[str, bool], tuple[float, float]] = {}
    for side, count in sides.items():
        key = side.class_name, side.is_own
        line, square = sums.get(key, (0.0, 0.0))
        width = side.width * count
        sums[key] = line + width, square + width * width
    return math.hypot(*(of_class(*key, *both) for key, both in sums.items()))


def of_class(class_name: str, is_own: bool, line: float, square: float) -> float:
    """The same of one class, from its sum and its sum of squares."""
    shared = CORRELATION.get(class_name, TOGETHER) if is_own else TOGETHER
    return line if shared == TOGETHER else math.sqrt(shared * line * line + (1 - shared) * square)
