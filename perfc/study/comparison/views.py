"""Lay out comparisons as documents: recommendations, table and notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from perfc.machine import load_machine
from perfc.view.report.formats.document import (
    Document,
    Note,
    Part,
    Section,
)
from perfc.view.report.names import emulated
from perfc.view.report.units import (
    INTERVAL,
    plural,
    time_text,
)
from perfc.view.result import ResultLayout

from .fields import COMPARISON, ROW, energy, price
from .order import LimitStatus, Order

if TYPE_CHECKING:
    from .rows import Comparison, Row


def document(comparison: Comparison) -> Document:
    """Return the document: recommendations, table and notes."""
    parts: list[Part] = [Note(text) for text in recommendations(comparison)]
    parts += [ROW.table(comparison.rows, comparison)]
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
    every = [r for r in comparison.rows if r.verdict.model == model]
    rows = [r for r in every if r.competes]
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


def _differ(rows: Sequence[Row], name: str) -> bool:
    """Return True if rows have several values of an attribute."""
    return len(set(map(attrgetter(name), rows))) > 1


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
        elif any(r.in_time is LimitStatus.LIKELY for r in comparison.rows):
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


LAYOUT = ResultLayout(
    "perfc-compare/1", COMPARISON, document, "perfc.study.comparison.page:compare_page", "rows"
)
