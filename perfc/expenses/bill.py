"""What a run, or many, come to: time, energy, carbon and money, each with its range.

The energy of the centre is that of boards and hosts times PUE, carbon that times grams a kWh, money
hours times their price. Many runs are wrong alike, so that a range grows as their number.
"""

from __future__ import annotations

from perfc.analyzers.estimate.interval import Interval
from perfc.ir.record import record

from .offers import Offer
from .regions import Region


@record
class Host:
    """Power of the computer around a board, while the board works.

    Args:
        power_w: of one board's share of it.
        low_w: nine in ten hosts draw more.
        high_w: nine in ten draw less.
        source: who measured it.
    """

    power_w: float
    low_w: float
    high_w: float
    source: str

    @property
    def interval(self) -> Interval:
        """The power with its range."""
        return Interval(self.low_w, self.power_w, self.high_w)

    def part(self, share: float) -> Host:
        """The host's share that a slice of the board has."""
        return Host(self.power_w * share, self.low_w * share, self.high_w * share, self.source)


HOST = Host(
    118.0, 96.0, 129.0,
    "EC-NAS-Bench, CPUs of one server with a Quadro RTX 6000 in 2,220 training runs; without "
    "memory, fans and power supply",
)  # fmt: skip


@record
class Bill:
    """What runs come to.

    Args:
        runs: how many.
        time_s: of all, one after the other.
        board_j: energy of the boards; None where nobody fitted the power of such a machine.
        host_j: energy of the hosts, at their power; None where the boards' is not known.
        pue: energy of the centre over that of its computers.
        region: whose electricity it is.
        offer: the price; None where nobody states one.
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
        """The bill of ``runs`` runs.

        Args:
            time_s: of one.
            board_j: energy of the board in one; None where it is not known.
            region: whose electricity it is.
            offer: the price.
            runs: how many.
            host: around each board.
            pue: of the centre; else what the offer's cloud or the region's table says, else 1.
        """
        whole = (pue, None if offer is None else offer.pue, region.pue, 1.0)
        whole_s = time_s * runs
        host_j = None
        if board_j is not None:
            w = host.interval
            host_j = Interval(whole_s.low * w.low, whole_s.mid * w.mid, whole_s.high * w.high)
        return cls(
            runs, whole_s, None if board_j is None else board_j * runs, host_j,
            next(p for p in whole if p is not None), region, offer,
        )  # fmt: skip

    @property
    def energy_j(self) -> Interval | None:
        """Of the whole centre: boards, hosts, and what cools and feeds them."""
        if self.board_j is None or self.host_j is None:
            return None
        return (self.board_j + self.host_j) * self.pue

    @property
    def carbon_g(self) -> Interval | None:
        """CO2 equivalent of that energy."""
        energy = self.energy_j
        return None if energy is None else energy * self.region.carbon_g(1.0)

    @property
    def price(self) -> Interval | None:
        """In the currency of the offer; the machine is never idle."""
        return None if self.offer is None else self.time_s * self.offer.of(1.0)
