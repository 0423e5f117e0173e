"""Describe sizes, regimes and capacities of a sweep in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.view.report.units import size_text, time_text

if TYPE_CHECKING:
    from .results import Point, RegimeSpan, SizeLimit, Sweep


MAX_SPANS = 4
"""Maximum regimes that a sentence lists one by one."""


def within(s: Sweep, slo_s: float) -> Iterator[str]:
    """Yield for each target the largest sizes that fit and take no longer than ``slo_s``.

    The second sizes are those of which the whole interval is within that time.
    """
    for target in dict.fromkeys(p.target for p in s.points):
        points = [p for p in s.points if p.target == target and p.fits and p.time_s <= slo_s]
        sure = [p for p in points if p.predicted is None or p.predicted.high_s <= slo_s]
        yield (
            f"{target} within {time_text(slo_s)}: {_largest(s, points)}; "
            f"with its whole interval {_largest(s, sure)}"
        )


def _largest(s: Sweep, points: Sequence[Point]) -> str:
    """Describe the point of the largest sizes."""
    size = max(points, key=lambda p: math.prod(p.dims.values()), default=None)
    return "none" if size is None else s.at(size.dims)


def in_words(spans: Sequence[RegimeSpan], symbol: str) -> str:
    """Describe regimes: ``launch-bound up to batch 4, compute-bound from batch 5``."""
    first, last = spans[0], spans[-1]
    if first.first == last.last:
        return f"{first.regime.value}-bound at {symbol} {first.first}"
    if len(spans) == 1:
        return f"{first.regime.value}-bound from {symbol} {first.first} to {first.last}"
    parts = [f"{first.regime.value}-bound up to {symbol} {first.last}"]
    middle = spans[1:-1]
    if len(spans) <= MAX_SPANS:
        for sp in middle:
            where = f"from {symbol} {sp.first} to {sp.last}"
            if sp.first == sp.last:
                where = f"at {symbol} {sp.first}"
            parts.append(f"{sp.regime.value}-bound {where}")
    else:
        names = " and ".join(dict.fromkeys(sp.regime.value for sp in middle))
        parts.append(
            f"alternating between {names} from {symbol} {middle[0].first} to {middle[-1].last}"
        )
    parts.append(f"{last.regime.value}-bound from {symbol} {last.first}")
    return ", ".join(parts)


def capacity_in_words(c: SizeLimit, label: str = "") -> str:
    """Describe a capacity: ``does not fit in 79.1 GiB from batch 3264``."""
    size = size_text(c.capacity_bytes)
    if c.largest is None:
        return f"fits in {size} at every {label or c.symbol}"
    return f"does not fit in {size} from {label or c.symbol} {c.largest + 1}"
