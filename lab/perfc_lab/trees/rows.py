"""Turn measured rows of served models into features, a target and kernel times for trees.

The trees are those of K. Panner Selvam's thesis, chapter 6, which "the thesis" stands for here.
`rows_of` reads a table; `features_of` also serves a model that was not measured.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.frontend.config import LanguageModel, WeightFormat, precision_of
from perfc.ir.record import record
from perfc.machine import load_machine
from perfc.machine.parallel import ALONE
from perfc_lab.tables import read_parquet

from ..serving import ServedRow, ServingQuantity
from ..serving.aic import AIC, DRAFTS_UNSTATED, UNSTATED
from ..serving.replay import CONFIGS, ReplayedNumber, Unanswered, engine_of, model_of, samples
from ..serving.tables import TABLES
from ..serving.weights import EXPERTS_NVFP4
from .hardware import HARDWARE, hardware_of
from .model_features import MODEL, model_features

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Say = Callable[[str], None]
QWEN = "qwen_speed"
"""Table of one user of Qwen2.5."""
GIB = float(1 << 30)
"""Unit of memory of the table `QWEN`, which names it GB.

In decimal GB, some rows would be less than the model's parameters.
"""
# the position in this list is a feature
RUNTIMES = ("vllm", "sglang", "trtllm", "transformers")
DEPLOYMENT = (
    "GPUs",
    "tensor",
    "expert",
    "data",
    "engines",
    "prompt GPUs",
    "output tokens",
    "static",
    "runtime",
    "version",
    "eager",
    "drafted",
    "workers told",
    "cache bits",
    "day",
)
"""Features that Table 6.3 lacks: the thesis ran one GPU, one framework and no answers.

"workers told" is 1 if the publisher gives the number of workers, which not all do. The day of a run
stands for changes under one version: builds, settings, whether tokens are drafted.
"""
AWQ = "awq"
"""Name of weights in 4-bit integers that AutoAWQ wrote."""
DISAGGREGATED, PARTLY = ", disaggregated", ", partly given"
"""Suffixes of a table's name: the first for rows with disaggregated prefill, the second after it if
the number of their workers or draft tokens is not published."""
# features of a row, in the order that files of trees store
COLUMNS = (*MODEL, *HARDWARE, *DEPLOYMENT)


class Target(Enum):
    """Quantities that chapter 6 predicts, in the units of its rows."""

    THROUGHPUT = "throughput"
    """Output tokens a second of all GPUs."""
    MEMORY = "memory"
    """Maximum bytes of all GPUs together."""
    ENERGY = "energy"
    """Joules an output token."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@record
class TreeRow:
    """One measured number of a served model.

    Args:
        source: name of the table.
        model: name of its configuration, which models of several names may share.
        machine: name of the target.
        target: measured quantity.
        value: measured value.
        features: features in the order of `COLUMNS`.
        served: the published row.
        parts: weighted times, whose sum is the time of ``tokens``. Each has amounts such as steps
            and kernel seconds, which a law that is fitted to a runtime's hosts turns into seconds.
            An energy has two parts that are not summed: that of its kernels, and the time of its
            run, in which boards draw idle power. Empty if no steps are counted.
        tokens: number of tokens in that time.
        expected: bytes of memory as `perfc` computes them; NaN for other targets.
    """

    source: str
    model: str
    machine: str
    target: Target
    value: float
    features: tuple[float, ...]
    served: ServedRow
    parts: tuple[tuple[float, ReplayedNumber], ...] = ()
    tokens: float = 1.0
    expected: float = math.nan


def rows_of(name: str, folder: Path) -> Iterator[TreeRow]:
    """Yield every row of a table that has a configuration, with the times of its kernels.

    Raises:
        DataError: the table is missing.
    """
    for served in (qwen_speed if name == QWEN else TABLES[name])(folder):
        if model_of(served.model) is None:
            continue
        timed: dict[ServingQuantity, float] = {
            q: v for q, v in served.measured.items() if q is not ServingQuantity.MEMORY_BYTES
        }
        counted = samples(replace(served, measured=timed))
        yield from targets_of(served, () if isinstance(counted, Unanswered) else counted)


