"""Interval of a difference of two sums of kernels, in which common errors cancel.

Comparisons of two models or versions use it. As in a sum (`summing`), classes of kernels have
independent errors. Within a class on one machine the error of a kernel has two parts: the level,
which is common to all kernels of the class and multiplies both sides, and a specific error.
Specific errors of two kernels are the more correlated the nearer their extents are, by the
semivariogram of held-out errors (Matheron 1963, "Principles of geostatistics"; the numbers are in
``difference.toml``). A kernel on both sides has the same error on each, and cancels.

An end of the interval is the worst point on the 90 % ellipse of level and specific errors, as in
first-order reliability methods (Hasofer & Lind 1974). If all times were proportional to their
errors, the point would follow from the variance of the sum. Lower bounds break this proportion, so
that the point is searched.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.interval import Interval
from perfc.common.fitted import read_records
from perfc.ir import record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Place = tuple[tuple[str, float], ...]
"""Coordinates by name; 1 is a factor of two."""
FILE = Path(__file__).with_suffix(".toml")
ANY = "any"
"""Key of the semivariogram of all classes together."""
NINE_IN_TEN = 1.645
"""Standard deviations from the mean of a normal distribution to the ends of its central 90 %."""
ONE_SIDED = 1.2816
"""Standard deviations from the mean down to the 10 % quantile of a normal distribution."""
DIRECTIONS = 24
"""Number of steps, of 7.5 degrees, in which half an ellipse is searched."""
DIGITS = 9
"""Significant digits in which amounts are compared, so that differences by rounding cancel."""
LARGEST = 1000
"""Maximum number of kernels of a class whose pairs are compared, the largest kernels first: pairs
grow with the square. Specific errors of the other kernels add up, an upper bound."""


@record
class Semivariogram:
    """Dissimilarity of the residuals of two kernels of a class, in logarithms of time.

    ``γ(d)² = nugget² + (sill² − nugget²) (1 − exp(−(d / reach)^power))``, the powered exponential
    (Diggle & Ribeiro 2007, "Model-based geostatistics", section 3.4).

    Args:
        nugget: standard deviation of the part that even kernels of equal counts do not share.
        sill: standard deviation of the whole specific error.
        reach: distance over which correlation decays; 1 is a factor of two in one extent.
        power: exponent of that decay, above 0 and at most 2.
    """

    nugget: float
    sill: float
    reach: float
    power: float = 1.0

    def correlation(self, distance: Array) -> Array:
        """Return the correlation of the specific errors of two kernels."""
        import numpy as np

        correlation: Array = np.exp(-((distance / self.reach) ** self.power))
        return correlation


@record
class Uncertain:
    """Time or energy of one kernel (all its launches) on one side of a difference.

    Args:
        group: predictor and class of the kernel; different ones have independent errors.
        place: `coordinates` of its parameters.
        amount: seconds or joules.
        is_at_floor: True if the lower end is a lower bound of the time: such an end does not say
            how far the whole class may be below its estimates.
    """

    group: tuple[str, str]
    place: Place
    amount: Interval
    is_at_floor: bool = False


def coordinates(parameters: Mapping[str, float]) -> Place:
    """Return the coordinates of a kernel within its class: logarithms of its extents or counts.

    >>> coordinates({"n": 3.0, "k": 7.0})
    (('k', 3.0), ('n', 2.0))
    """
    return tuple((n, math.log2(1.0 + max(v, 0.0))) for n, v in sorted(parameters.items()))


@cache
def semivariograms() -> Mapping[str, Semivariogram]:
    """Return semivariograms by ``predictor.class`` and for ``any``.

    Written by ``lab/perfc_lab/fits/difference_spread.py``.
    """
    return read_records(FILE, Semivariogram)


def semivariogram_of(group: tuple[str, str]) -> Semivariogram:
    """Return the semivariogram of a class, or of all classes if the class was not measured."""
    known = semivariograms()
    return known.get(".".join(group), known[ANY])


def difference(
    old: Iterable[Uncertain], new: Iterable[Uncertain], deviations: float = NINE_IN_TEN
) -> Interval | None:
    """Return new minus old with its interval; None if both are equal.

    Args:
        old: kernels of the old side.
        new: kernels of the new side.
        deviations: standard deviations on either side. By default the interval has 90 % coverage;
            with ``ONE_SIDED`` 90 % are above its lower end.

    >>> place = coordinates({"elements": 1e6})
    >>> def kernel(ms): return Uncertain(("learned", "x"), place, Interval(ms / 2, ms, ms * 2))
    >>> difference([kernel(1.0)], [kernel(1.0)]) is None
    True
    >>> found = difference([kernel(1.0)], [kernel(4.0)])
    >>> 0 < found.low < 3.0 == found.mid < found.high
    True
    """
    net: Counter[Uncertain] = Counter()  # kernels on both sides cancel
    for side, sign in ((new, 1), (old, -1)):
        for kernel in side:
            net[rounded(kernel)] += sign
    # errors of different classes are independent, those within a class are not
    groups: dict[tuple[str, str], list[tuple[Uncertain, int]]] = {}
    for kernel, count in net.items():
        if count:
            groups.setdefault(kernel.group, []).append((kernel, count))
    if not groups:
        return None
    scale = deviations / NINE_IN_TEN  # the intervals of kernels have 90 %
    parts = [of_group(semivariogram_of(g), members, scale) for g, members in groups.items()]
    mid = math.fsum(p.mid for p in parts)
    below = math.hypot(*(p.mid - p.low for p in parts))
    above = math.hypot(*(p.high - p.mid for p in parts))
    return Interval(mid - below, mid, mid + above)


def rounded(kernel: Uncertain) -> Uncertain:
    """Return a kernel with its amount in `DIGITS`, independent of the order of sums."""
    low, mid, high = (
        float(f"{end:.{DIGITS}g}")
        for end in (kernel.amount.low, kernel.amount.mid, kernel.amount.high)
    )
    amount = Interval(low, mid, high)
    return Uncertain(kernel.group, kernel.place, amount, kernel.is_at_floor)


def of_group(
    spread: Semivariogram, members: Sequence[tuple[Uncertain, int]], scale: float = 1.0
) -> Interval:
    """Return the difference within a class; counts are negative on the old side.

    Args:
        spread: dissimilarity of specific errors.
        members: kernels, each with its number on the new side minus that on the old one.
        scale: scale of the ellipse; 1 for that of 90 %.
    """
    import numpy as np

    # the largest first, as `LARGEST` of them are compared pair by pair
    members = sorted(members, key=lambda m: -abs(m[1]) * m[0].amount.mid)
    count = np.array([n for _, n in members], np.float64)
    low, mid, high = (
        np.array([getattr(k.amount, end) for k, _ in members], np.float64)
        for end in ("low", "mid", "high")
    )
    low, high = np.minimum(low, mid), np.maximum(high, mid)
    correlation = correlations(spread, [k.place for k, _ in members[:LARGEST]])
    below, above = End.of(low, mid, spread), End.of(high, mid, spread)
    below = below.with_floors(np.array([k.is_at_floor for k, _ in members]))
    grows = count > 0
    # at the lower end of the difference, kernels that are added (grows) are below their estimates
    # and kernels that are removed above; at its upper end the reverse
    shared = [np.where(grows, a.shared, b.shared) for a, b in ((below, above), (above, below))]
    total = float(count @ mid)
    least, most = total, total
    # a point of the ellipse: ``level`` half-widths of the common error, which shifts all kernels,
    # and ``rest`` half-widths of specific errors around the shifted times
    for k in range(DIRECTIONS + 1):
        level = scale * math.cos(math.pi * k / DIRECTIONS)
        rest = scale * math.sin(math.pi * k / DIRECTIONS)
        shifted = np.maximum(mid * np.exp((below if level < 0 else above).level * abs(level)), low)
        centre = float(count @ shifted)
        down = shifted - np.maximum(shifted * np.exp(rest * below.single), np.minimum(low, shifted))
        up = np.minimum(shifted * np.exp(rest * above.single), np.maximum(high, shifted)) - shifted
        least = min(
            least, centre - joint(count * np.where(grows, down, up), shared[0], correlation)
        )
        most = max(most, centre + joint(count * np.where(grows, up, down), shared[1], correlation))
    return Interval(least, total, most)


def correlations(spread: Semivariogram, places: Sequence[Place]) -> Array:
    """Return the correlations of the specific errors of kernels, ``[kernels, kernels]``."""
    import numpy as np

    squares = np.zeros((len(places), len(places)))
    by_name = [dict(place) for place in places]
    # sorted, so that sums of floats do not depend on the order of a set
    for name in sorted({name for place in by_name for name in place}):
        column = np.array([place.get(name, 0.0) for place in by_name])
        squares += np.subtract.outer(column, column) ** 2
    return spread.correlation(np.sqrt(squares))


def joint(signed: Array, shared: Array, correlation: Array) -> float:
    """Return the half-width of the difference by the specific errors of its kernels.

    Args:
        signed: change of the difference by the error of each kernel.
        shared: share of the variance of this error that similar kernels have in common.
        correlation: correlations of the common part of the first kernels; the common parts of all
            other kernels add up.
    """
    common = signed * shared**0.5
    compared, rest = common[: len(correlation)], common[len(correlation) :]
    variance = max(float(compared @ correlation @ compared), 0.0)
    together = math.sqrt(variance) + float(abs(rest).sum())
    return math.hypot(together, math.sqrt(float((signed**2 * (1 - shared)).sum())))


@record
class End:
    """One side of intervals of kernels, in logarithms.

    Args:
        level: half-width of the error that the whole class shares.
        single: half-width of the specific error; the root of the sum of both squares is the
            half-width of the interval.
        shared: share of the variance of ``single`` that is correlated between near kernels.
    """

    level: Array
    single: Array
    shared: Array

    @classmethod
    def of(cls, end: Array, mid: Array, spread: Semivariogram) -> End:
        """Return the parts of the logarithmic distance from ``mid`` to ``end``."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            whole = np.where(mid > 0, np.log(end / mid), 0.0)
        # an end of 0 is minus infinity in logarithms; e⁻⁵⁰ is as good as 0
        whole = np.clip(whole, -50.0, 50.0)
        # an interval consists of the measured specific error first; the class shares the remainder
        single = np.minimum(np.abs(whole), NINE_IN_TEN * spread.sill)
        level = np.sqrt(np.maximum(whole**2 - single**2, 0.0))
        alone = np.minimum(single, NINE_IN_TEN * spread.nugget)
        shared = 1 - (alone / np.where(single > 0, single, 1.0)) ** 2
        return cls(np.sign(whole) * level, np.sign(whole) * single, shared)

    def with_floors(self, at_floor: NDArray[np.bool_]) -> End:
        """Return the lower ends; ends at a lower bound take the widest level of the class.

        The level multiplies all kernels of a class, each only down to its lower bound. An end at
        that bound would otherwise give the class no level, and errors would not cancel.
        """
        import numpy as np

        # lower ends are negative: the least is the widest
        widest = self.level.min(initial=0.0)
        return End(np.where(at_floor, widest, self.level), self.single, self.shared)
