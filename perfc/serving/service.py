"""What a program calls: a model on GPUs under a load, answered as one report."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import ClassVar, Unpack

from perfc.errors import ModelError, ParseError
from perfc.expenses import Prices, Region
from perfc.frontend.config import Adapters, LanguageModel, precision_of, read_config
from perfc.ir.record import record
from perfc.machine import NOTHING, Reserve, load_machine
from perfc.parallel import ALONE, Parallel
from perfc.passes.runtimes import SERVING_DEFAULT

from .additions import Additions, of_host, with_additions
from .cost.drafts import DraftsView, Speculation
from .cost.images import ImagesView
from .cost.memory import MemoryPlan
from .engine import Engine
from .host import apart_law
from .notes import beyond_positions, notes_of
from .parts import StepView, steps_of, with_parts
from .power import Expenses, energy_j_per_token, expenses
from .room import would_fit
from .served import BatchView, SimulationView, late_notes, served
from .simulation.load import Load
from .simulation.metrics import Latencies, Throughput, latencies, throughput
from .simulation.simulate import Run

MOST_ENGINES = 1 << 12


@record
class MemoryView:
    """The memory of one GPU.

    Args:
        capacity_bytes: of the device, as its driver reports, less what is held back.
        weight_bytes: of the model's share.
        activation_bytes: of the largest step.
        overhead_bytes: contexts, libraries, recorded graphs.
        pool_bytes: left for keys, values and states.
        kv_bytes_per_token: on one GPU.
        kv_tokens: that the pool holds; 0 of a model without keys and values.
        largest_concurrency: requests of this load that fit at once.
    """

    capacity_bytes: float
    weight_bytes: float
    activation_bytes: float
    overhead_bytes: float
    pool_bytes: float
    kv_bytes_per_token: float
    kv_tokens: int
    largest_concurrency: int

    @classmethod
    def of(cls, plan: MemoryPlan, load: Load, engines: int) -> MemoryView:
        """Of a plan and the requests of a load, on so many engines with pools of their own."""
        d = plan.demand
        return cls(
            plan.capacity_bytes, d.weight_bytes, d.activation_bytes, plan.overhead_bytes,
            plan.pool_bytes, d.kv_bytes, plan.kv_tokens if d.kv_bytes else 0,
            engines * plan.sequences(sum(load.longest), load.cached_tokens, load.cached_share),
        )  # fmt: skip

    @property
    def pool_name(self) -> str:
        """What the pool is called."""
        return "key-value pool" if self.kv_bytes_per_token else "pool of states"


@record
class Band:
    """Ends of the interval that holds nine in ten, as factors of what is expected."""

    low: float
    high: float


@record
class ServingReport:
    """A model served on GPUs under a load.

    Args:
        model: name of its configuration.
        target: name of the machine.
        runtime: that serves it.
        version: of it, "" for the newest that was measured.
        measured_versions: of it, major and minor number, which its host's numbers were fitted to.
        weights: format of the linear layers.
        experts: format of the experts where it is another, else "".
        cache: element type of keys and values.
        parallel: how one engine is divided.
        engines: alike, side by side.
        gpus: of all engines.
        token_budget: of a step of an engine.
        max_num_seqs: of an engine.
        load: what is asked.
        drafts: of speculative decoding; None without it.
        adapters: that requests ask for in turn; None without them.
        images: of each prompt, counted in the load's tokens; None without them.
        memory: of one GPU.
        fits: whether one request of the load can be served at all.
        latencies: what users meet; None where it does not fit.
        ttft_band: interval of the times to the first token.
        tpot_band: interval of the times per token.
        throughput: what is delivered.
        batch: time of requests that come at once, as `offline` has them; None of a server.
        simulated: how long the simulation was.
        steps: single steps of an engine.
        expenses: energy, carbon and money.
        preempted: sequences that were put back, as the pool was full.
        notes: what a reader must know.
    """

    document: ClassVar[str] = "perfc-llm/1"
    model: str
    target: str
    runtime: str
    version: str
    measured_versions: tuple[str, ...]
    weights: str
    experts: str
    cache: str
    parallel: Parallel
    engines: int
    gpus: int
    token_budget: int
    max_num_seqs: int
    load: Load
    drafts: DraftsView | None
    adapters: Adapters | None
    images: ImagesView | None
    memory: MemoryView
    fits: bool
    latencies: Latencies | None = None
    ttft_band: Band | None = None
    tpot_band: Band | None = None
    throughput: Throughput | None = None
    batch: BatchView | None = None
    simulated: SimulationView | None = None
    steps: tuple[StepView, ...] = ()
    expenses: Expenses | None = None
    preempted: int = 0
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, object]:
        """The report as JSON has it."""
        from perfc.report.json_form import enveloped

        return enveloped(self.document, self)


def llm(
    config: str | os.PathLike[str] | LanguageModel, target: str = "h100", *, isl: int = 2048,
    osl: int = 256, concurrency: int = 1, rate: float = 0.0, trace: str | os.PathLike[str] = "",
    spread: float = 0.0, cached_tokens: int = 0, cached_share: float = 1.0, requests: int = 0,
    seed: int = 0, dtype: str = "", kv_dtype: str = "",
    parallel: Parallel | Mapping[str, object] = ALONE, runtime: str = SERVING_DEFAULT,
    runtime_version: str = "", max_num_seqs: int | None = None, token_budget: int | None = None,
    utilization: float | None = None, prefill_gpus: int = 0, draft_tokens: int = 0,
    acceptance: float = 0.0, draft: str | os.PathLike[str] | LanguageModel = "",
    prices: Prices | None = None, grid: Region | None = None, has_parts: bool = False,
    **added: Unpack[Additions],
) -> ServingReport:  # fmt: skip
    """What it costs to serve a language model; the load is that of `Load`.

    Args:
        config: path of a config.json, a folder with one, a shipped name, or what was read of it.
        target: name or file of the machine.
        isl: tokens of a prompt.
        osl: tokens of an answer.
        concurrency: users of a closed loop.
        rate: requests a second instead, that come by themselves.
        trace: file of requests instead, one JSON object a line.
        spread: share by which lengths vary downwards.
        cached_tokens: of a prompt that a prefix cache holds.
        cached_share: of the requests those whose prompts it holds.
        requests: to simulate; 0 for as many as a steady state needs.
        seed: of what is drawn.
        dtype: format of the weights; "" for the published one.
        kv_dtype: of cached keys and values; "" for that of activations.
        parallel: how it is divided, as ``{"tp": 4, "dp": 2}``; ``dp`` engines, each over ``nodes``.
        runtime: vllm, sglang, trtllm, transformers or llamacpp.
        runtime_version: of it; "" for the newest that was measured.
        max_num_seqs: sequences under way; the runtime's default, as the next two.
        token_budget: tokens of a step.
        utilization: share of memory that the engine takes, of what its runtime takes it of.
        prefill_gpus: that compute prompts apart from the decodes; 0 for none.
        draft_tokens: drafted for each sequence before a step verifies them; 0 for none.
        acceptance: probability that a drafted token is kept where those before it were.
        draft: configuration of the model that drafts; "" for the model's own layer.
        prices: of machines; those of target files, and the dated table, by default.
        grid: carbon of electricity; the world's by default.
        has_parts: whether steps say what their time goes to, which takes a little longer.
        added: adapters, images, sampling, experts, `offline`, as `Additions` has them.

    Raises:
        PerfcError: the configuration, the target or a number is none, or nothing divides so.
    """
    model = with_additions(decoder_of(config), runtime, added, has_trace=bool(trace))
    isl += (images := added.get("images", 0)) * (model.tower.tokens if model.tower else 0)
    asked = isl, osl, 0 if rate or trace else concurrency, rate, os.fspath(trace), spread
    load = Load(*asked, cached_tokens, cached_share, requests, seed, added.get("offline", False))
    divided = _degrees(parallel)
    engine, few = _driven(engine_for(
        model, str(load_machine(target).path), dtype, kv_dtype, replace(divided, data=1), runtime,
        runtime_version, max_num_seqs, token_budget, utilization,
        Speculation(draft_tokens, acceptance, decoder_of(draft) if draft else None), images,
        prefill_gpus > 0, *of_host(added), Reserve.parse(added.get("reserve", "")),
    ), load, divided.data)  # fmt: skip
    shown = prices or Prices(), grid, few, has_parts
    return report_of(engine, load.checked(), divided.data, prefill_gpus, *shown)


def _degrees(parallel: Parallel | Mapping[str, object]) -> Parallel:
    """Degrees by which a served model is divided."""
    found = parallel if isinstance(parallel, Parallel) else ALONE.with_values(parallel)
    return found.require_serving()


def decoder_of(config: str | os.PathLike[str] | LanguageModel) -> LanguageModel:
    """The model of a configuration, if it generates tokens.

    Raises:
        ModelError: it does not, or cannot be read.
    """
    model = config if isinstance(config, LanguageModel) else read_config(config)
    if model.decoder is None:
        hint = "`perfc analyze` reads encoders"
        raise ModelError("it generates no tokens", where=model.name, hint=hint)
    return model


def _driven(engine: Engine, load: Load, engines: int) -> tuple[Engine, tuple[str, ...]]:
    """The engine as its load is driven, behind a server or by its own benchmark, with notes."""
    if not load.is_batch:
        return engine, ()
    from .offline import beyond_known, offline, older_than_servers

    each = load.isl, load.osl, math.ceil(load.concurrency / engines)
    driven = offline(engine, *each)
    return driven, (*older_than_servers(driven), *beyond_known(engine, *each))


@lru_cache(maxsize=256)
def engine_for(
    model: LanguageModel, target: str, dtype: str, cache: str, parallel: Parallel,
    runtime: str, version: str = "", seqs: int | None = None, budget: int | None = None,
    utilization: float | None = None, drafts: Speculation = Speculation(),  # noqa: B008
    images: int = 0, is_apart: bool = False, host_launch_s: float | None = None,
    recorded: int | None = None, reserve: Reserve = NOTHING,
) -> Engine:  # fmt: skip
    """Returns one engine as `llm` has it, by the path of its target's file.

    Raises:
        PerfcError: as ``llm``.
    """
    precision = precision_of(model.dtype, model.quantization, dtype, cache)
    return Engine.of(
        model, load_machine(target), precision, parallel, runtime, version,
        law=apart_law(runtime, version) if is_apart else None, speculation=drafts,
        images=images, host_launch_s=host_launch_s, reserve=reserve,
        max_num_seqs=seqs, token_budget=budget, utilization=utilization, recorded_tokens=recorded,
    )  # fmt: skip


def report_of(
    engine: Engine, load: Load, engines: int, prefill_gpus: int, prices: Prices,
    grid: Region | None, more: tuple[str, ...] = (), has_parts: bool = False,
) -> ServingReport:  # fmt: skip
    """The load on so many engines; ``more`` are notes beside its own, steps may have parts.

    Raises:
        PerfcError: as ``llm``.
    """
    if not 1 <= engines <= MOST_ENGINES:
        raise ParseError(f"{engines} engines", where="--dp", hint=f"1 to {MOST_ENGINES}")
    isl, osl = load.longest
    plan = engine.memory(isl, osl)
    gpus = engines * engine.ranks + prefill_gpus
    precision = engine.precision
    base = ServingReport(
        engine.model.name, engine.machine.name, engine.runtime, engine.version,
        engine.law.versions, precision.weights.value,
        precision.experts.value if precision.experts else "",
        precision.cached.code, engine.parallel, engines, gpus, engine.kind.token_budget,
        engine.kind.max_num_seqs, load,
        DraftsView.of(engine.speculation, engine.model), engine.model.adapters,
        ImagesView.of(engine.model, engine.images),
        MemoryView.of(plan, load, engines * engine.parallel.attention_data),
        plan.fits(isl + osl),
    )  # fmt: skip
    beyond = beyond_positions(engine.model, isl + osl)
    if not base.fits:
        remedies = " or ".join(would_fit(engine, isl, osl))
        return replace(base, notes=(*((f"would fit: {remedies}",) if remedies else ()), *beyond))
    found = served(engine, load, engines, prefill_gpus)
    run, rate = found.shares[0].run, throughput(found, gpus)
    tpot_band = _band(engine, run, engine.law.tpot_low, engine.law.tpot_high)
    users = math.ceil(load.concurrency / (engines * engine.parallel.attention_data))
    each_j = energy_j_per_token(found, rate, engine, prefill_gpus)
    steps = steps_of(engine, run, load)
    return replace(
        base,
        latencies=latencies(found.shares, engine.law.before_s),
        ttft_band=_band(engine, run, engine.law.ttft_low, engine.law.ttft_high),
        tpot_band=tpot_band,
        throughput=rate,
        batch=BatchView.of(found, tpot_band.low, tpot_band.high) if load.is_batch else None,
        simulated=SimulationView.of(found),
        steps=with_parts(engine, steps, load) if has_parts else steps,
        expenses=expenses(each_j, rate, engine.machine, prices, grid),
        preempted=sum(share.groups * share.run.preempted for share in found.shares),
        notes=(*late_notes(found, load.rate), *beyond, *notes_of(engine, run, users), *more),
    )  # fmt: skip


def _band(engine: Engine, run: Run, low: float, high: float) -> Band:
    """What held-out runs say, and wider where the kernels of the machine are known less well."""
    stride = max(run.strides, key=lambda s: s.step_s * s.steps)
    at = stride.chunks, stride.decodes, stride.context
    time, least, most = (engine.cost.parts(q, *at).kernels for q in ("time_s", "low_s", "high_s"))
    below = math.hypot(math.log(low), max(0.0, math.log(time / least) - NEAR_BELOW))
    above = math.hypot(math.log(high), max(0.0, math.log(most / time) - NEAR_ABOVE))
    return Band(math.exp(-below), math.exp(above))


NEAR_BELOW, NEAR_ABOVE = 0.15, 0.25
"""Width of kernels' own intervals on machines that were measured, which held-out runs include."""
