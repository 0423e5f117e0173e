"""Predict power and time of a run under a power limit below the board's default limit.

Both depend on one ratio: the limit over the power that the run draws without it. Clocks fall until
the mean power is within the limit. Above a ratio of 2 nothing changes; at 0.5 a run takes some 60 %
longer. Fitted to epochs of six networks on three boards (Zeus);
`lab/perfc_lab/fits/power_caps.py` scores it on held-out boards and networks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache

from perfc.common.fitted import data_next_to
from perfc.ir import record

EDGES = (
    0.0,
    0.45,
    0.5,
    0.55,
    0.6,
    0.65,
    0.7,
    0.75,
    0.8,
    0.85,
    0.9,
    0.95,
    1.0,
    1.1,
    1.2,
    1.35,
    1.5,
    2.0,
    10.0,
)
"""Edges of the bins of limit over uncapped power, one knot of the fit each."""


@record
class CapLaw:
    """Ratios of power and time at knots; logarithms are interpolated linearly between them.

    Args:
        demands: limit over uncapped power at each knot, ascending.
        powers: power under the limit over uncapped power.
        times: time under the limit over time without one.
    """

    demands: tuple[float, ...]
    powers: tuple[float, ...]
    times: tuple[float, ...]

    def power(self, demand: float) -> float:
        """Return capped over uncapped power at a ratio of limit to uncapped power.

        The result is at most the ratio itself, as a board stays within its limit.
        """
        # below the first knot nothing was measured: the power stays that of the knot
        return min(self._at(demand, self.powers), max(demand, self.powers[0]))

    def time(self, demand: float) -> float:
        """Return capped over uncapped time at a ratio of limit to uncapped power."""
        return self._at(demand, self.times)

    def _at(self, demand: float, values: tuple[float, ...]) -> float:
        """Return values at the knots interpolated in their logarithm, constant beyond the ends."""
        # the first knot at or above the demand
        i = bisect_left(self.demands, demand)
        if i >= len(values):
            return values[-1]
        if i == 0:
            return values[0]
        low, high = self.demands[i - 1], self.demands[i]
        share = (demand - low) / (high - low)
        return math.exp((1 - share) * math.log(values[i - 1]) + share * math.log(values[i]))


@cache
def cap_law() -> CapLaw:
    """Return the fit in ``power_cap.toml``."""
    data = data_next_to(__file__)
    return CapLaw(*(tuple(data[n]) for n in ("demands", "powers", "times")))
