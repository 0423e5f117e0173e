"""The interval of a difference of two sums of kernels: what is wrong alike before and after cancels.

As in a sum (`summing`), classes of kernels are wrong apart. Within a class on one machine the error
of a kernel has two parts. The level is wrong for all kernels of the class alike: it multiplies both
sides. The rest is the kernel's own. Own errors of two kernels are the more alike the nearer their
counts lie: the semivariogram of held-out errors says how far (Matheron 1963, "Principles of
geostatistics"; the numbers are in ``difference.toml``). A kernel that is on both sides has the same
error there, and cancels.

The end of the interval is the worst point on the ellipse of nine in ten that level and own errors
span, as first-order reliability methods have it (Hasofer & Lind 1974). Where everything is
proportional to its error this is the variance of a sum; but a kernel that waits for its launch does
not follow the level, and the point is looked for where that is seen.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir.record import record

from ..estimate.interval import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FILE = Path(__file__).with_suffix(".toml")
ANY = "any"
NINE_IN_TEN = 1.645
"""Standard deviations of a normal distribution on either side that hold nine in ten."""
DIRECTIONS = 24
"""Points of half an ellipse that are looked at."""
DIGITS = 9
"""Amounts that differ by rounding alone are equal."""
LARGEST = 1000
"""Different kernels of a class whose pairs are looked at; own errors of the smaller ones add up."""


@record
class Semivariogram:
    """How unlike the own errors of two kernels of a class are, in logarithms of time.

    ``γ(d)² = nugget² + (sill² − nugget²) (1 − exp(−d / reach))``

    Args:
        nugget: standard deviation of the own error that kernels of equal counts do not share.
        sill: of the whole own error.
        reach: distance over which the rest of it fades; 1 is a factor of two in every count.
    """

    nugget: float
    sill: float
    reach: float

    def correlation(self, distance: Array) -> Array:
        """Of own errors of two different kernels, in [0, 1)."""
        import numpy as np

        shared = 1 - (self.nugget / self.sill) ** 2
        found: Array = shared * np.exp(-distance / self.reach)
        return found


@record
class Uncertain:
    """An amount of one kernel, all launches together, as one side of a difference has it.

    Args:
        group: who predicts, and the class of kernels; different ones are wrong apart.
        place: base-2 logarithms of flop, bytes read and bytes written of one launch.
        amount: seconds or joules.
    """

    group: tuple[str, str]
    place: tuple[float, float, float]
    amount: Interval


def place_of(flop: float, read_bytes: float, write_bytes: float) -> tuple[float, float, float]:
    """Where a kernel of these counts stands among others."""
    flop_, read, written = (math.log2(1.0 + max(n, 0.0)) for n in (flop, read_bytes, write_bytes))
    return flop_, read, written


@cache
def semivariograms() -> Mapping[str, Semivariogram]:
    """By ``predictor.class``, and for ``any``. Made by ``benchmarks/difference_spread.py``."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Semivariogram(entry["nugget"], entry["sill"], entry["reach"])
        for name, entry in data.items()
        if isinstance(entry, dict)
    }


def semivariogram_of(group: tuple[str, str]) -> Semivariogram:
    """That of a class, of all classes where nobody measured it."""
    known = semivariograms()
    return known.get(".".join(group), known[ANY])


def difference(old: Iterable[Uncertain], new: Iterable[Uncertain]) -> Interval | None:
    """New less old, with the interval that holds nine in ten; None where both are the same.

    >>> place = place_of(1e9, 1e6, 1e6)
    >>> def kernel(ms): return Uncertain(("learned", "x"), place, Interval(ms / 3, ms, ms * 3))
    >>> difference([kernel(1.0)], [kernel(1.0)]) is None
    True
    >>> found = difference([kernel(1.0)], [kernel(4.0)])
    >>> 0 < found.low < 3.0 == found.mid < found.high
    True
    """
    net: Counter[Uncertain] = Counter()
    for side, sign in ((new, 1), (old, -1)):
        for kernel in side:
            net[rounded(kernel)] += sign
    groups: dict[tuple[str, str], list[tuple[Uncertain, int]]] = {}
    for kernel, count in net.items():
        if count:
            groups.setdefault(kernel.group, []).append((kernel, count))
    if not groups:
        return None
    parts = [of_group(semivariogram_of(group), members) for group, members in groups.items()]
    mid = math.fsum(p.mid for p in parts)
    below = math.hypot(*(p.mid - p.low for p in parts))
    above = math.hypot(*(p.high - p.mid for p in parts))
    return Interval(mid - below, mid, mid + above)


