"""One model with trained weights: its number, an interval, and whether it lies outside."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import ModelError
from perfc.machine import load_machine

from .datasets import with_floors
from .encode import encode_module
from .rows import GraphRow, Measurements, Quantity
from .weights import GraphCard, load

if TYPE_CHECKING:
    from perfc.ir.graph import Module

    from ..steps.setting import Setting

WIDENING = 2.0
"""Times the half-width (of the logarithm) of what lies outside of what was trained on."""


@dataclass(frozen=True)
class Estimate:
    """What a run of a model is predicted to take.

    Args:
        value: in the unit of the quantity.
        low: end of the nine-in-ten interval; NaN where the weights know none.
        high: its other end.
        floor_s: what no run beats, if the quantity is a time.
        outside: why it extrapolates, in words; empty where it does not.
        card: of the weights.
        represent_s: from the module to arrays.
        predict_s: from arrays to the number.
    """

    quantity: Quantity
    value: float
    low: float
    high: float
    floor_s: float
    outside: tuple[str, ...]
    card: GraphCard
    represent_s: float
    predict_s: float


def estimate(
    module: Module,
    card: Path,
    target: str,
    setting: Setting,
    batch: int,
    dims: Mapping[str, int] | None = None,
) -> Estimate:
    """Predict a run of a module as it was read; its first symbol not in ``dims`` is the batch.

    Args:
        module: as `perfc.frontend.load` gives it.
        card: of the weights, as `perfc train graph` writes it.
        target: name or file of the machine.
        setting: how it is run.
        batch: images or sequences.
        dims: values of the other symbols.

    Raises:
        WeightsError: no such weights, or damaged ones.
        ModelError: the model has symbols besides the batch that nothing is known of.
        TargetError: no such machine.
    """
    made, found = load(card)
    free = [s.name for s in module.symbols if s.name not in (dims or {})]
    if len(free) > 1:
        raise ModelError(
            f"{len(free)} symbols without a value: {', '.join(free)}",
            where=module.name, hint="give all but the batch: --dim NAME=N",
        )  # fmt: skip
    start = time.perf_counter()
    graph = encode_module("model", module, [setting], dims)
    machine = load_machine(target)
    row = GraphRow("model", "model", setting, machine.name, batch, float("nan"))
    row = with_floors(graph, [row])[0]
    data = Measurements("model", {"model": graph}, (row,))
    ready = time.perf_counter()
    numbers = made.estimates(data)
    end = time.perf_counter()
    outside = tuple(reasons(found, row, len(graph.ops)))
    if not outside and bool(numbers.extrapolating[0]):
        outside = ("features lie outside of those trained on",)
    value, low, high = (float(x[0]) for x in (numbers.value, numbers.low, numbers.high))
    if outside:
        low, high = value * (low / value) ** WIDENING, value * (high / value) ** WIDENING
    if made.quantity is Quantity.TIME:
        low = max(low, row.floor_s) if low == low else low
    return Estimate(
        made.quantity, value, low, high, row.floor_s, outside, found, ready - start, end - ready
    )


def reasons(card: GraphCard, row: GraphRow, operators: int) -> Iterator[str]:
    """Why a row lies outside of what a card was trained on."""
    if row.target not in card.targets:
        yield f"nothing was measured on {row.target}"
    if row.part not in card.modes:
        yield f"nothing was measured {row.part}"
    if operators > card.most_operators:
        yield f"{operators:,} operators, the largest trained on has {card.most_operators:,}"


def lines(found: Estimate) -> Sequence[str]:
    """An estimate as a person reads it."""
    unit = found.quantity.value.rpartition("_")[2]
    interval = f", nine in ten within {found.low:.4g} … {found.high:.4g} {unit}"
    return (
        f"{found.value:.4g} {unit}{interval if found.low == found.low else ''}",
        *(f"extrapolating: {reason}" for reason in found.outside),
        *([f"floor {found.floor_s:.4g} s"] if found.quantity is Quantity.TIME else []),
        f"{found.card.predictor} on {found.card.dataset}, {found.card.split}; "
        f"{1e3 * found.represent_s:.0f} ms to represent, {1e3 * found.predict_s:.1f} ms to predict",
    )
