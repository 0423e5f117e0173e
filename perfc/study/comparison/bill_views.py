"""Lay out costs as documents: bills of all runs on each machine, and offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter

from perfc.analyzers.estimate.interval import Interval
from perfc.deployment.prices import Market, Offer
from perfc.deployment.prices.regions import J_PER_KWH
from perfc.view.report.formats.document import (
    Column,
    Document,
    Note,
    Section,
    Table,
    tabulate,
)
from perfc.view.report.sections.verdict import Item
from perfc.view.report.units import DASH, INTERVAL, Unit
from perfc.view.result import Field, Fields, ResultLayout, Show

from .amounts import figure, mass, span
from .bill import Bill
from .bills import Costs, Priced, item_of
from .fields import target
from .rows import TokenKind
from .views import way, what_ifs

MOST_OFFERS = 6
"""Maximum number of offers shown per machine; the JSON has all."""


def document(billed: Costs) -> Document:
    """Return the document of bills, offers and notes."""
    first = billed.rows[0]
    models = dict.fromkeys(r.row.verdict.model for r in billed.rows)
    title = f"{', '.join(models)} · {amount(billed)} · {way(first.row)} · {first.bill.region.name}"
    bills = Section("cost", "cost", (bills_table(billed), *notes(billed)))
    offers = offers_table(billed)
    more = Section("offers", "offers", (offers,))
    return Document(title, (bills, more) if offers.rows else (bills,))


def amount(billed: Costs) -> str:
    """Describe the amount of runs: ``450,000 steps``, ``1,000 runs`` or ``8,000,000 images``."""
    first = billed.rows[0]
    throughput, runs = first.row.verdict.throughput, first.bill.runs
    if billed.amounts.runs is None and throughput.item is not Item.RUN:
        # the number of items is equal for all rows, which differ in the kind of the items
        count = f"{runs * throughput.per_run:,.0f}"
        return " and ".join(dict.fromkeys(f"{count} {item_of(r.row)}" for r in billed.rows))
    count, noun = f"{runs:,.0f}", "run" if first.row.verdict.step is None else "step"
    return f"{count} {noun}" if count == "1" else f"{count} {noun}s"


def bills_table(billed: Costs) -> Table:
    """Return the table of bills, one row per machine."""
    return COST.table(billed.rows, billed)


def _has_kinds(billed: Costs) -> bool:
    """Return True if some rows are about input or output tokens."""
    return any(r.row.tokens is not TokenKind.ALL for r in billed.rows)


def _ends(value: Interval | None, form: Callable[[float], str]) -> str:
    return DASH if value is None else f"{form(value.low)}–{form(value.high)}"


def _mid(value: Interval | None, form: Callable[[float], str]) -> str:
    return DASH if value is None else form(value.mid)


def _kwh(energy_j: float) -> str:
    return figure(energy_j / J_PER_KWH)


def _price(one: Priced) -> str:
    price, offer = one.bill.price, one.bill.offer
    return DASH if price is None or offer is None else f"{figure(price.mid)} {offer.currency}"


def _per_million(one: Priced) -> str:
    return _mid(one.bill.price and one.row.bill_per_million.price, figure)


def _offer(offer: Offer | None) -> str:
    """Describe an offer: provider, terms, and kind of seller if it is no list price."""
    if offer is None:
        return DASH
    if not offer.cloud:
        return "given price"
    is_list = offer.market is Market.LIST
    return f"{offer.cloud}, {offer.terms.value}" + ("" if is_list else f", {offer.market.value}")


def offers_table(billed: Costs) -> Table:
    """Return the table of offers for each machine, cheapest first."""
    columns = (
        *COST.columns(billed.rows, billed, "item", "target"),
        Column("cloud", cell=attrgetter("bill.offer.cloud")),
        Column("instance", is_name=True, cell=attrgetter("bill.offer.instance")),
        Column("gpus", "GPUs", Unit.COUNT, cell=attrgetter("bill.offer.gpus")),
        Column("terms", cell=attrgetter("bill.offer.terms.value")),
        Column("per_hour", "per GPU hour", cell=_hourly),
        Column("price", "total", cell=lambda r: figure(r.bill.price.mid)),
        Column("date", "as of", cell=attrgetter("bill.offer.date")),
    )
    # several models have the same offers: the first row of each machine and kind is enough
    first = {(r.row.verdict.target, r.row.tokens): r for r in reversed(billed.rows)}
    rows = (r for r in billed.rows if first[r.row.verdict.target, r.row.tokens] is r)
    return tabulate(columns, (replace(r, bill=b) for r in rows for b in r.offers[:MOST_OFFERS]))


def _hourly(one: Priced) -> str:
    """Return the price of a GPU for an hour at an offer."""
    offer = one.bill.offer
    return "" if offer is None else f"{figure(offer.per_hour)} {offer.currency}"


def notes(billed: Costs) -> Iterator[Note]:
    """Yield notes on sources and on what is not included."""
    region = billed.rows[0].bill.region
    yield Note(
        f"{region.name}: {region.carbon_g_per_kwh:g} g CO2 per kWh, {region.source}, {region.date}"
    )
    metered = [r for r in billed.rows if r.bill.energy_j is not None]
    if metered:
        row, bill = metered[0].row, metered[0].bill
        assert bill.host_j is not None
        assert bill.board_j is not None
        total_j = bill.host_j.mid + bill.board_j.mid
        share = bill.host_j.mid / total_j if total_j > 0 else 0.0
        yield Note(
            f"energy covers boards, hosts and the data center (PUE {bill.pue:g}); the host draws "
            f"{billed.host.power_w:g} W per board, {100 * share:.0f} % of both on "
            f"{row.verdict.target}: {billed.host.source}"
        )
    if len(metered) < len(billed.rows):
        yield Note("energy and carbon are omitted for machines without a fitted power model")
    offers = [r.bill.offer for r in billed.rows]
    for source, date in {(o.source, o.date): None for o in offers if o is not None}:
        yield Note(f"prices: {source}, {date}")
    if None in offers:
        words = "some machines have no known price: set one in [prices] of perfc.toml"
        yield Note(words, is_warning=True)
    if any(not r.row.fits for r in billed.rows):
        names = ", ".join(r.row.verdict.target for r in billed.rows if not r.row.fits)
        yield Note(f"memory does not hold a run on {names}", is_warning=True)
    yield from (Note(*words) for words in what_ifs(r.row for r in billed.rows))
    for load in dict.fromkeys(r.row.load for r in billed.rows if r.row.load):
        yield Note(
            f"output tokens under a load of {load}, prompts included, and input tokens of a prompt "
            "alone: the prices of perfc llm for the same deployment"
        )
    yield Note("assumes a fully used machine; storage and network are not included")


def items(priced: Priced) -> float:
    """Return the items that all runs process."""
    return priced.bill.runs * priced.row.verdict.throughput.per_run


def item(priced: Priced) -> str:
    """Return the kind of the items."""
    return item_of(priced.row)


def selected(priced: Priced) -> Bill | None:
    """Return the bill at the selected offer."""
    return priced.bill if priced.bill.offer else None


OFFER = Fields(
    Bill,
    {
        "cloud": "offer.cloud",
        "instance": "offer.instance",
        "gpus": "offer.gpus",
        "terms": "offer.terms",
        "per_hour": "offer.per_hour",
        "price": "price",
        "currency": "offer.currency",
        "source": "offer.source",
        "date": "offer.date",
    },
)
COST = Fields(
    Priced,
    {
        "model": Field("row.verdict.model", show=Show.DIFFERS, is_key=True, is_name=True),
        "target": Field(
            "row.verdict.target", text=lambda r: target(r.row), is_key=True, title="target"
        ),
        "runtime": "row.runtime",
        "dtype": "row.dtype",
        "runs": "bill.runs",
        "items": items,
        "item": Field(item, title="of", show=_has_kinds, is_key=True),
        "time_s": Field("bill.time_s", title="time", text=lambda r: span(r.bill.time_s.mid)),
        "time_range": Field(
            title=INTERVAL, text=lambda r: _ends(r.bill.time_s, span), is_spare=True, is_data=False
        ),
        "board_j": "bill.board_j",
        "host_j": "bill.host_j",
        "energy_j": Field(
            "bill.energy_j", title="energy, kWh", text=lambda r: _mid(r.bill.energy_j, _kwh)
        ),
        "carbon_g": Field("bill.carbon_g", title="CO2", text=lambda r: _mid(r.bill.carbon_g, mass)),
        "price": Field("bill.price", text=_price, title="price"),
        "price_range": Field(
            title=INTERVAL, text=lambda r: _ends(r.bill.price, figure), is_spare=True, is_data=False
        ),
        "per_million": Field(
            title="per million", show=_has_kinds, text=_per_million, is_data=False
        ),
        "offer": Field(selected, of=OFFER, title="rented", text=lambda r: _offer(r.bill.offer)),
        "offers": Field(of=OFFER),
        "region": "bill.region.name",
        "carbon_g_per_kwh": "bill.region.carbon_g_per_kwh",
        "region_source": "bill.region.source",
        "region_date": "bill.region.date",
        "pue": "bill.pue",
    },
)
LAYOUT = ResultLayout(
    "perfc-cost/1",
    Fields(
        Costs,
        {
            "host_w": "host.power_w",
            "host_source": "host.source",
            "is_predicted": "is_predicted",
            "rows": Field(of=COST),
        },
    ),
    document,
    rows="rows",
)