def rounded(kernel: Uncertain) -> Uncertain:
    """The kernel with an amount that sums in another order do not change."""
    low, mid, high = (
        float(f"{end:.{DIGITS}g}")
        for end in (kernel.amount.low, kernel.amount.mid, kernel.amount.high)
    )
    return Uncertain(kernel.group, kernel.place, Interval(low, mid, high))


def of_group(own: Semivariogram, members: Sequence[tuple[Uncertain, int]]) -> Interval:
    """The difference within a class; counts are negative on the old side."""
    import numpy as np

    members = sorted(members, key=lambda m: -abs(m[1]) * m[0].amount.mid)
    count = np.array([n for _, n in members], np.float64)
    low, mid, high = (
        np.array([getattr(k.amount, end) for k, _ in members], np.float64)
        for end in ("low", "mid", "high")
    )
    low, high = np.minimum(low, mid), np.maximum(high, mid)
    alike = likeness(own, [k.place for k, _ in members[:LARGEST]])
    below, above = Ends.of(low, mid, own), Ends.of(high, mid, own)
    total = float(count @ mid)
    least, most = total, total
    for k in range(DIRECTIONS + 1):
        level, rest = math.cos(math.pi * k / DIRECTIONS), math.sin(math.pi * k / DIRECTIONS)
        there = mid * np.exp((below if level < 0 else above).level * abs(level))
        centre = float(count @ there)
        down = there - np.maximum(there * np.exp(rest * below.own), np.minimum(low, there))
        up = np.minimum(there * np.exp(rest * above.own), np.maximum(high, there)) - there
        least = min(least, centre - joint(count * np.where(count > 0, down, up), alike))
        most = max(most, centre + joint(count * np.where(count > 0, up, down), alike))
    return Interval(least, total, most)


def likeness(own: Semivariogram, places: Sequence[tuple[float, float, float]]) -> Array:
    """Correlations of own errors, a row and a column for each kernel."""
    import numpy as np

    at = np.array(places, np.float64)
    squares = sum((at[:, None, axis] - at[None, :, axis]) ** 2 for axis in range(at.shape[1]))
    found = own.correlation(np.sqrt(squares / at.shape[1]))
    np.fill_diagonal(found, 1.0)
    return found


def joint(signed: Array, alike: Array) -> float:
    """How far own errors take the difference, each with its sign."""
    seen, rest = signed[: len(alike)], signed[len(alike) :]
    return math.sqrt(max(float(seen @ alike @ seen), 0.0)) + float(abs(rest).sum())


@record
class Ends:
    """One side of intervals of kernels, in logarithms.

    Args:
        level: as far as the class is wrong as a whole.
        own: as far as each kernel is wrong of itself; both together are the interval.
    """

    level: Array
    own: Array

    @classmethod
    def of(cls, end: Array, mid: Array, spread: Semivariogram) -> Ends:
        """The parts of the way from ``mid`` to ``end``."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            whole = np.where(mid > 0, np.log(end / mid), 0.0)
        whole = np.clip(whole, -50.0, 50.0)
        own = np.minimum(np.abs(whole), NINE_IN_TEN * spread.sill)
        level = np.sqrt(np.maximum(whole**2 - own**2, 0.0))
        sign = np.sign(whole)
        return cls(sign * level, sign * own)
