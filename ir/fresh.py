"""Symbols for extents that only running can tell; numbered per run so that printing repeats."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager

from .dim import Dim, Poly, symbol
from .record import mutable


@mutable
class _Naming:
    taken: Container[str] = ()
    count: int = 0
    issued: int = 0


_naming = _Naming()


@contextmanager
def numbering(taken: Container[str] = ()) -> Iterator[None]:
    """Count fresh symbols from zero inside the block, names in ``taken`` left out."""
    saved = _naming.taken, _naming.count, _naming.issued
    _naming.taken, _naming.count, _naming.issued = taken, 0, 0
    try:
        yield
    finally:
        _naming.taken, _naming.count, _naming.issued = saved


def issued() -> int:
    """How many fresh symbols the current numbering has given out."""
    return _naming.issued


def data_extent(hi: Dim | None = None, lo: int = 0) -> Poly:
    """An extent that depends on the data, between ``lo`` and ``hi``."""
    _naming.issued += 1
    _naming.count += 1
    while (name := f"u{_naming.count}") in _naming.taken:
        _naming.count += 1
    return symbol(name, lo, hi)
