"""A run under a power limit below the board's own: what it draws, and how much longer it takes.

Both depend on the limit over what the run draws without it: clocks fall until the mean power fits.
Above 2 nothing changes; at a half a run takes some 60 % longer. Fitted to epochs of six networks
on three boards (Zeus); `lab/perfc_lab/fits/power_caps.py` leaves boards and networks out.
"""

from __future__ import annotations

import math
import tomllib
from bisect import bisect_left
from functools import cache
from pathlib import Path

from perfc.ir.record import record

FILE = Path(__file__).parent / "power_cap.toml"
EDGES = (0.0, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.1, 1.2, 1.35,
         1.5, 2.0, 10.0)  # fmt: skip
"""Of limits over demands, between which the law has a knot."""


@record
class CapLaw:
    """Knots, between which logarithms are straight.

    Args:
        demands: limits over what the run draws without one, rising.
        powers: drawn under the limit, over that.
        times: taken under the limit, over that without.
    """

    demands: tuple[float, ...]
    powers: tuple[float, ...]
    times: tuple[float, ...]

    def power(self, demand: float) -> float:
        """What is drawn, over what is drawn without a limit; never more than the limit itself."""
        return min(self._at(demand, self.powers), max(demand, self.powers[0]))

    def time(self, demand: float) -> float:
        """What a run takes, over what it takes without a limit."""
        return self._at(demand, self.times)

    def _at(self, demand: float, values: tuple[float, ...]) -> float:
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
    """The law that comes with perfc."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return CapLaw(*(tuple(found[n]) for n in ("demands", "powers", "times")))
