"""Lay out comparisons as documents: recommendations, table and notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from perfc.deployment.prices import Market
from perfc.machine import load_machine
from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Note,
    Part,
    Section,
    Table,
    in_seconds,
    tabulate,
)
from perfc.view.report.names import emulated
from perfc.view.report.units import (
    INTERVAL,
    LOWER_BOUND,
    Unit,
    plural,
    quantity,
    size_text,
    time_text,
)

from .amounts import mass
from .order import LimitStatus, Order

if TYPE_CHECKING:
    from .rows import Comparison, Row

BAR = 16
"""Length of the longest bar in characters."""
EIGHTHS = "▏▎▍▌▋▊▉█"
"""Characters of one to eight eighths, for the end of a bar."""
BEST = "best available"
"""Words for the predictor of a row without a requested one."""


def document(comparison: Comparison, *, has_bars: bool = False) -> Document:
    """Return the document: recommendations, table and notes.

    Args:
        comparison: the comparison.
        has_bars: also draw times as bars, for text.
    """
    parts: list[Part] = [Note(text) for text in recommendations(comparison)]
    parts += [table(comparison, has_bars=has_bars)]
    parts += [Note(text, is_warning) for text, is_warning in notes(comparison)]
    return Document(title(comparison), (Section("compare", "machines side by side", tuple(parts)),))


def title(comparison: Comparison) -> str:
    """Return the title: models, machines, sizes and setting."""
    first = comparison.rows[0]
    models = comparison.models
    targets = len({r.verdict.target for r in comparison.rows})
    ways = list(dict.fromkeys(way(r) for r in comparison.rows))
    sizes = "".join(
        f", {first.labels.get(name, name)} = {size}" for name, size in first.sizes.items()
    )
    # models may have different symbols: the sizes of the first model would mislead
    if len(models) > 1:
        sizes = ""
    how = ways[0] if len(ways) == 1 else f"{len(ways)} settings"
    what = models[0] if len(models) == 1 else plural(len(models), "model")
    return f"{what} on {plural(targets, 'machine')}{sizes}, {how}"


def way(row: Row) -> str:
    """Return runtime and precision of a row."""
    return f"{row.runtime}, {row.dtype}" if row.dtype else row.runtime


def recommendations(comparison: Comparison) -> Iterator[str]:
    """Yield the best rows of each model by time, price and energy, and the number of ties.

    Only rows that run, fit in memory and are predicted to meet ``slo_s`` are considered.
    """
    # predictions of the same run have no best
    for model in () if comparison.has_predictors else comparison.models:
        start = f"{model}: " if len(comparison.models) > 1 else ""
        yield from (start + words for words in _best(comparison, model))


def _best(comparison: Comparison, model: str) -> Iterator[str]:
    """Yield the best rows of one model, and the number of ties."""
    limit_s = math.inf if comparison.slo_s is None else comparison.slo_s
    every = [r for r in comparison.rows if r.verdict.model == model]
    rows = [r for r in every if r.competes(limit_s)]
    # the best of two rows is obvious
    if len(every) < 3 or not rows:
        return
    fastest = min(rows, key=lambda r: r.time_s)
    best = [f"fastest {_named(fastest, every)} ({time_text(fastest.time_s)})"]
    priced = [r for r in rows if r.price_per_million is not None]
    if priced:
        cheapest = min(priced, key=lambda r: r.price_per_million or math.inf)
        best.append(f"cheapest {_named(cheapest, every)} ({price(cheapest)} per million)")
    metered = [r for r in rows if r.energy_j is not None]
    if metered:
        least = min(metered, key=lambda r: r.energy_j or math.inf)
        best.append(f"least energy {_named(least, every)} ({energy(least)})")
    yield "; ".join(best)
    # less one for the fastest row itself
    ties = sum(r.verdict.expected.low <= fastest.time_s for r in rows) - 1
    if ties and comparison.is_predicted:
        theirs = "its interval includes" if ties == 1 else "their intervals include"
        yield f"{plural(ties, 'other')} may be as fast: {theirs} the fastest time"


def _named(row: Row, rows: Sequence[Row]) -> str:
    """Return the machine of a row, with runtime and precision where rows differ in them."""
    varied = (attrgetter(name)(row) for name in ("runtime", "dtype") if _differ(rows, name))
    return " ".join((row.verdict.target, *varied))


def energy(row: Row) -> str:
    """Format the energy of a run."""
    return quantity(row.energy_j or 0.0, Unit.JOULE)


def table(comparison: Comparison, *, has_bars: bool = False) -> Table:
    """Return the table; columns that are equal in all rows or unknown are omitted."""
    return tabulate(columns(comparison, has_bars=has_bars), comparison.rows)


def columns(comparison: Comparison, *, has_bars: bool) -> Iterator[Column]:
    """Yield the columns of known and differing values."""
    rows = comparison.rows
    longest_s = max((r.time_s for r in rows), default=0.0)
    if _differ(rows, "verdict.model"):
        yield Column("model", is_name=True, cell=attrgetter("verdict.model"))
    yield Column("target", cell=target)
    if _differ(rows, "runtime"):
        yield Column("runtime")
    if _differ(rows, "dtype"):
        yield Column("dtype", "type", cell=lambda r: r.dtype or "as stored")
    if comparison.has_predictors:
        yield Column("predictor", cell=lambda r: r.predictor or BEST)
    time = "predicted" if comparison.is_predicted else "sustained"
    yield Column(
        "time_s", time, cell=lambda r: Amount(r.time_s, Unit.SECOND, is_bound=r.verdict.is_bound)
    )
    if has_bars:
        yield Column("bar", "", is_spare=True, cell=lambda r: bar(r.time_s, longest_s))
    if comparison.is_predicted:
        yield Column("interval", INTERVAL, is_spare=True, cell=interval)
    yield Column(
        "floor_s", LOWER_BOUND, is_spare=True, cell=lambda r: in_seconds(r.verdict.floor_s)
    )
    items = {r.verdict.throughput.item.value for r in rows}
    per_s = f"{items.pop()}/s" if len(items) == 1 else "items/s"
    yield Column(
        "items_per_s", per_s, cell=lambda r: Amount(r.verdict.throughput.per_s, Unit.COUNT)
    )
    if any(r.energy_j is not None for r in rows) and not comparison.has_predictors:
        yield Column("energy_j", "energy", cell=lambda r: Amount(r.energy_j, Unit.JOULE))
    yield Column("memory_bytes", "memory", is_spare=True, cell=memory)
    if comparison.slo_s is not None:
        limit_s = comparison.slo_s
        name = f"in {time_text(limit_s)}"
        yield Column("in_time", name, cell=lambda r: r.standing(limit_s).value)
    if any(r.price is not None for r in rows) and not comparison.has_predictors:
        yield Column("price", f"{comparison.currency or 'price'}/million".strip(), cell=price)
    if comparison.region is not None and any(r.energy_j is not None for r in rows):
        yield Column("carbon", "CO2/million", cell=carbon)
    if comparison.is_predicted:
        yield Column(
            "confidence",
            cell=lambda r: r.verdict.confidence.grade.value if r.verdict.confidence else "",
        )
    yield Column(
        "limited_by",
        "limited by",
        is_spare=True,
        cell=lambda r: r.verdict.limits[0].title if r.verdict.limits else "",
    )


def _differ(rows: Sequence[Row], name: str) -> bool:
    """Return True if rows have several values of an attribute."""
    return len(set(map(attrgetter(name), rows))) > 1


def target(row: Row) -> str:
    """Return the machine; one that does not have the runtime is marked."""
    return f"{row.verdict.target} (what-if)" if row.what_if else row.verdict.target


def interval(row: Row) -> str:
    """Format the prediction interval."""
    time = row.verdict.expected
    low, high = time_text(time.low), time_text(time.high)
    # one unit is written once: 1.2–3.4 ms
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(f" {unit}") else f"{low}–{high}"


def memory(row: Row) -> str:
    """Format the memory of a run; runs that do not fit are marked."""
    need = row.verdict.memory
    text = ("≥ " if need.is_bound else "") + size_text(need.total_bytes)
    return text if row.fits else f"{text}, does not fit"


def price(row: Row) -> str:
    """Format the price of a million items; other than list prices are marked."""
    amount, offer = row.price_per_million, row.price
    if amount is None or offer is None:
        return "—"
    is_plain = offer.market in (Market.LIST, Market.OWN)
    return f"{amount:.3g} {offer.currency}" + ("" if is_plain else f" ({offer.market.value})")


def carbon(row: Row) -> str:
    """Format the CO2 of a million items."""
    grams = row.bill_per_million.carbon_g
    return "—" if grams is None else mass(grams.mid)


def bar(value: float, longest: float) -> str:
    """Draw a number as a bar of characters."""
    # at least one eighth, as a row without a bar would look like a missing value
    eighths = round(8 * BAR * value / longest) if longest else 0
    whole, part = divmod(max(eighths, 1), 8)
    return "█" * whole + (EIGHTHS[part - 1] if part else "")


def what_ifs(rows: Iterable[Row]) -> Iterator[tuple[str, bool]]:
    """Yield a warning for each runtime about the machines on which it does not run."""
    machines: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.what_if:
            machines.setdefault(row.runtime, {})[row.verdict.target] = None
    for runtime, targets in machines.items():
        yield f"what-if: {runtime} does not run on {', '.join(targets)}", True


def notes(comparison: Comparison) -> Iterator[tuple[str, bool]]:
    """Yield the notes below the table, each with a flag for warnings."""
    assumed = {
        r.labels.get(name, name): size
        for r in comparison.rows
        for name, size in r.sizes.items()
        if name not in r.given
    }
    if assumed:
        sizes = ", ".join(f"{name} = {size}" for name, size in assumed.items())
        yield f"assumed, set with --batch, --seq and --dim: {sizes}", False
    yield from ((f"left out: {text}", False) for text in comparison.left_out)
    settings = dict.fromkeys((row.verdict.target, row.dtype) for row in comparison.rows)
    emulations = (emulated(load_machine(target), [dtype]) for target, dtype in settings)
    yield from dict.fromkeys((words, True) for words in emulations if words)
    yield from what_ifs(comparison.rows)
    if comparison.slo_s is not None:
        limit = time_text(comparison.slo_s)
        if not comparison.holds:
            but = ", what-ifs aside" if any(r.what_if for r in comparison.rows) else ""
            yield f"no row has a predicted time of {limit} or less{but}", True
        elif any(r.standing(comparison.slo_s) is LimitStatus.LIKELY for r in comparison.rows):
            words = f"the predicted time is within {limit}, its {INTERVAL} is not"
            yield f"likely: {words}", False
    rows = () if comparison.has_predictors else comparison.rows
    priced = {r.verdict.target: r.price for r in rows if r.price is not None}
    for p in dict.fromkeys(priced.values()):
        targets = ", ".join(t for t, other in priced.items() if other == p)
        yield f"{p.per_hour:g} {p.currency} per hour for {targets}: {p.source}, {p.date}", False
    if priced:
        items = " or ".join(dict.fromkeys(r.verdict.throughput.item.value for r in comparison.rows))
        yield f"prices are per million {items} on a fully used machine", False
    if len({p.market for p in priced.values() if p is not None}) > 1:
        yield "prices from different kinds of sellers are not comparable", True
    if comparison.region is not None:
        bill, where = comparison.rows[0].bill_per_million, comparison.region
        grams = f"{where.carbon_g_per_kwh:g} g per kWh, {where.source}, {where.date}"
        whole = f"board, host and data center (PUE {bill.pue:g})"
        yield f"CO2 of {whole} in {where.name}: {grams}", False
    if comparison.order is Order.GIVEN or len(comparison.rows) < 2:
        return
    several = "each model " if len(comparison.models) > 1 else ""
    last = "rows that do not fit" + (" and what-ifs" * any(r.what_if for r in comparison.rows))
    yield f"{several}sorted by {comparison.order.value}; {last} come last", False
