"""Compute costs of many runs on each machine: time, energy, carbon and money, at all offers.

``perfc cost`` passes a `Comparison` to `costs`; the views are its JSON document.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perfc.analyzers.estimate.interval import Interval
from perfc.deployment.prices import Offer, Prices, offers_of
from perfc.ir import record
from perfc.ir.record import project
from perfc.machine import Machine

from .bill import HOST, Bill, Host
from .rows import MILLION, Comparison, Row, TokenKind

SCHEMA = "perfc-cost/1"
"""Name and version of the JSON document."""


@record
class BilledAmount:
    """Amount of runs, given as runs or items; a million items by default.

    Args:
        runs: training steps, or runs of a model.
        items: images, tokens or runs that they process.
    """

    runs: float | None = None
    items: float | None = None

    def of(self, row: Row) -> float:
        """Return the number of runs of a row, by the items per run."""
        if self.runs is not None:
            return self.runs
        # a run may process several items, as a batch of images
        return (MILLION if self.items is None else self.items) / row.verdict.throughput.per_run


@record
class Priced:
    """A row of a comparison with its bill.

    Args:
        row: one model on one machine.
        bill: bill of all runs at the selected price.
        offers: bills at every known offer for the machine.
    """

    row: Row
    bill: Bill
    offers: tuple[Bill, ...]


@record
class Costs:
    """Bills of each model, cheapest first; rows without a price and what-ifs come last."""

    rows: tuple[Priced, ...]
    amounts: BilledAmount
    host: Host
    is_predicted: bool

    @property
    def document(self) -> str:
        """Return the schema of the JSON document."""
        return SCHEMA


def costs(
    comparison: Comparison,
    machines: Sequence[Machine],
    amounts: BilledAmount,
    prices: Prices,
    *,
    host: Host = HOST,
    pue: float | None = None,
    power_limit_w: float = math.inf,
) -> Costs:
    """Compute the bills of the rows of a comparison.

    Args:
        comparison: comparison, in any order.
        machines: machines of its rows.
        amounts: amount of runs.
        prices: prices of the project, and the cloud of other offers.
        host: host of each board.
        pue: power usage effectiveness of the data center; that of the tables by default.
        power_limit_w: power limit of every board, below its own.

    Raises:
        ParseError: for an invalid price table, or an unknown cloud.
    """
    by_name = {m.name: m for m in machines}
    rows: list[Priced] = []
    for row in comparison.rows:
        bill = row.bill(amounts.of(row), host=host, pue=pue, power_limit_w=power_limit_w)
        offers = offers_of(by_name[row.verdict.target], None, prices.cloud)
        # offers differ only in their price: one bill serves for all
        rows.append(Priced(row, bill, tuple(replace(bill, offer=o) for o in _distinct(offers))))
    kind_order = list(TokenKind)
    # by model and kind of tokens, then by price
    rows.sort(
        key=lambda r: (
            comparison.models.index(r.row.verdict.model),
            kind_order.index(r.row.tokens),
            bool(r.row.what_if),
            math.inf if r.bill.price is None else r.bill.price.mid,
        )
    )
    return Costs(tuple(rows), amounts, host, comparison.is_predicted)


def _distinct(offers: Sequence[Offer]) -> Sequence[Offer]:
    """Return offers without duplicates, cheapest first."""
    # instances of other sizes may have the same price for a GPU: reversed, so that the first in the
    # table replaces them
    by_terms = {(o.cloud, o.terms, o.date, round(o.per_hour, 4)): o for o in reversed(offers)}
    return sorted(by_terms.values(), key=lambda o: o.per_hour)


def item_of(row: Row) -> str:
    """Return the kind of items of a row, as ``images`` and ``input tokens``."""
    return " ".join(filter(None, (row.tokens.value, row.verdict.throughput.item.value)))


@record
class OfferView:
    """An offer and the price of the runs.

    Args:
        cloud: cloud provider.
        instance: name of the instance; empty if the table has none.
        gpus: GPUs of the instance.
        terms: rental terms.
        per_hour: price of one GPU per hour.
        price: price of all runs.
        currency: currency of both prices.
        source: source of the price.
        date: date of the source.
    """

    cloud: str
    instance: str
    gpus: int
    terms: str
    per_hour: float
    price: Interval
    currency: str
    source: str
    date: str

    @classmethod
    def of(cls, bill: Bill) -> OfferView:
        """Create the view of an offer."""
        offer, price = bill.offer, bill.price
        assert offer is not None
        assert price is not None
        return project(cls, offer, price=price)


@record
class CostView:
    """Costs of all runs on one machine; null if unknown.

    Args:
        model: name of the model.
        target: name of the machine.
        runtime: the runtime.
        dtype: what-if precision.
        runs: number of runs.
        items: items that they process.
        item: kind of the items.
        time_s: total time.
        board_j: energy of the boards.
        host_j: energy of the hosts.
        energy_j: energy of the data center.
        carbon_g: CO2 equivalent of that energy.
        price: price at the selected offer.
        offer: selected offer.
        offers: all known offers.
        region: region of the electricity.
        carbon_g_per_kwh: carbon intensity of the region.
        region_source: source of the carbon intensity.
        region_date: date of the source.
        pue: energy of the data center over that of its computers.
    """

    model: str
    target: str
    runtime: str
    dtype: str
    runs: float
    items: float
    item: str
    time_s: Interval
    board_j: Interval | None
    host_j: Interval | None
    energy_j: Interval | None
    carbon_g: Interval | None
    price: Interval | None
    offer: OfferView | None
    offers: tuple[OfferView, ...]
    region: str
    carbon_g_per_kwh: float
    region_source: str
    region_date: str
    pue: float

    @classmethod
    def of(cls, priced: Priced) -> CostView:
        """Create the view of a row."""
        row, bill = priced.row, priced.bill
        return project(
            cls,
            bill,
            model=row.verdict.model,
            target=row.verdict.target,
            runtime=row.runtime,
            dtype=row.dtype,
            items=bill.runs * row.verdict.throughput.per_run,
            item=item_of(row),
            offer=None if bill.offer is None else OfferView.of(bill),
            offers=tuple(map(OfferView.of, priced.offers)),
            region=bill.region.name,
            carbon_g_per_kwh=bill.region.carbon_g_per_kwh,
            region_source=bill.region.source,
            region_date=bill.region.date,
        )


@record
class CostsView:
    """Costs of several rows.

    Args:
        host_w: host power per board.
        host_source: source of the host power.
        is_predicted: True if times are predictions; otherwise they are at measured rates.
        rows: rows, cheapest first.
    """

    host_w: float
    host_source: str
    is_predicted: bool
    rows: tuple[CostView, ...]

    @classmethod
    def of(cls, billed: Costs) -> CostsView:
        """Create the view of costs."""
        rows = tuple(map(CostView.of, billed.rows))
        return cls(billed.host.power_w, billed.host.source, billed.is_predicted, rows)