def targets_of(served: ServedRow, counted: Sequence[ReplayedNumber]) -> Iterator[TreeRow]:
    """Yield the numbers of a row that chapter 6 predicts."""
    # kernel counts by quantity
    counts = {sample.quantity: sample for sample in counted}
    measured, value = served.measured, tokens_per_s(served)
    if ServingQuantity.TOKENS_PER_S in counts:
        sample = counts[ServingQuantity.TOKENS_PER_S]
        # the value of a sample is its time in seconds, also of a throughput
        yield tree_row(served, Target.THROUGHPUT, value, ((1.0, sample),), value * sample.value)
    elif (
        served.source == AIC
        and ServingQuantity.TPOT_S in counts
        and ServingQuantity.TTFT_S in counts
    ):
        # the time of an answer: that of the first token, then one step for each further token
        decodes, tokens = served.osl - 1.0, float(served.concurrency * served.osl)
        parts = ((1.0, counts[ServingQuantity.TTFT_S]), (decodes, counts[ServingQuantity.TPOT_S]))
        yield tree_row(served, Target.THROUGHPUT, value, parts, tokens)
    if ServingQuantity.ENERGY_J in counts:
        # `KernelSum.joules` unpacks the two and reads no weights
        parts = (
            (1.0, counts[ServingQuantity.ENERGY_J]),
            (1.0, counts[ServingQuantity.TOKENS_PER_S]),
        )
        yield tree_row(served, Target.ENERGY, measured[ServingQuantity.ENERGY_J], parts, 1.0)
    if ServingQuantity.MEMORY_BYTES in measured:
        row = tree_row(served, Target.MEMORY, measured[ServingQuantity.MEMORY_BYTES], (), 1.0)
        yield replace(row, expected=expected_bytes(served))


def tokens_per_s(served: ServedRow) -> float:
    """Return the output tokens per second of a row; NaN without them and without both latencies."""
    measured = served.measured
    if ServingQuantity.TOKENS_PER_S in measured:
        return measured[ServingQuantity.TOKENS_PER_S]
    times = [measured.get(q, math.nan) for q in (ServingQuantity.TTFT_S, ServingQuantity.TPOT_S)]
    if served.source != AIC:
        return math.nan
    # a closed loop: each user sends the next request as soon as an answer is complete
    return served.concurrency * served.osl / (times[0] + (served.osl - 1.0) * times[1])


def tree_row(
    served: ServedRow,
    target: Target,
    value: float,
    parts: tuple[tuple[float, ReplayedNumber], ...] = (),
    tokens: float = 1.0,
) -> TreeRow:
    """Return a row with its features; ``source`` names the rows that it is scored with."""
    return TreeRow(
        scored_with(served),
        CONFIGS.get(served.model, served.model),
        served.target,
        target,
        value,
        features_of(served),
        served,
        parts,
        tokens,
    )


def scored_with(served: ServedRow) -> str:
    """Return the name of the group of rows that a row is scored with."""
    if not served.prefill:
        return served.source
    return f"{served.source}{DISAGGREGATED}{PARTLY if is_partly_stated(served) else ''}"


def is_partly_stated(served: ServedRow) -> bool:
    """Return True if the number of prefill workers or of draft tokens of a row is unknown."""
    return served.dataset in (UNSTATED, DRAFTS_UNSTATED)


def expected_bytes(served: ServedRow) -> float:
    """Return weights, caches and tensors of the largest step of one user's request on all GPUs.

    Whole layers are distributed over GPUs, as by transformers: weights and caches are divided, but
    each GPU holds the activations of its largest step. If answers are short, a redundant head of
    the checkpoint takes more memory while loading than steps take later.
    """
    engine = engine_of(
        served.model, served.target, served.weights, served.cache, ALONE, served.runtime
    )
    tokens = served.isl + served.osl
    demand = engine.cost.demand(tokens, served.isl, 1)
    stored_bytes = demand.kv_bytes * tokens + demand.state_bytes
    steps = stored_bytes + served.gpus * demand.activation_bytes
    return demand.weight_bytes + max(steps, redundant_bytes(served))


def redundant_bytes(served: ServedRow) -> float:
    """Return the bytes of a head in a checkpoint of AutoAWQ that equals the token embedding.

    transformers loads it, then ties the two. Source: mlx-lm pull request 1247, "AutoAWQ may still
    ship a redundant quant triple"; vLLM pull request 3344 for such heads in 16 bits. AWQ leaves
    heads as they are.
    """
    model = model_of(served.model)
    stack = model.decoder if model and served.weights == AWQ else None
    if model is None or stack is None:
        return 0.0
    element_bytes = precision_of(model.dtype, model.quantization, AWQ).half.bits / 8
    return sum(element_bytes * stack.hidden * head.width for head in stack.heads if head.is_tied)


