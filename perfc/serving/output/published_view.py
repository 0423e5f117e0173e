"""Lay out answers of published predictors for a language model, alone and next to perfc's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from perfc.deployment.prices import Region, region_named
from perfc.deployment.prices.regions import WORLD
from perfc.ir import record
from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Section,
    Table,
    tabulate,
)
from perfc.view.report.units import INTERVAL, Unit, quantity
from perfc.view.result import ResultLayout

from ..simulation.metrics import MILLION
from .published import PublishedPrediction, QuantityPrediction


@record
class QuantityRow:
    """One quantity of a prediction.

    Args:
        name: name of the quantity.
        value: its prediction.
        unit: unit of the value.
        per: what the value counts, as text.
    """

    name: str
    value: QuantityPrediction | None
    unit: Unit
    per: str = ""


def rows_of(p: PublishedPrediction) -> tuple[QuantityRow, ...]:
    """Return throughput, memory and energy."""
    return (
        QuantityRow("throughput", p.tokens_per_s, Unit.COUNT, "in tokens per second"),
        QuantityRow("memory", p.memory_bytes, Unit.BYTE),
        QuantityRow("energy", p.energy_j_per_token, Unit.JOULE, "per token"),
    )


def carbon(p: PublishedPrediction, grid: Region) -> QuantityRow:
    """Return the CO2 that the energy of a million tokens causes, in grams."""
    energy, each_g = p.energy_j_per_token, grid.carbon_g(MILLION)

    def grams(each_j: float) -> float:
        # three digits, as the carbon intensity of the grid has no more
        return float(f"{each_j * each_g:.3g}")

    value = energy and QuantityPrediction(
        grams(energy.value),
        low=None if energy.low is None else grams(energy.low),
        high=None if energy.high is None else grams(energy.high),
        basis=energy.basis,
    )
    where = f"{grid.name} {grid.carbon_g_per_kwh:g} g/kWh"
    return QuantityRow("CO2", value, Unit.NONE, f"in g per million tokens, grid: {where}")


def title(p: PublishedPrediction) -> str:
    """Return model, machine and load."""
    load = f"{p.batch} × {p.isl} tokens" + (f" in, {p.osl} out" if p.osl else "")
    return f"{p.model} on {p.target}, {load}"


def document(prediction: PublishedPrediction, grid: Region | None = None) -> Document:
    """Return the document: one line per quantity, then the training rows and warnings."""
    p = prediction
    facts = [
        Fact(
            row.name,
            Amount(row.value.value, row.unit),
            ", ".join(filter(None, (row.per, interval(row.value, row.unit)))),
        )
        for row in (*rows_of(p), carbon(p, grid or region_named(WORLD)))
        if row.value is not None
    ]
    facts.append(Fact("from", None, p.title))
    shown = Section("published", p.predictor, (Facts(tuple(facts)), *notes(p)))
    return Document(title(p), (shown,))


def notes(p: PublishedPrediction) -> Iterator[Note]:
    """Yield what each quantity is from, then warnings."""
    given_rows = [(row.name, row.value) for row in rows_of(p) if row.value is not None]
    for name, value in given_rows:
        yield Note(f"{name}: {value.basis}")
    for name, value in given_rows:
        for reason in value.outside:
            yield Note(f"{name}: {reason}", is_warning=True)


def interval(value: QuantityPrediction, unit: Unit) -> str:
    """Return the prediction interval as text, or that there is none."""
    if value.low is None or value.high is None:
        return f"no {INTERVAL}: no such rows were held out"
    return f"{INTERVAL} {quantity(value.low, unit)} to {quantity(value.high, unit)}"


def compared(known: Sequence[PublishedPrediction], grid: Region) -> Table:
    """Return a row per quantity with the value and the interval of each prediction.

    Args:
        known: predictions of one run.
        grid: electricity grid of the CO2.
    """
    columns = [Column("quantity", "", is_name=True, cell=lambda sides: _label(sides[0]))]
    for side, key in enumerate(p.predictor for p in known):
        columns.append(Column(key, cell=partial(_number, side=side, end="value")))
        for end in ("low", "high"):
            columns.append(Column(f"{key}_{end}", end, cell=partial(_number, side=side, end=end)))
    sides = ((*rows_of(p), carbon(p, grid)) for p in known)
    return tabulate(columns, zip(*sides, strict=True))


def _label(row: QuantityRow) -> str:
    """Return the name of a quantity with what it counts."""
    return " ".join(filter(None, (row.name, row.per)))


def _number(sides: Sequence[QuantityRow], side: int, end: str) -> Amount:
    """Return a quantity of one prediction: ``end`` is ``value``, ``low`` or ``high``."""
    return Amount(getattr(sides[side].value, end, None), sides[side].unit)


LAYOUT = ResultLayout("perfc-llm-published/1", PublishedPrediction, document)
