"""Documents of costs: bills of all runs on each machine, and offers."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.deployment.prices import Market, Offer
from perfc.deployment.prices.regions import J_PER_KWH
from perfc.view.report.formats.document import Cell, Column, Document, Note, Section, Table
from perfc.view.report.sections.verdict import Item
from perfc.view.report.units import DASH, INTERVAL, Unit

from .amounts import figure, mass, span
from .bills import Costs, Priced, item_of
from .rows import TokenKind
from .views import way

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
    each, runs = first.row.verdict.throughput, first.bill.runs
    if billed.amounts.runs is None and each.item is not Item.RUN:
        count = f"{runs * each.per_run:,.0f}"
        return " and ".join(dict.fromkeys(f"{count} {item_of(r.row)}" for r in billed.rows))
    count, noun = f"{runs:,.0f}", "run" if first.row.verdict.step is None else "step"
    return f"{count} {noun}" if count == "1" else f"{count} {noun}s"


def bills_table(billed: Costs) -> Table:
    """Return the table of bills, one row per machine."""
    several = len({r.row.verdict.model for r in billed.rows}) > 1
    kinds = _has_kinds(billed)
    columns = (
        *((Column("model", "model", is_name=True),) if several else ()),
        *((Column("item", "of"),) if kinds else ()),
        Column("target", "target"),
        Column("time", "time"),
        Column("time_range", INTERVAL, is_spare=True),
        Column("energy", "energy, kWh"),
        Column("carbon", "CO2"),
        Column("price", "price"),
        Column("price_range", INTERVAL, is_spare=True),
        *((Column("per_million", "per million"),) if kinds else ()),
        Column("offer", "rented"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in billed.rows:
        cells = _cells(one)
        million, price = one.row.bill_per_million.price, one.bill.price
        if kinds:
            each = DASH if price is None or million is None else figure(million.mid)
            cells = (item_of(one.row), *cells[:-1], each, cells[-1])
        rows.append((*((one.row.verdict.model,) if several else ()), *cells))
    return Table(columns, tuple(rows))


def _has_kinds(billed: Costs) -> bool:
    """Return True if some rows are about input or output tokens."""
    return any(r.row.tokens is not TokenKind.ALL for r in billed.rows)


def _cells(one: Priced) -> tuple[Cell, ...]:
    bill, offer = one.bill, one.bill.offer
    energy, carbon, price = bill.energy_j, bill.carbon_g, bill.price
    return (
        one.row.verdict.target,
        span(bill.time_s.mid),
        f"{span(bill.time_s.low)}–{span(bill.time_s.high)}",
        DASH if energy is None else figure(energy.mid / J_PER_KWH),
        DASH if carbon is None else mass(carbon.mid),
        DASH if price is None or offer is None else f"{figure(price.mid)} {offer.currency}",
        DASH if price is None else f"{figure(price.low)}–{figure(price.high)}",
        DASH if offer is None else _offer(offer),
    )


def _offer(offer: Offer) -> str:
    """Describe an offer: provider, terms, and kind of seller if it is no list price."""
    if not offer.cloud:
        return "given price"
    is_list = offer.market is Market.LIST
    return f"{offer.cloud}, {offer.terms.value}" + ("" if is_list else f", {offer.market.value}")


def offers_table(billed: Costs) -> Table:
    """Return the table of offers for each machine, cheapest first."""
    kinds = _has_kinds(billed)
    columns = (
        *((Column("item", "of"),) if kinds else ()),
        Column("target", "target"),
        Column("cloud", "cloud"),
        Column("instance", "instance", is_name=True),
        Column("gpus", "GPUs", Unit.COUNT),
        Column("terms", "terms"),
        Column("per_hour", "per GPU hour"),
        Column("price", "total"),
        Column("date", "as of"),
    )
    rows: list[tuple[Cell, ...]] = []
    seen: set[tuple[str, TokenKind]] = set()
    for one in billed.rows:
        target = one.row.verdict.target
        of = (target, one.row.tokens)
        for bill in () if of in seen else one.offers[:MOST_OFFERS]:
            offer, price = bill.offer, bill.price
            assert offer is not None
            assert price is not None
            kind = (item_of(one.row),) if kinds else ()
            rows.append(
                (
                    *kind,
                    target,
                    offer.cloud,
                    offer.instance,
                    float(offer.gpus),
                    offer.terms.value,
                    f"{figure(offer.per_hour)} {offer.currency}",
                    figure(price.mid),
                    offer.date,
                )
            )
        seen.add(of)
    return Table(columns, tuple(rows))


def notes(billed: Costs) -> Iterator[Note]:
    """Yield notes on sources and on what is not included."""
    first = billed.rows[0].bill
    region = first.region
    yield Note(
        f"{region.name}: {region.carbon_g_per_kwh:g} g CO2 per kWh, {region.source}, {region.date}"
    )
    known = [r.bill for r in billed.rows if r.bill.energy_j is not None]
    for bill in known[:1]:
        assert bill.host_j is not None
        assert bill.board_j is not None
        both = bill.host_j.mid + bill.board_j.mid
        share = bill.host_j.mid / both if both > 0 else 0.0
        yield Note(
            f"energy covers boards, hosts and the data center (PUE {bill.pue:g}); the host draws "
            f"{billed.host.power_w:g} W per board, {100 * share:.0f} % of both on "
            f"{billed.rows[0].row.verdict.target}: {billed.host.source}"
        )
    if len(known) < len(billed.rows):
        yield Note("energy and carbon are omitted for machines without a fitted power model")
    for source, date in {(o.source, o.date): None for o in _taken(billed)}:
        yield Note(f"prices: {source}, {date}")
    if any(r.bill.offer is None for r in billed.rows):
        yield Note("some machines have no known price: set one in [prices] of perfc.toml", True)
    if any(not r.row.fits for r in billed.rows):
        names = ", ".join(r.row.verdict.target for r in billed.rows if not r.row.fits)
        yield Note(f"memory does not hold a run on {names}", is_warning=True)
    for load in dict.fromkeys(r.row.load for r in billed.rows if r.row.load):
        yield Note(
            f"output tokens under a load of {load}, prompts included, and input tokens of a prompt "
            "alone: the prices of perfc llm for the same deployment"
        )
    yield Note("assumes a fully used machine; storage and network are not included")


def _taken(billed: Costs) -> list[Offer]:
    return [r.bill.offer for r in billed.rows if r.bill.offer is not None]
