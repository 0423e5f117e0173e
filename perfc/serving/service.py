"""Python interface to serving predictions: a model on GPUs under a load, as one report.

`llm` reads the options, builds an `Engine`, simulates the load on it and returns a `ServingReport`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Unpack

from perfc.common.fitted import constants_next_to
from perfc.deployment.prices import Prices, Region
from perfc.errors import ModelError, ParseError
from perfc.frontend.checkpoints.mixes import mix_named
from perfc.frontend.config import LanguageModel, precision_of, read_config
from perfc.frontend.config.facts import parameters
from perfc.machine import Reserve, load_machine
from perfc.machine.parallel import ALONE, Parallel
from perfc.passes.runtimes import Batching, changes
from perfc.view.report.units import plural, size_text

from .additions import longest_of, of_host, with_additions
from .cost.drafts import DraftTimes, Speculation
from .cost.images import ImageTimes
from .cost.mixed_weights import mix_of
from .engine import Engine
from .host import BENCH, disaggregated_host_model, named_host_model
from .options import ServingOptions, split
from .output.notes import beyond_positions, longest_notes, notes_of, starting_notes, wide_notes
from .output.remedies import would_fit
from .output.report import IntervalFactors, ServingMemory, ServingReport
from .parts import first_token, steps_of, with_parts
from .power import energy_j_per_token, expenses
from .served import BatchTimes, SimulatedLoad, late_notes, served
from .simulation.load import Load
from .simulation.metrics import latencies, throughput
from .simulation.simulate import SimulatedRun

MOST_ENGINES = 1 << 12
"""Maximum engines of a fleet; a larger number is a typing error."""
FAR = 1.5
"""Ratio of the users that fit into the KV cache of two versions, above which a note is given."""
NEAR_BELOW, NEAR_ABOVE = constants_next_to(__file__)["near_widths"].numbers
"""Log-widths of kernel intervals on measured machines, already part of held-out intervals."""
DECODER_PROMPT = {"whisper": 4}
"""Tokens that a family's decoder behind an encoder starts with, if not one: Whisper's start,
language, task and times."""


def llm(
    config: str | os.PathLike[str] | LanguageModel,
    target: str = "h100",
    **options: Unpack[ServingOptions],
) -> ServingReport:
    """Predict latency, throughput, memory and cost of serving a language model.

    Args:
        config: path of a config.json, a folder with one, a shipped name, or a loaded model.
        target: name or file of the machine.
        options: load, engine and output, as in `ServingSettings`; adapters, images, sampling,
            experts and ``offline``, as in `Additions`.

    Raises:
        PerfcError: a value is invalid, a file cannot be read, or the model cannot be divided so.

    >>> import perfc
    >>> report = perfc.llm("llama-3.2-1b", "h100", isl=128, osl=16, concurrency=4)
    >>> report.throughput.output_tokens_per_s > 0
    True
    """
    given, added = split(options)
    divided, degrees = _degrees(given["parallel"]), given["prefill_parallel"]
    if degrees and not given["prefill_gpus"]:
        message, hint = "no GPUs compute prompts", "--prefill-gpus gives them"
        raise ParseError(message, where="--prefill-parallel", hint=hint)
    engine = engine_of(config, target, options)
    model, images = engine.model, added.get("images", 0)
    image_tokens = images * (model.tower.tokens if model.tower else 0)
    load = Load(
        isl=DECODER_PROMPT.get(model.family, 1) if model.encoders else given["isl"] + image_tokens,
        osl=given["osl"],
        concurrency=0 if given["rate"] else given["concurrency"],  # a rate has no number of users
        rate=given["rate"],
        trace=os.fspath(given["trace"]),
        spread=given["spread"],
        cached_tokens=given["cached_tokens"],
        cached_share=given["cached_share"],
        requests=given["requests"],
        seed=given["seed"],
        is_batch=added.get("offline", False),
        opening_burst=given["opening_burst"],
    ).resolved()
    engine = _driven(engine, load, divided.data)
    return report_of(
        engine,
        load.checked(),
        divided.data,
        prefill=(given["prefill_gpus"], _degrees(degrees) if degrees else None),
        prices=given["prices"] or Prices(),
        grid=given["grid"],
        has_parts=given["has_parts"],
        longest=longest_of(added, model, load.isl + load.osl),
    )


def engine_of(
    config: str | os.PathLike[str] | LanguageModel, target: str, options: Mapping[str, object]
) -> Engine:
    """Return one engine with the options of `llm`, those of the load ignored.

    Raises:
        PerfcError: as ``llm``.
    """
    given, added = split(options)
    draft, images = given["draft"], added.get("images", 0)
    model = decoder_of(config, added.get("like", ""))
    model = with_additions(model, given["runtime"], added, has_trace=bool(given["trace"]))
    if model.encoders:
        # the prompt is what the encoder reads; the decoder starts with a few tokens
        model = replace(model, source=given["isl"])
    drafts = Speculation(
        given["draft_tokens"], given["acceptance"], decoder_of(draft) if draft else None
    )
    return engine_for(
        model,
        str(load_machine(target).path),
        given["dtype"],
        given["kv_dtype"],
        replace(_degrees(given["parallel"]), data=1),
        given["runtime"],
        given["runtime_version"],
        given["prefill_gpus"] > 0,
        max_num_seqs=given["max_num_seqs"],
        token_budget=given["token_budget"],
        utilization=given["utilization"],
        speculation=drafts,
        images=images,
        reserve=Reserve.parse(added.get("reserve", "")),
        **of_host(added),
    )


def older_notes(
    config: str | LanguageModel, target: str, options: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return a note on the newest older version whose KV cache holds far fewer or more users."""
    engine = engine_of(config, target, options)
    isl, osl = options["isl"], options["osl"]
    users = engine.memory(isl, osl).sequences(isl + osl)
    versions = changes(engine.runtime, engine.kind.assumed)
    # newest change first: the first version that differs much is named
    for older, newer in reversed([*pairwise(versions)]):
        before = engine_of(config, target, {**options, "runtime_version": older})
        plan = before.memory(isl, osl)
        older_users = plan.sequences(isl + osl)
        if max(users, older_users) > FAR * min(users, older_users):
            pool = size_text(max(plan.pool_bytes, 0.0))
            others = plural(older_users, "user")
            return (f"{engine.runtime} before {newer}: pool of {pool}, {others}",)
    return ()


