"""Bisect over integers: ends of regimes, and the largest size that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from .results import Regime, RegimeSpan

LARGEST = 1 << 31
"""Extent up to which the search doubles; memory that still fits does not depend on the extent."""


def merged_spans(values: Sequence[int], at: Callable[[int], Regime]) -> tuple[RegimeSpan, ...]:
    """Return spans over ``values``, with ends between points located by bisection.

    ``at`` returns the regime at any value.
    """
    spans = [RegimeSpan(at(values[0]), values[0], values[0])]
    for left, right in pairwise(values):
        for first in changes(left, right, at):
            spans[-1] = RegimeSpan(spans[-1].regime, spans[-1].first, first - 1)
            spans.append(RegimeSpan(at(first), first, first))
        spans[-1] = RegimeSpan(spans[-1].regime, spans[-1].first, right)
    return tuple(spans)


def changes(left: int, right: int, at: Callable[[int], Regime]) -> Iterator[int]:
    """Yield values at which the regime changes between two points.

    A regime strictly between two points of equal regime is not detected.
    """
    if at(left) is at(right):
        return
    if right - left == 1:
        yield right
        return
    middle = (left + right) // 2
    yield from changes(left, middle, at)
    yield from changes(middle, right, at)


def largest(fits: Callable[[int], bool]) -> int | None:
    """Return the largest value from 1 up for which ``fits`` holds; None if unlimited."""
    high = 1
    while fits(high):
        if high >= LARGEST:
            return None
        high *= 2
    # the last power of two that fits; 0 if 1 does not
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
