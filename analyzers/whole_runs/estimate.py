"""Prediction of a model's whole run by trained weights, with an interval and extrapolation."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from perfc.common.fitted import constants_next_to
from perfc.deployment import Deployment
from perfc.deployment.extents import batch_symbol, described
from perfc.errors import ModelError
from perfc.ir import Env, Module, TensorType, record
from perfc.machine import Machine, load_machine

from ..artefacts.artefact import WeightsError
from ..estimate.interval import Interval
from ..graph.dataset import with_floors
from ..graph.encode import encode_module
from ..graph.model_graph import ModelGraph
from ..graph.predictor import GraphEstimates, GraphPredictor
from ..graph.rows import GraphRow, Measurements, Quantity
from ..graph.weights import GraphCard, read_card
from ..runs.host import host_gap
from ..runs.run_table import stored_element
from ..steps.setting import Setting
from . import shipped
from .physical import MEMORY, PhysicalLimits, moved, raised
from .reach import Extent, reasons

WIDENING, STRANGE_WIDENING = (
    constants_next_to(__file__)[f"{name}_widening"].number for name in ("outside", "machine")
)
"""Factors of the logarithmic half-width of an extrapolated run: outside of the training rows, and
on a machine without rows. ``constants.toml`` in this folder names the rows behind them."""
UNFAMILIAR = "no training graph has a similar structure"
"""Note on a run whose interval the predictor itself has widened."""


@record
class WholeRunEstimate:
    """Prediction of a whole run of a model.

    Args:
        quantity: predicted quantity.
        value: estimate in the unit of the quantity.
        low: lower end of the 90 % interval; NaN if the weights give none.
        high: upper end of the interval.
        floor_s: lower bound of the time.
        outside: reasons why it extrapolates, as text.
        card: card of the weights.
        taken_s: duration of the prediction itself.
        setting: setting of the run.
        batch: number of samples.
        other_quantities: further quantities of the predictor, without intervals.
    """

    quantity: Quantity
    value: float
    low: float
    high: float
    floor_s: float
    outside: tuple[str, ...]
    card: GraphCard = field(repr=False)
    taken_s: float
    setting: Setting
    batch: int
    other_quantities: tuple[tuple[Quantity, float], ...] = ()

    @property
    def predictor(self) -> str:
        """Return the name of the predictor, as commands accept it."""
        return self.card.predictor.replace("_", "-")


def by_card(
    predictor: str,
    source: Module,
    machine: Machine,
    deployment: Deployment,
    env: Env,
    quantity: Quantity = Quantity.TIME,
    *,
    floor_s: float = 0.0,
) -> WholeRunEstimate:
    """Return the estimate by a card file, or by shipped weights of a name and a quantity.

    Args:
        predictor: name of a predictor or path of a card.
        source: module as read.
        machine: target of the run.
        deployment: deployment of the run.
        env: values of the symbols.
        quantity: predicted quantity.
        floor_s: lower bound of the time by an analysis.

    Raises:
        ModelError: no whole runs were measured in such a deployment.
        WeightsError: there are no such weights.
    """
    card = shipped.named(predictor, quantity)
    # refused here: runs on GPUs say nothing of processors, however wide the interval
    if machine.kind == "cpu" and not read_card(card).has_processors:
        raise ModelError("all its runs are of GPUs", hint="--predictor kernels")
    name = shipped.known_name(str(machine.path))
    setting = Setting.of(deployment, stored_element(source))
    setting = shipped.newest(card, name, setting, version=deployment.version)
    return run_of(source, card, machine, setting, env, floor_s)


def run_of(
    source: Module, card: Path, machine: Machine, setting: Setting, env: Env, floor_s: float = 0.0
) -> WholeRunEstimate:
    """Return the estimate at the values of the symbols.

    The batch is the symbol that `batch_symbol` reads from the leading axis of the inputs.
    """
    symbol = batch_symbol(source)
    fixed = {name: value for name, value in env.items() if name != symbol}
    batch = env[symbol] if symbol is not None else None
    return estimate(source, card, str(machine.path), setting, batch, fixed, floor_s=floor_s)


def estimate(
    module: Module,
    card: Path | None,
    target: str,
    setting: Setting,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    *,
    quantity: Quantity = Quantity.TIME,
    floor_s: float = 0.0,
) -> WholeRunEstimate:
    """Predict a run of a module; its one symbol that is not in ``dims`` is the batch.

    Args:
        module: module as read.
        card: card of the weights; by default shipped ones, preferably with rows of the machine.
        target: name or file of the machine.
        setting: setting of the run.
        batch: number of samples; by default that of the model, 1 if its file gives none.
        dims: values of the other symbols.
        quantity: predicted quantity if no card is given.
        floor_s: lower bound of the time by an analysis.

    Raises:
        WeightsError: no such weights, or damaged ones.
        ModelError: unknown symbols besides the batch, or the model is fixed to another batch.
        TargetError: no such machine.
    """
    name = shipped.known_name(target)
    card = card or shipped.covering(name, setting, quantity) or shipped.named("", quantity)
    weights, weights_card = shipped.loaded(card)
    samples = batch_size(module, batch, dims or {})
    # reading the weights is not part of `taken_s`: it happens once per process
    start = time.perf_counter()
    graph = encode_module("model", module, [setting], dims)
    # predictors take data sets: this one has a single row, whose measured time is unknown (NaN)
    (row,) = with_floors(graph, [GraphRow("model", "model", setting, name, samples, math.nan)])
    row = replace(row, floor_s=max(row.floor_s, floor_s))
    data = Measurements("model", {"model": graph}, (row,))
    numbers = weights.estimates(data)
    other = {q: float(values[0]) for q, values in weights.other_quantities(data).items()}
    taken_s = time.perf_counter() - start
    outside, widening = reach_of(weights_card, row, graph, weights, is_far=bool(numbers.far[0]))
    # limits apply after widening, which may move an end of the interval beyond a physical limit
    limits = PhysicalLimits.of(graph, row)
    run, notes = limited(_interval(numbers, card, widening), weights, limits)
    other, other_notes = limits.others(other, run.mid)
    return WholeRunEstimate(
        weights.quantity,
        run.mid,
        run.low,
        run.high,
        row.floor_s,
        (*outside, *notes, *other_notes, *unrecorded(row, limits, run), *unlike(numbers)),
        weights_card,
        taken_s,
        setting,
        samples,
        tuple(other.items()),
    )


def reach_of(
    card: GraphCard, row: GraphRow, graph: ModelGraph, made: GraphPredictor, *, is_far: bool
) -> tuple[tuple[str, ...], float]:
    """Return the reasons why a run extrapolates a card, and the factor that widens its interval.

    ``is_far`` is True if the predictor sees features outside of its training range. A predictor
    that ``reaches_machines`` has intervals from held-out machines, so that a new machine widens
    its interval no more than any other reason.
    """
    is_strange = row.target not in card.targets
    inner = tuple(reasons(card, row, Extent.of(graph, row.batch), by_launch=made.reads_launches))
    if not inner and is_far:
        inner = ("features are outside the training range",)
    outside = (f"no measured whole run on {row.target}", *inner) if is_strange else inner
    # a machine without rows widens more than a setting or a size outside of the rows
    widening = WIDENING if outside else 1.0
    return outside, STRANGE_WIDENING if is_strange and not made.reaches_machines else widening


def _interval(numbers: GraphEstimates, card: Path, widening: float) -> Interval:
    """Return the interval of the single run, widened if it extrapolates.

    Raises:
        WeightsError: the estimate is not positive and finite.
    """
    run = Interval(*(float(x[0]) for x in (numbers.low, numbers.value, numbers.high)))
    if not math.isfinite(run.mid) or run.mid <= 0:
        raise WeightsError(f"a predictor that gives {run.mid}", where=str(card))
    return run.widened(widening)


def limited(
    run: Interval, made: GraphPredictor, limits: PhysicalLimits
) -> tuple[Interval, tuple[str, ...]]:
    """Return a prediction within physical limits, and notes on ends that they changed.

    Predictors that read launches predict device time; others were fitted to runs with their hosts.
    The ends of a predicted time, memory or power have limits; other quantities have none.
    """
    match made.quantity:
        case Quantity.TIME:
            return limits.time(run, is_device_alone=made.reads_launches)
        case Quantity.MEMORY:
            return raised(run, Interval.exactly(limits.memory_bytes), "memory", MEMORY)
        case Quantity.POWER:
            # both ends move with the estimate: the interval is one of ratios
            power_w = limits.power_w(run.mid)
            return run * (power_w / run.mid), tuple(moved(Quantity.POWER, run.mid, power_w))
        case _:
            return run, ()


def unrecorded(row: GraphRow, limits: PhysicalLimits, run: Interval) -> Iterator[str]:
    """Yield a note if a run recorded as a CUDA graph would be longer with launches by its host."""
    machine, setting = load_machine(row.target), row.setting
    # zero host time per launch: the setting takes the run as recorded, and the graph replays it
    is_recorded = machine.kind != "cpu" and setting.compiled and setting.host_launch_s == 0
    # None: the host time per launch that was fitted for this machine
    gap = host_gap(machine, replace(setting, host_launch_s=None))
    longest_s = gap.high * limits.launches
    if is_recorded and longest_s > run.high:
        yield f"launches not recorded take its host up to {1e3 * longest_s:.2g} ms"


def unlike(numbers: GraphEstimates) -> tuple[str, ...]:
    """Return the note that no training graph is similar; () if one is, or if it is not computed."""
    return (UNFAMILIAR,) if numbers.unfamiliar is not None and bool(numbers.unfamiliar[0]) else ()


def batch_size(module: Module, batch: int | None, dims: Mapping[str, int]) -> int:
    """Return the batch, at least 1: that of the one free symbol, else the leading extent.

    Raises:
        ModelError: several free symbols, or a batch that is not the model's.
    """
    if batch is not None and batch < 1:
        raise ModelError(f"a batch of {batch}", where=module.name, hint="1 or more")
    # the batch is the one symbol that the command line leaves free
    free = [s for s in module.symbols if s.name not in dims]
    if len(free) > 1:
        hint = f"give all but the batch, by --seq N or --dim NAME=N, of {described(module)}"
        what = f"{len(free)} symbols without a value: {', '.join(s.name for s in free)}"
        raise ModelError(what, where=module.name, hint=hint)
    if free:
        return max(free[0].default, 1) if batch is None else batch
    # no free symbol: the batch is fixed in the file, as first extent of the first ranked input
    shapes = [v.type.shape for v in module.graph.inputs if isinstance(v.type, TensorType)]
    leading = next((s[0] for s in shapes if s), 1)
    fixed = leading if isinstance(leading, int) else dims.get(str(leading), 1)
    if batch is not None and batch != fixed:
        raise ModelError(
            f"its batch is {fixed}, not {batch}", where=module.name, hint=f"give batch {fixed}"
        )
    return max(fixed, 1)
