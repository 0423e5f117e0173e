"""Compute bills of runs: time, energy, carbon and money, each with its interval.

The energy of the data center is that of boards and hosts times PUE. Carbon is energy times grams
per kWh, money is hours times price. Errors of equal runs are fully correlated, so that the interval
grows with their number.
"""

from __future__ import annotations

from perfc.analyzers.estimate.interval import Interval
from perfc.deployment.prices import Offer, Region
from perfc.ir import record


@record
class Host:
    """Power of the host of a board, while the board works.

    Args:
        power_w: host power per board.
        low_w: 10th percentile over hosts.
        high_w: 90th percentile over hosts.
        source: source of the measurement.
    """

    power_w: float
    low_w: float
    high_w: float
    source: str

    @property
    def interval(self) -> Interval:
        """Return the power with its interval."""
        return Interval(self.low_w, self.power_w, self.high_w)

    def part(self, share: float) -> Host:
        """Return the share of the host for a slice of the board."""
        return Host(self.power_w * share, self.low_w * share, self.high_w * share, self.source)


# default host, per board
HOST = Host(
    power_w=118.0,
    low_w=96.0,
    high_w=129.0,
    source="EC-NAS-Bench, CPUs of one server with a Quadro RTX 6000 in 2,220 training runs; "
    "without memory, fans and power supply",
)


@record
class Bill:
    """Bill of several runs.

    Args:
        runs: number of runs.
        time_s: total time, one run after the other.
        board_j: energy of the boards; None without a fitted power model.
        host_j: energy of the hosts; None if that of the boards is unknown.
        pue: energy of the data center over that of its computers.
        region: region of the electricity.
        offer: offer with the price; None if unknown.
    """

    runs: float
    time_s: Interval
    board_j: Interval | None
    host_j: Interval | None
    pue: float
    region: Region
    offer: Offer | None

    @classmethod
    def of(
        cls,
        time_s: Interval,
        board_j: Interval | None,
        region: Region,
        offer: Offer | None,
        *,
        runs: float = 1.0,
        host: Host = HOST,
        pue: float | None = None,
    ) -> Bill:
        """Create the bill of ``runs`` runs.

        Args:
            time_s: time of one run.
            board_j: energy of the board in one run; None if unknown.
            region: region of the electricity.
            offer: offer with the price.
            runs: number of runs.
            host: host of each board.
            pue: PUE of the data center; that of the offer's cloud or the region by default, else 1.
        """
        # from the most to the least specific value; the first known one counts
        pues = (pue, None if offer is None else offer.pue, region.pue, 1.0)
        total_s = time_s * runs
        host_j = None
        if board_j is not None:
            power = host.interval
            # products of the low ends and of the high ends give the widest interval, whatever the
            # correlation of time and power
            host_j = Interval(
                total_s.low * power.low, total_s.mid * power.mid, total_s.high * power.high
            )
        return cls(
            runs,
            total_s,
            None if board_j is None else board_j * runs,
            host_j,
            next(p for p in pues if p is not None),
            region,
            offer,
        )

    @property
    def energy_j(self) -> Interval | None:
        """Return the energy of the data center: boards, hosts, cooling and power supply."""
        if self.board_j is None or self.host_j is None:
            return None
        return (self.board_j + self.host_j) * self.pue

    @property
    def carbon_g(self) -> Interval | None:
        """Return the CO2 equivalent of the energy of the data center."""
        energy = self.energy_j
        return None if energy is None else energy * self.region.carbon_g(1.0)

    @property
    def price(self) -> Interval | None:
        """Return the price in the currency of the offer, on a fully used machine."""
        return None if self.offer is None else self.time_s * self.offer.of(1.0)