def _degrees(parallel: Parallel | Mapping[str, object] | str) -> Parallel:
    """Return the degrees of parallelism of a served model."""
    if isinstance(parallel, str):
        # [::2] leaves out the separator
        parallel = dict([p.partition("=")[::2] for p in parallel.split(",") if p])
    degrees = parallel if isinstance(parallel, Parallel) else ALONE.with_values(parallel)
    return degrees.require_serving()


def decoder_of(config: str | os.PathLike[str] | LanguageModel, like: str = "") -> LanguageModel:
    """Return the model of a configuration, read like a family, if it generates tokens.

    Raises:
        ModelError: the model does not generate tokens, or the configuration cannot be read.
    """
    model = config if isinstance(config, LanguageModel) else read_config(config, like)
    if model.decoder is None:
        hint = "`perfc analyze` reads encoders"
        raise ModelError("it generates no tokens", where=model.name, hint=hint)
    return model


def _driven(engine: Engine, load: Load, engines: int) -> Engine:
    """Return the engine behind a server or in its offline benchmark.

    If only offline benchmarks of its version were measured, their slowdown applies to a server too.
    """
    name, law = named_host_model(
        engine.runtime,
        engine.version,
        engine.machine.vendor,
        has_experts=engine.model.has_experts,
    )
    # where only benchmarks of its version were measured, the engine has their host model already
    is_of_benchmarks = BENCH in name and engine.law.source == law.source
    if not (load.is_batch or is_of_benchmarks):
        return engine
    from .offline import benchmarked

    return benchmarked(engine, load, math.ceil(load.concurrency / engines), name, law)


@lru_cache(maxsize=1024)
def engine_for(
    model: LanguageModel,
    target: str,
    dtype: str,
    cache: str,
    parallel: Parallel,
    runtime: str,
    version: str = "",
    is_disaggregated: bool = False,
    **more: Any,
) -> Engine:
    """Return one engine by the path of its target's file; ``more`` as `Engine.of` takes it.

    Raises:
        PerfcError: as ``llm``.
    """
    precision = precision_of(model.dtype, model.quantization, dtype, cache)
    if mix := mix_named(dtype):
        precision = replace(precision, stored=mix_of(model, mix))
    # None: `Engine.of` takes the host model of the runtime's servers
    law = disaggregated_host_model(runtime, version) if is_disaggregated else None
    machine = load_machine(target)
    return Engine.of(model, machine, precision, parallel, runtime, version, law=law, **more)


