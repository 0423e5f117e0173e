"""Where something changes along whole numbers: ends of regimes, and of what fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from .results import Regime, Span

LARGEST = 1 << 31
"""Where the search for the largest extent that fits ends."""


def merged_spans(values: Sequence[int], at: Callable[[int], Regime]) -> tuple[Span, ...]:
    """Spans over ``values``, their ends found by bisection where points lie apart."""
    spans = [Span(at(values[0]), values[0], values[0])]
    for left, right in pairwise(values):
        for first in changes(left, right, at):
            spans[-1] = Span(spans[-1].regime, spans[-1].first, first - 1)
            spans.append(Span(at(first), first, first))
        spans[-1] = Span(spans[-1].regime, spans[-1].first, right)
    return tuple(spans)


def changes(left: int, right: int, at: Callable[[int], Regime]) -> Iterator[int]:
    """Values where the regime becomes another one, between two points that differ.

    A regime that holds only strictly between points of one and the same is not seen.
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
    """The end of the values, from 1 up, for which ``fits`` holds; None where there is none."""
    high = 1
    while fits(high):
        if high >= LARGEST:
            return None
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
