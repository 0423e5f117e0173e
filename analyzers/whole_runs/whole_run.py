"""The run as a whole, by a predictor of graphs, where its rows are of such a machine and runtime.

Kernels that are predicted one by one and summed know nothing of what their neighbours leave in
cache, nor of the host between them; a predictor that learned from whole runs does. It answers for
the run's total; kernels keep their own numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.errors import ModelError, PerfcError
from perfc.ir.types import TensorType
from perfc.passes.runtimes import Layout

from ..artefacts.artefact import WeightsError
from ..estimate.estimate import RunEstimate
from ..estimate.interval import Interval
from ..runs.energy import Energy
from ..runs.prediction import PredictionTable
from ..steps.setting import PRECISIONS, Setting, is_measured_whole

if TYPE_CHECKING:
    from pathlib import Path

    from perfc.deployment import Deployment
    from perfc.ir.graph import Module
    from perfc.machine import Machine

    from .estimate import Estimate

KERNELS = "kernels"
"""The predictor that is none of graphs: kernels one by one, summed."""


def with_whole(
    table: PredictionTable,
    source: Module,
    machine: Machine,
    deployment: Deployment,
    *,
    env: Mapping[str, int],
    predictor: str = "",
) -> PredictionTable:
    """The table with the total of a predictor of whole runs.

    Args:
        table: kernels one by one.
        source: the module as read, typed.
        machine: the target.
        deployment: how the model is run.
        env: value of every symbol.
        predictor: name or card of one that is used in any case; by default one whose rows are of
            the machine, way of running and precision, if there is one.

    Raises:
        PerfcError: the predictor asked for is not there, or cannot read the model.
    """
    table = replace(table, notes=(*table.notes, *unheard(deployment)))
    if predictor == KERNELS or not table.kernels:
        return table
    if predictor:
        return joined(table, asked(predictor, source, machine, deployment, env))
    chosen = by_default(machine, deployment, source)
    if chosen is None:
        return table
    try:
        return joined(table, run_of(source, chosen[0], machine, chosen[1], env))
    except WeightsError:
        raise
    except PerfcError as error:
        note = f"the graph predictor cannot read this model ({error}): kernels are summed instead"
        return replace(table, notes=(*table.notes, note))


def unheard(deployment: Deployment) -> Iterator[str]:
    """What a deployment says that predictors of single kernels do not know."""
    if deployment.layout is not Layout.CHANNELS_FIRST:
        yield f"times of single kernels are those of channels first, not {deployment.layout.value}"
    if deployment.runtime_version:
        yield "times of single kernels are those of the newest version that was measured"


def by_default(
    machine: Machine, deployment: Deployment, source: Module
) -> tuple[Path, Setting] | None:
    """The card that knows such runs, and how they were run."""
    is_known = is_measured_whole(deployment.table) and deployment.dtype in PRECISIONS
    if not is_known or machine.kind == "cpu" or element(source) != "f32":
        return None
    from . import shipped

    name = shipped.known_name(str(machine.path))
    setting = Setting.of(deployment)
    card = shipped.covering(name, setting)
    if card is None:
        return None
    return card, shipped.newest(card, name, setting, version=deployment.version)


def asked(
    predictor: str,
    source: Module,
    machine: Machine,
    deployment: Deployment,
    env: Mapping[str, int],
) -> Estimate:
    """The run by a predictor that was asked for, whether or not its rows are of such runs.

    Raises:
        ModelError: no whole runs were ever measured in such a way.
    """
    from ..graph.rows import Quantity
    from . import shipped

    card = shipped.named(predictor)
    try:
        setting = Setting.of(deployment, element(source))
    except ModelError as error:
        error.message = f"{predictor}: {error.message}"
        error.hint += f", or --predictor {KERNELS}"
        raise
    name = shipped.known_name(str(machine.path))
    setting = shipped.newest(card, name, setting, version=deployment.version)
    run = run_of(source, card, machine, setting, env)
    if run.quantity is not Quantity.TIME:
        raise ModelError(
            f"{predictor} predicts {run.quantity.value}, not time", hint="perfc predict"
        )
    return run


def run_of(
    source: Module, card: Path, machine: Machine, setting: Setting, env: Mapping[str, int]
) -> Estimate:
    """The estimate at the values of the symbols, the leading one of the first input the batch."""
    from .estimate import estimate

    symbol = batch_symbol(source)
    fixed = {name: value for name, value in env.items() if name != symbol}
    batch = env[symbol] if symbol is not None else None
    return estimate(source, card, str(machine.path), setting, batch, fixed)


def batch_symbol(source: Module) -> str | None:
    """The symbol that leads the shape of the first input; None where a number does."""
    leading = next(
        (
            v.type.shape[0]
            for v in source.graph.inputs
            if isinstance(v.type, TensorType) and v.type.shape
        ),
        None,
    )
    return next((s.name for s in source.symbols if s.name == str(leading)), None)


def element(source: Module) -> str:
    """Type of the largest stored tensor, which is what a model computes in; "" without any."""
    stored = [v.type for v in source.graph.weights if isinstance(v.type, TensorType)]
    floats = [t for t in stored if t.dtype.is_float]
    largest = max(floats, key=lambda t: t.numel if isinstance(t.numel, int) else 0, default=None)
    return str(largest.dtype) if largest is not None else ""


def joined(table: PredictionTable, run: Estimate) -> PredictionTable:
    """The table with the total of a whole run; its floor is that of the kernels."""
    summed = table.total
    floor_s = max(summed.floor_s, run.floor_s)
    time_s = max(run.value, floor_s)
    low_s = min(max(run.low, floor_s), time_s)
    high_s = max(run.high, time_s)
    if math.isnan(run.low):
        low_s, high_s = floor_s, max(summed.high_s, time_s)
    time = Interval(low_s, time_s, high_s)
    total = RunEstimate(summed.floor_s, time, summed.wait_s, summed.host_s, run.predictor)
    notes = [f"{run.predictor} extrapolates: {reason}" for reason in run.outside]
    return replace(
        table,
        total=total,
        summed=summed,
        whole=words(run),
        notes=(*table.notes, *notes),
        energy=scaled(table.energy, time_s / summed.time_s if summed.time_s else 1.0),
    )


def words(run: Estimate) -> str:
    """Who predicts the whole run, from which rows, run how."""
    setting, card = run.setting, run.card
    how = f"{setting.mode.value}, {setting.precision.value}, {setting.framework}"
    measured = {precision for _, precision, *_ in card.runs}
    if setting.precision.value not in measured and f"amp {setting.precision.value}" in measured:
        how += ", measured under autocast"
    return f"{run.predictor}, learned from {card.rows:,} runs of {card.dataset}, for {how}"


def scaled(energy: Energy | None, ratio: float) -> Energy | None:
    """The kernels' mean power over the time of the whole run."""
    if energy is None:
        return None
    return replace(
        energy, energy_j=energy.energy_j * ratio, low_j=energy.low_j * ratio,
        high_j=energy.high_j * ratio,
    )  # fmt: skip
