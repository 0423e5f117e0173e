"""Fit host models to fixed batches: shipped ones to all rows, others without one model each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from perfc.errors import PerfcError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.ir.record import record
from perfc.machine import load_machine
from perfc.serving import host
from perfc.serving.engine import Engine
from perfc.serving.host import BENCH, LEARNED, ROCM, HostModel, host_models
from perfc.serving.service import engine_for
from perfc.serving.simulation.arrivals import drawn_workload

from . import ServedRow, ServingQuantity
from .batches import LLAMA_CPP, MACHINES, TABLE, VLLM, BatchAnswer, FixedBatch, answered
from .learn import fitted, fold_of_model
from .replay import ReplayedNumber, recorded
from .scores import edges_of_unseen

LAUNCH_S = 4e-5
"""Host time to launch a kernel of a step with prompts; vLLM's other host models have the same."""
VERSIONS = {VLLM: ("0.5", "0.6")}
"""Versions of a runtime that the publisher of the table names."""
# numbers of a host model that are multiplied by a number of sequences
OF_SEQUENCES = ("prompt_s", "sequence_s", "few_s")


def law_name(row: FixedBatch) -> str:
    """Return the name of the host model that a row trains; "" for runtimes with other rows."""
    platform = ROCM if row.target == MACHINES["MI300X"] else ""
    if row.is_single:
        return f"{LLAMA_CPP}{platform}"
    return f"{VLLM}{platform}{BENCH} 0.6" if row.runtime == VLLM else ""


@record
class BatchSample:
    """A row with the amounts that a host model multiplies, which `learn` fits."""

    row: FixedBatch
    number: ReplayedNumber


def sampled(rows: Sequence[FixedBatch]) -> tuple[BatchSample, ...]:
    """Return the rows that train a host model, with their amounts; rows that fail are left out."""
    result: list[BatchSample] = []
    for row in rows:
        if law_name(row):
            try:
                result.append(BatchSample(row, _replayed(row)))
            except PerfcError:
                continue
    return tuple(result)


def _replayed(row: FixedBatch) -> ReplayedNumber:
    """Return a row's amounts, from a simulation of its engine whose host takes only launches."""
    model = read_config(row.model)
    is_single = row.is_single
    # llama.cpp divides layers over GPUs (pipeline stages), others the products
    engine = Engine.of(
        model,
        load_machine(row.target),
        precision_of(model.dtype, None, "f16"),
        Parallel(1, row.gpus) if is_single else Parallel(row.gpus),
        row.runtime,
        row.version,
        law=HostModel(launch_s=0.0 if is_single else LAUNCH_S),
        token_budget=row.batch if is_single else None,
        longest=2 * row.tokens,
    )
    sequences = 1 if is_single else row.batch
    work = drawn_workload(sequences, row.tokens, row.tokens, count=sequences)
    _, history = recorded(work, engine.limits(row.tokens, row.tokens, 1), engine)
    # with one sequence, the cost per sequence is not separable from that per step
    counted = [
        0.0 if is_single and n in OF_SEQUENCES else a
        for n, a in zip(LEARNED, history[-1], strict=True)
    ]
    served = ServedRow(
        TABLE,
        row.command(),
        row.model,
        row.target,
        row.runtime,
        row.version,
        "f16",
        cache="",
        tensor=row.gpus,
        expert=1,
        attention_data=1,
        engines=1,
        isl=row.tokens,
        osl=row.tokens,
        concurrency=sequences,
        is_static=False,
        prefill=(),
        is_eager=False,
        measured={ServingQuantity.TOKENS_PER_S: sequences * row.tokens / row.time_s},
        requests=sequences,
    )
    return ReplayedNumber(served, ServingQuantity.TOKENS_PER_S, tuple(counted), row.time_s)


Ratios = Mapping[str, Sequence[tuple[str, float]]]
"""By host model: the model of each row, and its measured over predicted time."""
NO_RATIOS: Ratios = {}


def laws_of(samples: Sequence[BatchSample], ratios: Ratios = NO_RATIOS) -> dict[str, HostModel]:
    """Return the host models of samples; ``ratios`` of models left out give their intervals."""
    result: dict[str, HostModel] = {}
    for name in dict.fromkeys(law_name(s.row) for s in samples):
        same = [s for s in samples if law_name(s.row) == name]
        # prompts of llama.cpp in chunks of one token are left out: their times are no sum of these
        # amounts
        law = fitted([s.number for s in same if s.row.batch > 1 or not s.row.is_single])
        # without ratios, as while ratios are computed: the default of the lower end, and 1
        low, high = edges_of_unseen(ratios[name]) if ratios.get(name) else (law.tpot_low, 1.0)
        result[name] = replace(
            law,
            launch_s=LAUNCH_S if name.startswith(VLLM) else 0.0,
            tpot_low=min(low, 1.0),  # the prediction lies in its interval
            tpot_high=max(high, 1.0),
            rows=len(same),
            models=tuple(sorted({s.row.model for s in same})),
            source=TABLE,
            versions=VERSIONS.get(same[0].row.runtime, ()),
        )
    return result


def left_out(
    rows: Sequence[FixedBatch], samples: Sequence[BatchSample], ratios: Ratios = NO_RATIOS
) -> Iterator[BatchAnswer]:
    """Yield the answers of `perfc.llm` to rows, each with laws and intervals of other models.

    Rows without an answer are left out.
    """
    for model in dict.fromkeys(fold_of_model(row.model) for row in rows):
        others = {name: [r for r in each if r[0] != model] for name, each in ratios.items()}
        laws = laws_of([s for s in samples if fold_of_model(s.row.model) != model], others)
        with with_laws(laws):
            result = [answered(row) for row in rows if fold_of_model(row.model) == model]
        yield from (a for a in result if isinstance(a, BatchAnswer))


def ratios_of(answers: Sequence[BatchAnswer]) -> Ratios:
    """Return measured over predicted time of the rows that train a host model."""
    result: dict[str, list[tuple[str, float]]] = {}
    for a in answers:
        if name := law_name(a.row):
            ratio = a.row.time_s / a.time_s
            result.setdefault(name, []).append((fold_of_model(a.row.model), ratio))
    return result


def trained(rows: Sequence[FixedBatch]) -> dict[str, HostModel]:
    """Return the host models to ship, with intervals from models left out."""
    samples = sampled(rows)
    learned = [row for row in rows if law_name(row)]
    return laws_of(samples, ratios_of(list(left_out(learned, samples))))


@contextmanager
def with_laws(laws: Mapping[str, HostModel]) -> Iterator[None]:
    """Let `perfc.llm` use other host models, by name; shipped ones of other names remain."""
    all_laws = {**host_models(), **laws}
    with patch.object(host, "host_models", lambda: all_laws):
        # engines in the cache have the other host models, before and after
        engine_for.cache_clear()
        yield
    engine_for.cache_clear()
