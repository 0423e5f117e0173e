"""A comparison as data: what JSON and CSV say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from perfc.ir.record import record
from perfc.report import comma
from perfc.report.json_form import enveloped, strict

from .rows import Comparison, Row

SCHEMA = "perfc-compare/1"
NESTED = ("sizes", "assumed", "limits")
"""Fields of a row that have no place in a table."""


@record
class RowView:
    """One model run in one way on one machine; null is what nobody knows.

    Args:
        model: as it was named.
        target: name of the machine.
        machine: its description.
        runtime: whose kernels run, with its streams.
        dtype: what-if precision; "" for the model's own.
        time_s: expected time of a run.
        low_s: nine in ten runs take more than this and less than ``high_s``.
        high_s: the upper end.
        floor_s: no run is faster.
        items: what throughput counts.
        items_per_run: of them in a run.
        items_per_s: at the expected time.
        energy_j: of a run.
        energy_low_j: lower end of its range.
        energy_high_j: upper end.
        memory_bytes: that a run needs.
        capacity_bytes: that the machine has.
        fits: whether that is enough.
        price_per_hour: of the machine.
        price_per_million: of a million items, the machine never idle.
        price_low_per_million: lower end of its range, which is that of the time.
        price_high_per_million: upper end.
        currency: of both prices.
        price_source: who states the price.
        price_date: of the statement.
        carbon_g_per_million: CO2 equivalent of a million items: of board, host and centre.
        carbon_low_g_per_million: lower end of its range.
        carbon_high_g_per_million: upper end.
        region: whose electricity it is.
        confidence: grade of the expected time.
        confidence_reason: why it is no other.
        limited_by: what takes most of the time.
        sizes: of symbols, by their keys.
        assumed: symbols whose size nobody gave.
        in_time: how the row stands to the time that a run may take.
        limits: shares of the expected time by what limits it.
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

    @classmethod
    def of(cls, row: Row, slo_s: float | None) -> RowView:
        """What is said of a row, beside the time that a run may take."""
        verdict, price = row.verdict, row.price
        energy, sure, memory = verdict.energy, verdict.confidence, verdict.memory
        million = row.bill_per_million
        cost, carbon = million.price, million.carbon_g
        return cls(
            verdict.model, verdict.target, verdict.machine, row.runtime, row.dtype,
            row.time_s, verdict.expected.low, verdict.expected.high, verdict.floor_s,
            verdict.throughput.item.value, verdict.throughput.per_run, verdict.throughput.per_s,
            row.energy_j,
            None if energy is None else energy.low, None if energy is None else energy.high,
            memory.total_bytes, memory.capacity_bytes, memory.fits,
            None if price is None else price.per_hour, row.price_per_million,
            None if cost is None else cost.low, None if cost is None else cost.high,
            None if price is None else price.currency, None if price is None else price.source,
            None if price is None else price.date,
            None if carbon is None else carbon.mid, None if carbon is None else carbon.low,
            None if carbon is None else carbon.high, million.region.name,
            sure.grade.value if sure else None, (sure.reason or None) if sure else None,
            verdict.limits[0].title if verdict.limits else None,
            dict(row.sizes), tuple(sorted(row.sizes.keys() - row.given)),
            None if slo_s is None else row.standing(slo_s).value,
            {limit.key: limit.share for limit in verdict.limits},
        )  # fmt: skip


@record
class ComparisonView:
    """Rows in the order asked for.

    Args:
        order: what they are sorted by.
        slo_s: time that a run may take; null where nobody said one.
        holds: whether some row is expected to keep it.
        is_predicted: whether times are predictions; else they are at measured rates.
        rows: one for each model, way of running and machine.
    """

    order: str
    slo_s: float | None
    holds: bool | None
    is_predicted: bool
    rows: tuple[RowView, ...]

    @classmethod
    def of(cls, found: Comparison) -> ComparisonView:
        """What is said of a comparison."""
        holds = found.holds if found.slo_s is not None else None
        rows = tuple(RowView.of(r, found.slo_s) for r in found.rows)
        return cls(found.order.value, found.slo_s, holds, found.is_predicted, rows)


def cells(found: Comparison) -> tuple[list[str], list[list[Any]]]:
    """Names of columns, and one line a row."""
    header = [f.name for f in fields(RowView) if f.name not in NESTED]
    rows = (RowView.of(r, found.slo_s) for r in found.rows)
    return header, [[getattr(r, name) for name in header] for r in rows]


def to_csv(found: Comparison) -> str:
    """One line a row."""
    return comma.records(*cells(found))


def to_json(found: Comparison) -> str:
    """Everything, sizes of symbols included."""
    return strict(enveloped(SCHEMA, ComparisonView.of(found)), indent=2) + "\n"
