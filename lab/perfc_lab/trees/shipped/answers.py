"""``perfc llm --predictor trees``: throughput, memory and energy by the trees of Chapter 6."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from perfc.errors import ParseError
from perfc.frontend.config.facts import parameters
from perfc.machine import load_machine
from perfc.machine.parallel import ALONE
from perfc.serving.output.published import ModelRun, PublishedPrediction, QuantityPrediction

from ...serving import ServedRow
from ..folds import HeldOutKind
from ..rows import RUNTIMES, Target, features_of
from .passes import is_encoder, pass_of, precision_name, with_precision
from .weights import ServingTrees, TreeFamily, read

FOLDER = Path(__file__).with_name("forests")
TITLE = "Trees for language models (Panner Selvam, thesis, Chapter 6)"
USUAL = RUNTIMES[0]
PARAMETER_BYTES: Mapping[str, float] = {"f32": 4.0, "f16": 2.0, "bf16": 2.0}
LEAST_PARAMETER_BYTES = 0.5
"""Bytes of a parameter in the other formats, at least."""


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
    is_alone = run.engines == 1 and run.parallel == ALONE
    memory = None
    if is_alone:
        held = parameters(model).resident * PARAMETER_BYTES.get(precision, LEAST_PARAMETER_BYTES)
        memory = at_least(quantity(run, TreeFamily.PASSES, Target.MEMORY, of_pass), held)
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


def at_least(memory: QuantityPrediction, weight_bytes: float) -> QuantityPrediction:
    """Return a prediction of memory that is not below the bytes of the weights."""
    if memory.value >= weight_bytes:
        return memory
    low, high = (end and max(end, weight_bytes) for end in (memory.low, memory.high))
    reason = f"the weights, as the trees predict less: {memory.value / 2**30:.1f} GiB"
    return replace(
        memory, value=weight_bytes, low=low, high=high, outside=(*memory.outside, reason)
    )


def served_of(run: ModelRun) -> ServedRow:
    """Return the row that a served run would have."""
    divided = run.parallel
    return ServedRow(
        "",
        run.model.name,
        run.model.name,
        run.target,
        run.runtime or USUAL,
        run.version,
        run.weights,
        run.cache,
        divided.tensor,
        divided.expert,
        divided.attention_data,
        run.engines,
        run.isl,
        run.osl,
        run.batch,
        run.is_offline,
        (),
        False,
        {},
    )


def quantity(
    run: ModelRun, family: TreeFamily, target: Target, row: ServedRow
) -> QuantityPrediction:
    """Return a quantity with the interval of rows that were held out in the same way."""
    trees = trees_of(family, target)
    value = trees(trees.completed(features_of(row, run.model)))
    unknown = []
    if run.model.name not in trees.models:
        unknown.append((HeldOutKind.MODEL, f"no training row of {run.model.name}"))
    if run.target not in trees.machines:
        unknown.append((HeldOutKind.MACHINE, f"no training row on {run.target}"))
    kinds = [kind for kind, _ in unknown] or [HeldOutKind.RANDOM]
    ends = [trees.ends.get(kind.value) for kind in kinds]
    low = high = None
    if all(end is not None for end in ends):
        low = value * math.prod(end[0] for end in ends if end is not None)
        high = value * math.prod(end[1] for end in ends if end is not None)
    basis = f"trained on {trees.rows:,} rows of {', '.join(trees.tables)}"
    return QuantityPrediction(value, low, high, basis, tuple(reason for _, reason in unknown))


@cache
def trees_of(family: TreeFamily, target: Target) -> ServingTrees:
    """Return the shipped trees of a target."""
    return read(FOLDER, family, target)
