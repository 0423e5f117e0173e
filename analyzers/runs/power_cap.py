"""Predict power and time of a run under a power limit below the board's default limit.

Both depend on one ratio: the limit over the mean power that the run draws without a limit. Below 1,
clocks fall until the power is within the limit: at 0.5 a run takes some 60 % longer. A limit above
the mean still binds at times, as the power varies within a run: at a ratio of 1 a run takes 2 %
longer, above 2 nothing changes. Fitted to epochs of six networks on three boards (Zeus);
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
"""Edges of the bins of that ratio: the fit in the laboratory has a knot at the median of each bin.
Bins are narrower where the limit binds and the time changes with it."""


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

        From the first knot on, the result is at most the ratio itself, as a board stays within its
        limit. At lower ratios nothing was measured: the result is the power of the first knot.
        """
        return min(self._at(demand, self.powers), max(demand, self.powers[0]))

    def time(self, demand: float) -> float:
        """Return capped over uncapped time at a ratio of limit to uncapped power."""
        return self._at(demand, self.times)

    def _at(self, demand: float, values: tuple[float, ...]) -> float:
        """Return the value at a ratio: logarithms interpolated between knots, constant beyond."""
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
