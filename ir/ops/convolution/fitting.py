"""Numbers of windows that fit an extent, as formulas that hold for small extents too."""

from __future__ import annotations

from collections.abc import Callable

from ...record import record
from ...symbolic.dim import (
    AtomKind,
    Dim,
    Poly,
    at_most,
    ceil_div,
    dim_max,
    dim_min,
    interval,
    lone_atom,
)

LONGEST = 2000
"""Characters of an extent above which a formula of it leaves out windows larger than their input: a
damaged model can double the length with each layer. *Assumed*, far above those of networks."""


@record
class Fitting:
    """Number of windows that fit an extent: ``(extent + slack)//stride + 1``.

    As in ONNX Runtime the quotient is truncated toward zero, though the definition rounds down: for
    an extent smaller than its window it is rounded up.

    Args:
        slack: both pads less the span of a window.
        stride: distance of two windows.
    """

    slack: Dim
    stride: int

    def down(self, extent: Dim) -> Dim:
        """Return the number with the quotient rounded down."""
        return (extent + self.slack) // self.stride + 1

    def up(self, extent: Dim) -> Dim:
        """Return the number with the quotient rounded up, at most 1."""
        return dim_min(ceil_div(extent + self.slack, self.stride) + 1, 1)

    def of(self, extent: Dim) -> Dim:
        """Return the number for an extent; it is negative where no run is possible."""
        least = interval(extent + self.slack)[0]
        if isinstance(extent, Poly) and isinstance(self.slack, int):
            # ONNX Runtime refuses empty inputs
            least = max(interval(extent)[0] or 1, 1) + self.slack
        is_wide = least is not None and least >= 0
        if self.stride == 1 or is_wide or len(str(extent)) > LONGEST:
            return self.down(extent)
        bounds = limits(extent)
        if bounds is None:
            return dim_max(self.down(extent), self.up(extent))
        parts, is_covered = [self.down(bounds.usual)], False
        for small, most in bounds.limited:
            number = self.of(most)
            if at_most(number, 0):
                # no run has less, and none an empty input
                parts += [0] * (most > 0)
                continue
            parts.append(dim_min(self.up(small), number))
            if not at_most(number, 1):
                parts.append(dim_min(self.down(small), number))
            # below its limit this number is at least the usual one
            is_covered |= bool(at_most(bounds.usual, small)) or small == most
        return dim_max(*parts, *[self.up(bounds.usual)][is_covered:])


@record
class LimitedExtent:
    """An extent that is the maximum of ``usual`` and of minima.

    Args:
        usual: the extent where the input is large.
        limited: formulas and the number that limits each; of a number alone, twice the number.
    """

    usual: Dim
    limited: list[tuple[Dim, int]]


def limits(extent: Dim) -> LimitedExtent | None:
    """Return an extent ``max(a, min(b, n), …) + c`` with c added to each part; None for others.

    Functions that never fall are applied to the parts: formulas of many layers, put into each
    other, would double in length with each.
    """
    atom, shift = lone_atom(extent)
    if atom is None or atom.kind is not AtomKind.MAX:
        return None
    usual: list[Dim] = []
    limited: list[tuple[Dim, int]] = []
    for part in atom.args:
        least, added = lone_atom(part)
        is_least = least is not None and least.kind is AtomKind.MIN and not added
        args = least.args if least is not None and is_least else (part,)
        numbers = [d for d in args if isinstance(d, int)]
        others = [d for d in args if not isinstance(d, int)]
        if numbers:
            limited.append((dim_min(*(others or numbers)) + shift, min(numbers) + shift))
        else:
            usual.append(part + shift)
    return LimitedExtent(usual[0], limited) if len(usual) == 1 else None


def through(extent: Dim, function: Callable[[Dim], Dim]) -> Dim:
    """Return a function of an extent that never falls as the extent grows, applied to its parts."""
    bounds = limits(extent)
    if bounds is None:
        return function(extent)
    parts = (dim_min(function(small), function(most)) for small, most in bounds.limited)
    return dim_max(function(bounds.usual), *parts)
