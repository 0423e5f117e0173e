"""Lay out a card and its MIG slices as the document that ``perfc mig`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.view.report.formats.document import (
    Document,
    Fact,
    Facts,
    Note,
    Part,
    Section,
    Table,
)
from perfc.view.report.units import (
    INTERVAL,
    LOWER_BOUND,
    Unit,
    plural,
    quantity,
    size_text,
    time_text,
)
from perfc.view.result import Field, Fields, ResultLayout, Show

from .fields import ROW, interval, price, sustained
from .slices import CardSlice, Slicing
from .views import way


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
    return SLICE.table((*slicing.slices, slicing.whole), slicing)


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


def smallest(slicing: Slicing) -> str | None:
    """Return the recommended profile."""
    return slicing.smallest.profile.name if slicing.smallest else None


def by_memory(slicing: Slicing) -> str | None:
    """Return the profile by DIPPM's rule."""
    return slicing.by_memory or None


def by_use(slicing: Slicing) -> str | None:
    """Return the profile by the rule of the dissertation."""
    return slicing.by_use or None


SLICE = Fields(
    CardSlice,
    {
        "profile": Field("profile.name", title="slice"),
        "sm_count": Field("profile.sm_count", title="SMs", unit=Unit.COUNT),
        "compute_share": "profile.compute_share",
        "memory_share": "profile.memory_share",
        "instances": Field("profile.instances", title="fit", unit=Unit.COUNT),
        "time_s": Field("row.time_s", title=sustained, is_data=False),
        "interval": Field(
            "row",
            title=INTERVAL,
            show=lambda s: s.is_predicted,
            text=lambda s: interval(s.row),
            is_spare=True,
            is_data=False,
        ),
        "floor_s": Field("row.verdict.floor_s", title=LOWER_BOUND, is_spare=True, is_data=False),
        "capacity_bytes": Field("row.verdict.memory.capacity_bytes", title="memory", is_data=False),
        "card_items_per_s": Field(
            "card_per_s",
            title=lambda s: f"{s.card.verdict.throughput.item.value}/s per card",
            unit=Unit.COUNT,
        ),
        "energy_j": Field("row.energy_j", title="energy", unit=Unit.JOULE, is_data=False),
        "price": Field(
            "row.price",
            title=lambda s: f"{s.comparison.currency or 'price'}/million",
            show=Show.KNOWN,
            text=lambda s: price(s.row),
            is_data=False,
        ),
        "holding": Field(title="enough"),
        "note": "profile.note",
        "row": Field(of=ROW),
    },
)

SLICING = Fields(
    Slicing,
    {
        "card": Field(of=ROW),
        "slo_s": "slo_s",
        "smallest": smallest,
        "by_memory": by_memory,
        "by_use": by_use,
        "used": "used",
        "need_bytes": "need_bytes",
        "source": "source",
        "slices": Field(of=SLICE),
    },
)
LAYOUT = ResultLayout(
    "perfc-mig/1",
    SLICING,
    document,
    "perfc.study.comparison.page:slices_page",
    lambda s: ROW.records(s.comparison.rows),
)
