"""Fields of comparisons: those of a row, in the order of JSON and CSV, and those of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from perfc.deployment.prices import Market
from perfc.view.report.formats.document import Amount
from perfc.view.report.units import (
    DASH,
    INTERVAL,
    LOWER_BOUND,
    Unit,
    quantity,
    size_text,
    time_text,
)
from perfc.view.result import Field, Fields, Show

from .amounts import mass
from .rows import Comparison, Row

if TYPE_CHECKING:
    from perfc.view.report.formats.document import Cell

PARTS = ("sizes", "assumed", "limits")
"""Fields that have parts, which are no columns."""
BEST = "best available"
"""Words for the predictor of a row without a requested one."""


def target(row: Row) -> str:
    """Return the machine; one that does not have the runtime is marked."""
    return f"{row.verdict.target} (what-if)" if row.what_if else row.verdict.target


def sustained(result: Any) -> str:
    """Return the title of times, which are predicted or at measured rates."""
    return "predicted" if result.is_predicted else "sustained"


def time(row: Row) -> Cell:
    """Return the time of a run, a bound if its counts are."""
    return Amount(row.time_s, Unit.SECOND, is_bound=row.verdict.is_bound)


def interval(row: Row) -> str:
    """Format the prediction interval."""
    expected = row.verdict.expected
    low, high = time_text(expected.low), time_text(expected.high)
    # one unit is written once: 1.2–3.4 ms
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(f" {unit}") else f"{low}–{high}"


def per_s(comparison: Comparison) -> str:
    """Return the title of throughput."""
    items = {r.verdict.throughput.item.value for r in comparison.rows}
    return f"{items.pop()}/s" if len(items) == 1 else "items/s"


def energy(row: Row) -> str:
    """Format the energy of a run."""
    return quantity(row.energy_j, Unit.JOULE)


def memory(row: Row) -> str:
    """Format the memory of a run; runs that do not fit are marked."""
    need = row.verdict.memory
    text = ("≥ " if need.is_bound else "") + size_text(need.total_bytes)
    return text if row.fits else f"{text}, does not fit"


def price(row: Row) -> str:
    """Format the price of a million items; other than list prices are marked."""
    amount, offer = row.price_per_million, row.price
    if amount is None or offer is None:
        return DASH
    is_plain = offer.market in (Market.LIST, Market.OWN)
    return f"{amount:.3g} {offer.currency}" + ("" if is_plain else f" ({offer.market.value})")


def carbon(row: Row) -> str:
    """Format the CO2 of a million items."""
    grams = row.bill_per_million.carbon_g
    return DASH if grams is None else mass(grams.mid)


def is_metered(comparison: Comparison) -> bool:
    """Return True if a row has energy and rows are of several machines."""
    return not comparison.has_predictors and any(r.energy_j is not None for r in comparison.rows)


def is_priced(comparison: Comparison) -> bool:
    """Return True if a row has a price and rows are of several machines."""
    return not comparison.has_predictors and any(r.price is not None for r in comparison.rows)


def confidence_reason(row: Row) -> str | None:
    """Return the main reason of the confidence."""
    sure = row.verdict.confidence
    return sure.reason or None if sure else None


def limited_by(row: Row) -> str | None:
    """Return the limit that takes most of the time."""
    return row.verdict.limits[0].title if row.verdict.limits else None


def limits(row: Row) -> Mapping[str, float]:
    """Return the shares of the time by limit."""
    return {limit.key: limit.share for limit in row.verdict.limits}


def assumed(row: Row) -> tuple[str, ...]:
    """Return the symbols with default sizes."""
    return tuple(sorted(row.sizes.keys() - row.given))


def holds(comparison: Comparison) -> bool | None:
    """Return True if a row meets the maximum time; None without one."""
    return None if comparison.slo_s is None else comparison.holds


ROW = Fields(
    Row,
    {
        "model": Field("verdict.model", show=Show.DIFFERS, is_key=True, is_name=True),
        "target": Field("verdict.target", text=target, is_key=True, title="target"),
        "machine": "verdict.machine",
        "runtime": Field(show=Show.DIFFERS, is_key=True),
        "dtype": Field(
            title="type", show=Show.DIFFERS, text=lambda r: r.dtype or "as stored", is_key=True
        ),
        "time_s": Field(title=sustained, text=time),
        "low_s": Field(
            "verdict.expected.low",
            title=INTERVAL,
            show=lambda c: c.is_predicted,
            text=interval,
            is_spare=True,
        ),
        "high_s": "verdict.expected.high",
        "floor_s": Field("verdict.floor_s", title=LOWER_BOUND, is_spare=True),
        "items": "verdict.throughput.item",
        "items_per_run": "verdict.throughput.per_run",
        "items_per_s": Field("verdict.throughput.per_s", title=per_s, unit=Unit.COUNT),
        "energy_j": Field("verdict.energy.mid", title="energy", show=is_metered, unit=Unit.JOULE),
        "energy_low_j": "verdict.energy.low",
        "energy_high_j": "verdict.energy.high",
        "memory_bytes": Field(
            "verdict.memory.total_bytes", title="memory", text=memory, is_spare=True
        ),
        "capacity_bytes": "verdict.memory.capacity_bytes",
        "fits": "verdict.memory.fits",
        "price_per_hour": "price.per_hour",
        "price_per_million": Field(
            title=lambda c: f"{c.currency or 'price'}/million", show=is_priced, text=price
        ),
        "price_low_per_million": "bill_per_million.price.low",
        "price_high_per_million": "bill_per_million.price.high",
        "currency": "price.currency",
        "price_source": "price.source",
        "price_date": "price.date",
        "carbon_g_per_million": Field(
            "bill_per_million.carbon_g.mid",
            title="CO2/million",
            show=lambda c: c.region is not None and any(r.energy_j is not None for r in c.rows),
            text=carbon,
        ),
        "carbon_low_g_per_million": "bill_per_million.carbon_g.low",
        "carbon_high_g_per_million": "bill_per_million.carbon_g.high",
        "region": "bill_per_million.region.name",
        "confidence": Field("verdict.confidence.grade", show=lambda c: c.is_predicted),
        "confidence_reason": confidence_reason,
        "limited_by": Field(limited_by, title="limited by", is_spare=True),
        "sizes": "sizes",
        "assumed": assumed,
        "in_time": Field(title=lambda c: f"in {time_text(c.slo_s)}", show=Show.KNOWN),
        "limits": limits,
        "predictor": Field(show=Show.DIFFERS, text=lambda r: r.predictor or BEST, is_key=True),
        # those of one model are equal in all rows
        "flop": Field(title="work", show=Show.DIFFERS, unit=Unit.FLOP, is_spare=True),
        "parameters": Field(show=Show.DIFFERS, unit=Unit.COUNT, is_spare=True),
    },
)

COMPARISON = Fields(
    Comparison,
    {
        "order": "order",
        "slo_s": "slo_s",
        "holds": holds,
        "is_predicted": "is_predicted",
        "rows": Field(of=ROW),
        "left_out": "left_out",
    },
)


def types() -> dict[str, type]:
    """Return the types of the values of a row by the names of their columns; text for an enum."""
    from perfc.view.report.formats.json_schema import attribute

    hints = {f.name: attribute(Row, f.path)[0] for f in ROW.of_data}
    # of an optional value the type that it has if it is known
    plain = {name: (get_args(hint) or (hint,))[0] for name, hint in hints.items()}
    return {n: t if t in (float, int, bool) else str for n, t in plain.items() if n not in PARTS}