def report_of(
    engine: Engine,
    load: Load,
    engines: int,
    prefill: tuple[int, Parallel | None],
    prices: Prices,
    grid: Region | None,
    has_parts: bool = False,
    longest: int | None = None,
) -> ServingReport:
    """Return the report of a load on ``engines`` engines.

    ``prefill`` is as for `served`; ``has_parts`` breaks the time of steps down; ``longest`` is as
    `longest_of` returns it.

    Raises:
        PerfcError: as ``llm``.
    """
    if not 1 <= engines <= MOST_ENGINES:
        raise ParseError(f"{engines} engines", where="--dp", hint=f"1 to {MOST_ENGINES}")
    load = _with_usual_spread(load, engine)
    isl, osl = load.longest
    gpus, copies = engines * engine.ranks + prefill[0], engines * engine.parallel.attention_data
    base = _without_run(engine, load, engines, gpus, longest or 0)
    largest = base.memory.largest_context
    beyond = (
        *beyond_positions(engine.model, isl + osl),
        *longest_notes(longest, largest),
        *starting_notes(engine, longest, largest),
    )
    if not base.fits:
        remedies = " or ".join(would_fit(engine, max(isl, (longest or 0) - osl), osl))
        return replace(base, notes=(*((f"would fit: {remedies}",) if remedies else ()), *beyond))
    result = served(engine, load, engines, prefill)
    run, rate = result.shares[0].run, throughput(result, gpus)
    tpot_band = _interval_factors(engine, run, engine.law.tpot_low, engine.law.tpot_high)
    users = math.ceil(load.concurrency / copies)
    each_j = energy_j_per_token(result, rate, engine, prefill[0])
    ttft_band = _interval_factors(engine, run, engine.law.ttft_low, engine.law.ttft_high)
    steps = steps_of(engine, run, load)
    times = latencies(result.shares, engine.law.before_s)
    return replace(
        base,
        latencies=times,
        first_token=first_token(engine, load, times.ttft.mean),
        ttft_band=ttft_band,
        tpot_band=tpot_band,
        throughput=rate,
        batch=BatchTimes.of(result, load, tpot_band.low, tpot_band.high) if load.is_batch else None,
        simulated=SimulatedLoad.of(result),
        steps=with_parts(engine, steps, load) if has_parts else steps,
        expenses=expenses(each_j, rate, engine.machine, prices, grid),
        preempted=sum(share.groups * share.run.preempted for share in result.shares),
        notes=(
            *late_notes(result, load.rate),
            *beyond,
            *wide_notes(engine, ttft_band, tpot_band),
            *notes_of(engine, run, load, users),
        ),
    )


def _without_run(
    engine: Engine, load: Load, engines: int, gpus: int, longest: int
) -> ServingReport:
    """Return the report of engines before they serve: model, setting and memory."""
    isl, osl = load.longest
    plan = engine.memory(isl, osl)
    # adapters are no parameters of the model
    precision, counts = engine.precision, parameters(replace(engine.model, adapters=None))
    copies = engines * engine.parallel.attention_data
    memory = ServingMemory.of(engine, plan, load, copies, longest)
    return ServingReport(
        engine.model.name,
        engine.machine.name,
        engine.runtime,
        engine.version or engine.kind.assumed,
        engine.law.versions,  # those that the host model is fitted to
        counts.resident,
        counts.active,
        precision.weights.value,
        precision.experts.value if precision.experts else "",
        precision.cached.code,
        engine.parallel,
        engines,
        gpus,
        engine.kind.token_budget,
        engine.kind.max_num_seqs,
        load,
        drafts=DraftTimes.of(engine.speculation, engine.model),
        adapters=engine.model.adapters,
        images=ImageTimes.of(engine.model, engine.images),
        memory=memory,
        fits=plan.fits(isl + osl) and longest <= memory.largest_context,
    )


def _with_usual_spread(load: Load, engine: Engine) -> Load:
    """Return a load with its spread of lengths.

    0 by default if the engine computes prompts first and all users start at once: they then finish
    and start again together, as in benchmarks of it.
    """
    keeps_bursts = engine.kind.batching is Batching.PROMPTS_FIRST and load.opening_burst > 0
    is_even = load.spread is None and keeps_bursts
    return replace(load, spread=0.0 if is_even else load.length_spread)


def _interval_factors(
    engine: Engine, run: SimulatedRun, low: float, high: float
) -> IntervalFactors:
    """Return the interval of held-out runs, widened if the kernels are less certain."""
    # the kind of step with the largest total time
    stride = max(run.strides, key=lambda s: s.step_s * s.steps)
    sizes = stride.chunks, stride.decodes, stride.context
    mid_s, low_s, high_s = (
        engine.cost.parts(q, *sizes).kernels for q in ("time_s", "low_s", "high_s")
    )
    # independent errors of host and kernels add up as squares; the interval of the host already
    # has kernels as uncertain as those that were measured
    below = math.hypot(math.log(low), max(0.0, math.log(mid_s / low_s) - NEAR_BELOW))
    above = math.hypot(math.log(high), max(0.0, math.log(high_s / mid_s) - NEAR_ABOVE))
    return IntervalFactors(math.exp(-below), math.exp(above))
