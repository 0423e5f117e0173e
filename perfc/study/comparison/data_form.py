"""Write comparisons as JSON and CSV.

`RowView` has one field per JSON key and CSV column, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from perfc.ir import record
from perfc.ir.record import project
from perfc.view.report.formats import comma
from perfc.view.report.formats.json_form import document_text

if TYPE_CHECKING:
    from .rows import Comparison, Row

SCHEMA = "perfc-compare/1"
NESTED = ("sizes", "assumed", "limits")
"""Nested fields of a row, which tables omit."""


@record
class RowView:
    """One model on one machine; null if unknown.

    Args:
        model: name of the model.
        target: name of the machine.
        machine: product name of the machine.
        runtime: runtime, with its streams.
        dtype: what-if precision; empty for the model's own.
        time_s: predicted time of a run.
        low_s: lower end of the 90 % prediction interval.
        high_s: upper end of the interval.
        floor_s: lower bound.
        items: items that throughput counts.
        items_per_run: items per run.
        items_per_s: items per second at the predicted time.
        energy_j: energy of a run.
        energy_low_j: lower end of the energy's interval.
        energy_high_j: upper end of the energy's interval.
        memory_bytes: memory of a run.
        capacity_bytes: memory of the machine.
        fits: True if the run fits.
        price_per_hour: price of the machine per hour.
        price_per_million: price of a million items on a fully used machine.
        price_low_per_million: lower end of the price's interval, which is that of the time.
        price_high_per_million: upper end of the price's interval.
        currency: currency of the prices.
        price_source: source of the price.
        price_date: date of the source.
        carbon_g_per_million: CO2 equivalent of a million items: board, host and data center.
        carbon_low_g_per_million: lower end of the interval.
        carbon_high_g_per_million: upper end of the interval.
        region: region of the electricity.
        confidence: grade of confidence in the predicted time.
        confidence_reason: main reason of the grade.
        limited_by: limit that takes most of the time.
        sizes: sizes of symbols by key.
        assumed: symbols with default sizes.
        in_time: whether the run meets ``slo_s``: yes, likely or no.
        limits: shares of the predicted time by limit.
        predictor: requested whole-run predictor; empty for the best available.
    """

    model: str
    target: str
    machine: str
    runtime: str
    dtype: str
    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    items: str
    items_per_run: int
    items_per_s: float
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    memory_bytes: int
    capacity_bytes: int | None
    fits: bool | None
    price_per_hour: float | None
    price_per_million: float | None
    price_low_per_million: float | None
    price_high_per_million: float | None
    currency: str | None
    price_source: str | None
    price_date: str | None
    carbon_g_per_million: float | None
    carbon_low_g_per_million: float | None
    carbon_high_g_per_million: float | None
    region: str
    confidence: str | None
    confidence_reason: str | None
    limited_by: str | None
    sizes: Mapping[str, int]
    assumed: tuple[str, ...]
    in_time: str | None
    limits: Mapping[str, float]
    predictor: str = ""

    @classmethod
    def of(cls, row: Row, slo_s: float | None) -> RowView:
        """Create the view of a row, with its status for ``slo_s``."""
        verdict, price = row.verdict, row.price
        energy, sure, memory = verdict.energy, verdict.confidence, verdict.memory
        million = row.bill_per_million
        cost, carbon = million.price, million.carbon_g
        return project(
            cls,
            row,
            model=verdict.model,
            target=verdict.target,
            machine=verdict.machine,
            low_s=verdict.expected.low,
            high_s=verdict.expected.high,
            floor_s=verdict.floor_s,
            items=verdict.throughput.item.value,
            items_per_run=verdict.throughput.per_run,
            items_per_s=verdict.throughput.per_s,
            energy_low_j=None if energy is None else energy.low,
            energy_high_j=None if energy is None else energy.high,
            memory_bytes=memory.total_bytes,
            capacity_bytes=memory.capacity_bytes,
            fits=memory.fits,
            price_per_hour=None if price is None else price.per_hour,
            price_low_per_million=None if cost is None else cost.low,
            price_high_per_million=None if cost is None else cost.high,
            currency=None if price is None else price.currency,
            price_source=None if price is None else price.source,
            price_date=None if price is None else price.date,
            carbon_g_per_million=None if carbon is None else carbon.mid,
            carbon_low_g_per_million=None if carbon is None else carbon.low,
            carbon_high_g_per_million=None if carbon is None else carbon.high,
            region=million.region.name,
            confidence=sure.grade.value if sure else None,
            confidence_reason=(sure.reason or None) if sure else None,
            limited_by=verdict.limits[0].title if verdict.limits else None,
            sizes=dict(row.sizes),
            assumed=tuple(sorted(row.sizes.keys() - row.given)),
            in_time=None if slo_s is None else row.standing(slo_s).value,
            limits={limit.key: limit.share for limit in verdict.limits},
        )


@record
class ComparisonView:
    """Rows of a comparison in the requested order.

    Args:
        order: sort order.
        slo_s: maximum time of a run; null without one.
        holds: True if a row is predicted to meet it.
        is_predicted: True if times are predictions; otherwise they are at measured rates.
        rows: one row per model, setting and machine.
        left_out: predictors that do not cover the model, each with its reason.
    """

    order: str
    slo_s: float | None
    holds: bool | None
    is_predicted: bool
    rows: tuple[RowView, ...]
    left_out: tuple[str, ...]

    @classmethod
    def of(cls, comparison: Comparison) -> ComparisonView:
        """Create the view of a comparison."""
        holds = comparison.holds if comparison.slo_s is not None else None
        rows = tuple(RowView.of(r, comparison.slo_s) for r in comparison.rows)
        return project(cls, comparison, holds=holds, rows=rows)


def cells(comparison: Comparison) -> tuple[list[str], list[list[Any]]]:
    """Return the names of columns, and one list per row."""
    header = [f.name for f in fields(RowView) if f.name not in NESTED]
    rows = (RowView.of(r, comparison.slo_s) for r in comparison.rows)
    return header, [[getattr(r, name) for name in header] for r in rows]


def to_csv(comparison: Comparison) -> str:
    """Return the rows as CSV."""
    return comma.records(*cells(comparison))


def to_json(comparison: Comparison) -> str:
    """Return the comparison as JSON, including sizes of symbols."""
    return document_text(SCHEMA, ComparisonView.of(comparison))
