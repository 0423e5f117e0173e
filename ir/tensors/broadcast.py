"""Broadcast symbolic shapes to each other, by the rules of ONNX (and NumPy)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfc.errors import ShapeError

from ..symbolic.dim import Dim, dim_max, interval, symbol
from ..syntax.names import symbol_name
from .types import Shape


def broadcast_extent(a: Dim, b: Dim) -> Dim:
    """Return the extent of an axis after broadcasting ``a`` with ``b``.

    If one is a number above 1, a symbol must equal it or be 1, so the number is the result. If two
    symbols may differ, one of them is 1: the result is their maximum, unless one may be 0.

    Raises:
        ShapeError: both are numbers that cannot be broadcast.
    """
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise ShapeError(f"extents {a} and {b} do not broadcast")
    # a number that is neither 1 nor equal to the symbol: the symbol is 1 or this number
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    if dim_max(a, 0) == b or dim_max(b, 0) == a:
        # one is the other limited to at least 0, and extents are never negative
        return a if dim_max(a, 0) == b else b
    lo_a, lo_b = interval(a)[0], interval(b)[0]
    # an extent above 1 cannot be stretched: the other extent is 1, or equals it
    if lo_a is not None and lo_a > 1:
        return a
    if lo_b is not None and lo_b > 1:
        return b
    if lo_a is not None and lo_b is not None and lo_a >= 1 and lo_b >= 1:
        return dim_max(a, b)
    # one may be 0, to which 1 broadcasts: a symbol, the same for both orders of operands
    first, second = sorted((a, b), key=str)
    # names are printed without quotes here, since quoting would escape the quotes inside them
    name = re.sub(
        r"`[^`]*`", lambda quoted: symbol_name(quoted[0]), f"broadcast({first}, {second})"
    )
    return symbol(name, 0, dim_max(first, second))


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return the shape of an elementwise operation on these shapes; None if a rank is unknown.

    Raises:
        ShapeError: two extents cannot be broadcast.
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
            # shapes are aligned at their last axes
            position = axis - rank + len(s)
            if position >= 0:
                extent = broadcast_extent(extent, s[position])
        out.append(extent)
    return tuple(out)