def features_of(served: ServedRow, model: LanguageModel | None = None) -> tuple[float, ...]:
    """Return the features of a row in the order of `COLUMNS`.

    Args:
        served: the row.
        model: model of the row; by default the configuration of that name.

    Raises:
        ModelError: the model has no configuration.
    """
    model = model or model_of(served.model)
    assert model is not None
    batch = float(served.concurrency) or math.nan
    weights = WeightFormat.NVFP4.value if served.weights == EXPERTS_NVFP4 else served.weights
    # GPUs of disaggregated prefill: ranks of a worker times workers
    prompts = served.prefill[0] * served.prefill[2] if served.prefill else 0
    return (
        *model_features(model, batch, served.isl, weights),
        *hardware_of(served.target),
        float(served.gpus),
        float(served.tensor),
        float(served.expert),
        float(served.attention_data),
        float(served.engines),
        float(prompts),
        float(served.osl),
        float(served.is_static),
        _place(served.runtime),
        version_number(served.version),
        float(served.is_eager),
        drafted_of(served),
        float(served.dataset != UNSTATED),
        cache_bits(served, model),
        day_number(served.measured_on),
    )


def drafted_of(served: ServedRow) -> float:
    """Return the tokens that a sequence drafts in a step; NaN if that is not published."""
    return math.nan if is_partly_stated(served) else float(served.drafted)


def cache_bits(served: ServedRow, model: LanguageModel) -> float:
    """Return the bits of an element of keys and values."""
    precision = precision_of(model.dtype, model.quantization, "", served.cache)
    return float(precision.cached.bits)


def _place(runtime: str) -> float:
    """Return the position of a runtime in `RUNTIMES`; NaN for another."""
    return float(RUNTIMES.index(runtime)) if runtime in RUNTIMES else math.nan


def version_number(version: str) -> float:
    """Return major, minor and patch version as one number that grows with them; NaN if unknown.

    >>> version_number("post-v1.2.3rc1")
    1002.003
    """
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if match is None:
        return math.nan
    major, minor, patch = (float(part or 0) for part in match.groups())
    return major * 1000 + minor + patch / 1000


def day_number(day: str) -> float:
    """Return the days since the first of our era; NaN for a text that is not like 2026-03-25.

    >>> day_number("2026-03-25") - day_number("2026-02-25")
    28.0
    """
    try:
        return float(date.fromisoformat(day).toordinal())
    except ValueError:
        return math.nan


# formats of weights by the table's names
QWEN_WEIGHTS: Mapping[str, str] = {
    "BF16": "bf16",
    "GPTQ-Int8": "i8",
    "GPTQ-Int4": "gptq",
    "AWQ": AWQ,
}


def qwen_speed(folder: Path) -> Iterator[ServedRow]:
    """Yield ``qwen_speed.parquet``: one user of Qwen2.5 on A100.

    No shipped law is fitted to it.
    """
    target = load_machine("a100-sxm4-80gb").name
    for i, r in enumerate(read_parquet(folder / f"{QWEN}.parquet").itertuples()):
        value = {ServingQuantity.TOKENS_PER_S: float(r.tokens_per_s)}
        if r.memory == r.memory:  # not NaN
            value[ServingQuantity.MEMORY_BYTES] = float(r.memory) * GIB
        name = str(r.model).removesuffix("-Instruct").lower()
        yield ServedRow(
            QWEN,
            f"{r.model} {r.precision} {r.input_tokens} {i}",
            name,
            target,
            "vllm" if r.framework == "vLLM" else "transformers",
            version="",
            weights=QWEN_WEIGHTS[str(r.precision)],
            cache="",
            tensor=int(r.gpus),
            expert=1,
            attention_data=1,
            engines=1,
            isl=max(1, int(r.input_tokens)),
            osl=int(r.output_tokens),
            concurrency=1,
            is_static=False,
            prefill=(),
            is_eager=False,
            measured=value,
            dataset=str(r.precision),
        )
