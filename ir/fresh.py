"""Symbols for extents that only running can tell; numbered per run so that printing repeats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .dim import Dim, Poly, symbol


@dataclass(slots=True)
class _Naming:
    prefix: str = "u"
    count: int = 0


_naming = _Naming()


@contextmanager
def numbering() -> Iterator[None]:
    """Count fresh symbols from zero inside the block."""
    saved = _naming.prefix, _naming.count
    _naming.prefix, _naming.count = "u", 0
    try:
        yield
    finally:
        _naming.prefix, _naming.count = saved


def issued() -> int:
    """How many fresh symbols the current numbering has given out."""
    return _naming.count


def data_extent(hi: Dim | None = None, lo: int = 0) -> Poly:
    """An extent that depends on the data, between ``lo`` and ``hi``."""
    _naming.count += 1
    return symbol(f"{_naming.prefix}{_naming.count}", lo, hi)
