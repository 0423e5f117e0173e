"""Create symbols for data-dependent extents, numbered per run so that text is reproducible."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager

from ..record import mutable
from .dim import Dim, Poly, symbol


@mutable
class _Naming:
    """State of a numbering: names to skip, last number, and number of symbols created."""

    taken: Container[str] = ()
    count: int = 0
    issued: int = 0


_naming = _Naming()  # the current numbering, which `numbering` replaces for a block


@contextmanager
def numbering(taken: Container[str] = ()) -> Iterator[None]:
    """Count fresh symbols from zero inside the block, skipping the names in ``taken``."""
    saved = _naming.taken, _naming.count, _naming.issued
    _naming.taken, _naming.count, _naming.issued = taken, 0, 0
    try:
        yield
    finally:
        _naming.taken, _naming.count, _naming.issued = saved


def issued() -> int:
    """Return the number of symbols that the current numbering created."""
    return _naming.issued


def data_extent(hi: Dim | None = None, lo: int = 0) -> Poly:
    """Return an extent that depends on the data, between ``lo`` and ``hi``."""
    _naming.issued += 1
    _naming.count += 1
    while (name := f"u{_naming.count}") in _naming.taken:
        _naming.count += 1
    return symbol(name, lo, hi)
