"""Multidirectional broadcasting of symbolic shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import ShapeError
from .dim import Dim, Poly, dim_max, interval, symbol
from .names import symbol_name
from .types import Shape


def broadcast_extent(a: Dim, b: Dim) -> Dim:
    """Extent of an axis on which ``a`` meets ``b``.

    A symbol against a number above one must be that number or one, so the number holds. Of two
    symbols that may differ one is then 1: their maximum, unless one may be 0.

    Raises:
        ShapeError: both are numbers that do not go together.
    """
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise ShapeError(f"extents {a} and {b} do not broadcast")
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    if dim_max(a, 0) == b or dim_max(b, 0) == a:
        # both are extents, which are never negative
        return a if dim_max(a, 0) == b else b
    lo_a, lo_b = interval(a)[0], interval(b)[0]
    if lo_a is not None and lo_a > 1:
        return a
    if lo_b is not None and lo_b > 1:
        return b
    if lo_a is not None and lo_b is not None and lo_a >= 1 and lo_b >= 1:
        return dim_max(a, b)
    first, second = sorted((a, b), key=str)
    # quoted names are written plainly inside, as each quotation would escape those within it
    name = re.sub(
        r"`[^`]*`", lambda quoted: symbol_name(quoted[0]), f"broadcast({first}, {second})"
    )
    return symbol(name, 0, dim_max(first, second))


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """Shape of an elementwise operation on these; None when a rank is unknown.

    Raises:
        ShapeError: two extents do not go together.
    """
    first = shapes[0]
    if first is not None and all(s == first for s in shapes):
        return first
    ranked = [s for s in shapes if s is not None]
    if len(ranked) < len(shapes):
        return None
    rank = max(map(len, ranked))
    out: list[Dim] = []
    for axis in range(rank):
        extent: Dim = 1
        for s in ranked:
            at = axis - rank + len(s)
            if at >= 0:
                extent = broadcast_extent(extent, s[at])
        out.append(extent)
    return tuple(out)


def is_static(shape: Shape | None) -> bool:
    """Whether every extent is a number."""
    return shape is not None and not any(isinstance(d, Poly) for d in shape)
