"""Lay out a card and its MIG slices as the document that ``perfc mig`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Part,
    Section,
    Table,
    in_bytes,
    in_seconds,
    tabulate,
)
from perfc.view.report.units import (
    DASH,
    INTERVAL,
    LOWER_BOUND,
    Unit,
    plural,
    quantity,
    size_text,
    time_text,
)

from .rows import Row
from .slices import CardSlice, Slicing
from .views import interval, price, way


def document(slicing: Slicing) -> Document:
    """Return the document: recommended slice, slices by two published rules, and all slices."""
    card = slicing.card
    sizes = "".join(f", {card.labels.get(n, n)} = {size}" for n, size in card.sizes.items())
    title = f"{card.verdict.model} on slices of {card.verdict.machine}{sizes}, {way(card)}"
    parts: tuple[Part, ...] = (advice(slicing), table(slicing), *notes(slicing))
    return Document(title, (Section("mig", "slices", parts),))


def advice(slicing: Slicing) -> Facts:
    """Return the recommended slice and those of the published rules."""
    smallest, need = slicing.smallest, slicing.need_bytes
    rows = [Fact("take", None, _taken(smallest, slicing))]
    words = f"{slicing.by_memory or 'none'}: the smallest larger than {size_text(need)}"
    rows.append(Fact("DIPPM", None, f"{words}, memory only (eq. 4.2)"))
    if slicing.by_use:
        share = f"the whole card is busy {100 * slicing.used:.0f} % of the time"
        rows.append(Fact("by use", None, f"{slicing.by_use}: {share} (dissertation, 3.4.4)"))
    return Facts(tuple(rows))


def _taken(smallest: CardSlice | None, slicing: Slicing) -> str:
    """Describe the recommended slice, its time and the throughput of a card full of it."""
    if smallest is None:
        return "no slice is large and fast enough"
    verdict, profile = smallest.row.verdict, smallest.profile
    item = verdict.throughput.item.value
    time = f"{time_text(smallest.row.time_s)} predicted"
    many = f"{profile.instances} fit, {quantity(smallest.card_per_s, Unit.COUNT)} {item}/s per card"
    whole = quantity(slicing.card.verdict.throughput.per_s, Unit.COUNT)
    return f"{profile.name}: {time}; {many}, the whole card has {whole}"


def table(slicing: Slicing) -> Table:
    """Return the table of slices, the whole card last."""
    item = slicing.card.verdict.throughput.item.value
    currency = slicing.comparison.currency or "price"
    # slices have the same row objects as the comparison; the row without a slice is the whole card
    cuts = {id(s.row): s for s in slicing.slices}

    def of(name: str, whole: Any) -> Callable[[Row], Any]:
        """Return the function of an attribute of a slice, with the cell of the whole card."""
        cell = attrgetter(name)
        return lambda row: cell(cuts[id(row)]) if id(row) in cuts else whole

    def holding(row: Row) -> str:
        return cuts[id(row)].holding(slicing.slo_s).value if id(row) in cuts else ""

    per_s = of("card_per_s", slicing.card.verdict.throughput.per_s)
    is_predicted = slicing.is_predicted
    columns = [
        Column("profile", "slice", cell=of("profile.name", "whole card")),
        Column("sm_count", "SMs", Unit.COUNT, cell=of("profile.sm_count", None)),
        Column("instances", "fit", Unit.COUNT, cell=of("profile.instances", 1)),
        Column("time_s", "predicted" if is_predicted else "sustained"),
        Column(
            "interval", INTERVAL, is_spare=True, cell=interval if is_predicted else lambda _: DASH
        ),
        Column("floor_s", LOWER_BOUND, is_spare=True, cell=lambda r: in_seconds(r.verdict.floor_s)),
        Column("capacity_bytes", "memory", cell=capacity),
        Column(
            "card_items_per_s", f"{item}/s per card", cell=lambda r: Amount(per_s(r), Unit.COUNT)
        ),
        Column("energy_j", "energy", cell=lambda r: Amount(r.energy_j, Unit.JOULE)),
        Column("price", f"{currency}/million", cell=price),
        Column("holding", "enough", cell=holding),
    ]
    if all(r.price is None for r in slicing.comparison.rows):
        columns = [c for c in columns if c.name != "price"]
    return tabulate(columns, slicing.comparison.rows)


def capacity(row: Row) -> Amount:
    """Return the memory of a machine."""
    return in_bytes(float(row.verdict.memory.capacity_bytes or 0))


def notes(slicing: Slicing) -> Iterator[Note]:
    """Yield the notes below the table."""
    if slicing.slo_s is not None:
        limit = time_text(slicing.slo_s)
        if slicing.smallest is None:
            yield Note(
                f"no slice has enough memory and a predicted time of {limit} or less",
                is_warning=True,
            )
        yield Note(f"yes: the {INTERVAL} is below {limit}; likely: the predicted time is")
    need = size_text(slicing.need_bytes)
    whole = "with the runtime's allocator and the driver's context; `perfc fit` lists the parts"
    yield Note(f"memory: {need} on the whole card, {whole}")
    yield Note(
        "a slice is modeled as its share of the card's multiprocessors, L2, memory and bandwidth; "
        "rates measured on the whole card are assumed to scale the same way"
    )
    yield Note(f"slices: {slicing.source}")
    for cut in slicing.slices:
        if cut.profile.note:
            yield Note(f"{cut.profile.name}: {cut.profile.note}")
    used = plural(len(slicing.slices), "slice")
    yield Note(f"{used}, by share of the card; the other slices are assumed to be idle")
