"""Answer ``perfc llm --predictor trees``: throughput, memory and energy by the shipped trees.

They are those of Chapter 6 of K. Panner Selvam's thesis, trained on all rows by `weights.train`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs.prediction import PredictionTable
from perfc.api import analyze
from perfc.errors import ParseError
from perfc.frontend.config import ForwardStep, LanguageModel, lower
from perfc.frontend.config.facts import parameters
from perfc.frontend.config.lowering.step import BATCH, SEQ
from perfc.machine import load_machine
from perfc.machine.parallel import ALONE
from perfc.serving.output.published import ModelRun, PublishedPrediction, QuantityPrediction

from ...serving import ServedRow
from ..folds import HeldOutKind
from ..rows import RUNTIMES, Target, features_of
from .passes import is_encoder, pass_of, precision_name, with_precision
from .weights import ServingTrees, TreeFamily, read

FOLDER = Path(__file__).with_name("forests")
"""Folder of the shipped trees."""
TITLE = "Trees for language models (Panner Selvam, thesis, Chapter 6)"
# runtime of runs that name none
USUAL = RUNTIMES[0]
PARAMETER_BYTES: Mapping[str, float] = {"f32": 4.0, "f16": 2.0, "bf16": 2.0}
"""Bytes of a parameter; other formats have 4 bits or more."""


def predict(run: ModelRun) -> PublishedPrediction:
    """Predict a served model, or a pass of an encoder over a batch of sequences.

    Memory is that of an eager process with the keys and values of all sequences, as no served row
    states any.

    Raises:
        ParseError: trees are missing or damaged, or the target is no GPU.
    """
    if load_machine(run.target).kind == "cpu":
        raise ParseError("trees are fitted to runs on GPUs", where="--target")
    precision = run.weights or precision_name(run.model)
    model, encodes = with_precision(run.model, precision), is_encoder(run.model)
    run = replace(run, model=model)
    of_pass = pass_of(
        model.name,
        run.target,
        precision,
        run.batch,
        run.isl if encodes else run.isl + run.osl,
    )
    family = TreeFamily.PASSES if encodes else TreeFamily.SERVED
    row = of_pass if encodes else served_of(run)
    rate = quantity(run, family, Target.THROUGHPUT, row)
    energy = quantity(run, family, Target.ENERGY, row)
    # trees know no physics: no pass is faster than its lower bound or draws more than the board
    if encodes:
        most = run.batch * run.isl / eager_pass(model, run.target, run.batch, run.isl).total.floor_s
        rate = limited(rate, 0.0, most, "the lower bound of the time")
        board_w = Sheet(load_machine(run.target)).power_w or math.inf
        energy = limited(energy, 0.0, board_w / rate.value, "the power of the board")
    # rows of memory are of processes on one GPU
    is_alone = run.engines == 1 and run.parallel == ALONE
    memory = None
    if is_alone:
        weight_bytes = parameters(model).resident * PARAMETER_BYTES.get(precision, 0.5)
        memory = quantity(run, TreeFamily.PASSES, Target.MEMORY, of_pass)
        memory = limited(memory, weight_bytes, math.inf, "the weights")
    return PublishedPrediction(
        model.name,
        run.target,
        "trees",
        TITLE,
        run.batch,
        run.isl,
        0 if encodes else run.osl,
        rate,
        memory,
        energy,
    )


def limited(given: QuantityPrediction, least: float, most: float, what: str) -> QuantityPrediction:
    """Return a prediction within limits of physics, with a reason if they moved it."""

    def clamped(value: float) -> float:
        return min(max(value, least), most)

    value = clamped(given.value)
    if value == given.value:
        return given
    # an interval may be missing
    low, high = (end and clamped(end) for end in (given.low, given.high))
    reason = f"the trees predict {given.value / value:.3g} times the limit: {what}"
    return replace(given, value=value, low=low, high=high, outside=(*given.outside, reason))


def served_of(run: ModelRun) -> ServedRow:
    """Return the row that a served run would have."""
    divided = run.parallel
    return ServedRow(
        "",  # a row of no table
        run.model.name,
        run.model.name,
        run.target,
        run.runtime or USUAL,
        run.version,
        weights=run.weights,
        cache=run.cache,
        tensor=divided.tensor,
        expert=divided.expert,
        attention_data=divided.attention_data,
        engines=run.engines,
        isl=run.isl,
        osl=run.osl,
        concurrency=run.batch,
        is_static=run.is_offline,
        prefill=(),
        is_eager=False,
        measured={},
    )


def quantity(
    run: ModelRun, family: TreeFamily, target: Target, row: ServedRow
) -> QuantityPrediction:
    """Return a quantity with the interval of rows that were held out in the same way.

    Passes were measured on few machines. Time and energy on another machine are those on a measured
    machine, times the ratio of perfc's predictions for the two.
    """
    trees, ratio = trees_of(family, target), Interval.exactly(1.0)
    kinds, reasons = list[HeldOutKind](), list[str]()
    if run.model.name not in trees.models:
        kinds.append(HeldOutKind.MODEL)
        reasons.append(f"no training row of {run.model.name}")
    if run.target not in trees.machines:
        reason = f"no training row on {run.target}"
        # served rows are of many machines, so that their trees also apply to a new one
        if family is TreeFamily.SERVED:
            kinds.append(HeldOutKind.MACHINE)
        else:
            # of the few measured machines, the first by name stands for the new one
            row = replace(row, target=min(trees.machines))
        if row.target != run.target and target is not Target.MEMORY:
            of_measured, of_target = (
                amount_of(run, name, target) for name in (row.target, run.target)
            )
            ratio = of_target * (1 / of_measured.mid)
            reason += f": {ratio.mid:.3g} times that of {row.target}, by kernels and hosts"
        reasons.append(reason)
    value = trees(trees.completed(features_of(row, run.model)))
    ends = [trees.ends.get(kind.value) for kind in kinds or [HeldOutKind.RANDOM]]
    low = high = None
    # an unseen model on an unseen machine has the factors of both
    if all(end is not None for end in ends):
        low = value * math.prod(end[0] for end in ends if end is not None) * ratio.low
        high = value * math.prod(end[1] for end in ends if end is not None) * ratio.high
    basis = f"trained on {trees.rows:,} rows of {', '.join(trees.tables)}"
    return QuantityPrediction(value * ratio.mid, low, high, basis, tuple(reasons))


def amount_of(run: ModelRun, name: str, target: Target) -> Interval:
    """Return passes per second on a machine, or the joules of a pass, by kernels and host.

    Raises:
        ParseError: the machine has no model of power.
    """
    prediction = eager_pass(run.model, name, run.batch, run.isl)
    if target is Target.THROUGHPUT:
        time = prediction.total
        return Interval(1 / time.high_s, 1 / time.time_s, 1 / time.low_s)
    if prediction.energy is None:
        raise ParseError(f"no power of {name} is known", where="--target")
    return Interval(prediction.energy.low_j, prediction.energy.energy_j, prediction.energy.high_j)


@cache
def eager_pass(model: LanguageModel, target: str, batch: int, length: int) -> PredictionTable:
    """Return the prediction of a pass over sequences in eager PyTorch."""
    module = lower(model, ForwardStep.PREFILL)
    return analyze(module, target, dims={BATCH: batch, SEQ: length}, runtime="eager").prediction


@cache
def trees_of(family: TreeFamily, target: Target) -> ServingTrees:
    """Return the shipped trees of a target."""
    return read(FOLDER, family, target)
