"""What many runs cost on each machine: time, energy, carbon and money, with every known offer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perfc.analyzers.estimate.interval import Interval
from perfc.expenses import HOST, Bill, Host, Offer, Prices, offers_of
from perfc.ir.record import record
from perfc.machine import Machine
from perfc.report.json_form import enveloped

from .rows import MILLION, Comparison, Row

SCHEMA = "perfc-cost/1"


@record
class Amounts:
    """How much is run; one of both, else a million items.

    Args:
        runs: steps of a training, or runs of a model.
        items: images, tokens or runs that they work through.
    """

    runs: float | None = None
    items: float | None = None

    def of(self, row: Row) -> float:
        """Runs of a row, whose batch says how many items one works through."""
        if self.runs is not None:
            return self.runs
        return (MILLION if self.items is None else self.items) / row.verdict.throughput.per_run


@record
class Priced:
    """A row of a comparison with its bill.

    Args:
        row: one model, run in one way on one machine.
        bill: of all runs, at the price that is taken.
        offers: all that tables say of the machine, with what the runs cost on each.
    """

    row: Row
    bill: Bill
    offers: tuple[Bill, ...]


@record
class Costs:
    """Bills of some rows, the cheapest first, what has no price last."""

    rows: tuple[Priced, ...]
    amounts: Amounts
    host: Host
    is_predicted: bool

    @property
    def document(self) -> str:
        """Name of the JSON that holds it."""
        return SCHEMA


def costs(
    found: Comparison,
    machines: Sequence[Machine],
    amounts: Amounts,
    prices: Prices,
    *,
    host: Host = HOST,
    pue: float | None = None,
    power_limit_w: float = math.inf,
) -> Costs:
    """The bills of the rows of a comparison.

    Args:
        found: rows in any order.
        machines: that they are of.
        amounts: how much is run.
        prices: that a project states, and the cloud that others are of.
        host: around each board.
        pue: of the centre, where the tables' is not meant.
        power_limit_w: of every board, below its own.

    Raises:
        ParseError: a table of prices that is none, or no such cloud.
    """
    by_name = {m.name: m for m in machines}
    rows: list[Priced] = []
    for row in found.rows:
        bill = row.bill(amounts.of(row), host=host, pue=pue, power_limit_w=power_limit_w)
        every = offers_of(by_name[row.verdict.target], None, prices.cloud)
        rows.append(Priced(row, bill, tuple(replace(bill, offer=o) for o in _distinct(every))))
    rows.sort(key=lambda r: math.inf if r.bill.price is None else r.bill.price.mid)
    return Costs(tuple(rows), amounts, host, found.is_predicted)


def _distinct(offers: Sequence[Offer]) -> Sequence[Offer]:
    """The cheapest first, those of one price, cloud and terms once."""
    each = {(o.cloud, o.terms, o.date, round(o.per_hour, 4)): o for o in reversed(offers)}
    return sorted(each.values(), key=lambda o: o.per_hour)


@record
class Ranged:
    """An amount and the ends that hold nine in ten."""

    low: float
    mid: float
    high: float


def ranged(interval: Interval | None) -> Ranged | None:
    """An interval as data; None stays None."""
    return None if interval is None else Ranged(interval.low, interval.mid, interval.high)


@record
class OfferView:
    """An offer, and what the runs cost there.

    Args:
        cloud: that makes it.
        instance: its name; "" where the table names none.
        gpus: of the instance.
        terms: on which it is rented.
        per_hour: of one GPU.
        price: of all runs.
        currency: of both.
        source: who says so.
        date: of that.
    """

    cloud: str
    instance: str
    gpus: int
    terms: str
    per_hour: float
    price: Ranged
    currency: str
    source: str
    date: str

    @classmethod
    def of(cls, bill: Bill) -> OfferView:
        """What is said of an offer."""
        offer, price = bill.offer, bill.price
        assert offer is not None
        assert price is not None
        return cls(
            offer.cloud, offer.instance, offer.gpus, offer.terms.value, offer.per_hour,
            Ranged(price.low, price.mid, price.high), offer.currency, offer.source, offer.date,
        )  # fmt: skip


@record
class CostView:
    """One row: what all runs come to; null is what nobody knows.

    Args:
        model: as it was named.
        target: name of the machine.
        runtime: whose kernels run.
        dtype: what-if precision.
        runs: how many.
        items: that they work through.
        item: what those are.
        time_s: of all.
        board_j: energy of the boards.
        host_j: energy of the hosts.
        energy_j: of the whole centre.
        carbon_g: CO2 equivalent of that.
        price: at the offer taken.
        offer: that is taken.
        offers: all that tables make.
        region: whose electricity it is.
        carbon_g_per_kwh: of that.
        region_source: who says so.
        region_date: of that.
        pue: energy of the centre over that of its computers.
    """

    model: str
    target: str
    runtime: str
    dtype: str
    runs: float
    items: float
    item: str
    time_s: Ranged
    board_j: Ranged | None
    host_j: Ranged | None
    energy_j: Ranged | None
    carbon_g: Ranged | None
    price: Ranged | None
    offer: OfferView | None
    offers: tuple[OfferView, ...]
    region: str
    carbon_g_per_kwh: float
    region_source: str
    region_date: str
    pue: float

    @classmethod
    def of(cls, one: Priced) -> CostView:
        """What is said of a row."""
        row, bill = one.row, one.bill
        time, per_run = bill.time_s, row.verdict.throughput
        offers = tuple(map(OfferView.of, one.offers))
        return cls(
            row.verdict.model, row.verdict.target, row.runtime, row.dtype, bill.runs,
            bill.runs * per_run.per_run, per_run.item.value,
            Ranged(time.low, time.mid, time.high), ranged(bill.board_j), ranged(bill.host_j),
            ranged(bill.energy_j), ranged(bill.carbon_g), ranged(bill.price),
            None if bill.offer is None else OfferView.of(bill), offers,
            bill.region.name, bill.region.carbon_g_per_kwh, bill.region.source, bill.region.date,
            bill.pue,
        )  # fmt: skip


@record
class CostsView:
    """Bills of some rows.

    Args:
        host_w: power of the host of one board.
        host_source: who measured it.
        is_predicted: whether times are predictions; else they are at measured rates.
        rows: the cheapest first.
    """

    host_w: float
    host_source: str
    is_predicted: bool
    rows: tuple[CostView, ...]

    @classmethod
    def of(cls, found: Costs) -> CostsView:
        """What is said of some bills."""
        rows = tuple(map(CostView.of, found.rows))
        return cls(found.host.power_w, found.host.source, found.is_predicted, rows)


def to_dict(found: Costs) -> dict[str, object]:
    """The JSON document, schema ``perfc-cost/1``."""
    return enveloped(SCHEMA, CostsView.of(found))
