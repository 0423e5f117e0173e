"""Report of a model that is served on GPUs under a load: what ``perfc.llm`` returns.

The fields are also those of the JSON document, in this order.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from perfc.frontend.config import Adapters
from perfc.ir import record
from perfc.ir.record import project
from perfc.machine.parallel import Parallel
from perfc.view.result import Result

from ..cost.drafts import DraftTimes
from ..cost.images import ImageTimes
from ..cost.kv_groups import vllm_kv_tokens
from ..cost.memory import MemoryPlan
from ..engine import Engine
from ..parts import EngineStep, StepPart
from ..power import Expenses
from ..served import BatchTimes, SimulatedLoad
from ..simulation.load import Load
from ..simulation.metrics import Latencies, LoadThroughput

LONGEST = 1 << 24
"""Longest context in tokens that is tried for a model without a limit of positions: 16 Mi."""


WIDEST = 5.0
"""Ratio of upper to lower end above which only the lower end of an interval is printed."""


@record
class ServingMemory:
    """Memory of one GPU.

    Args:
        capacity_bytes: memory of the device as its driver reports it, less the reserve.
        weight_bytes: this GPU's share of the model.
        activation_bytes: activations of the largest step.
        overhead_bytes: contexts, libraries, recorded graphs.
        pool_bytes: the rest, for the KV cache and states.
        kv_bytes_per_token: KV cache bytes per token on one GPU.
        kv_tokens: capacity of the KV cache in tokens; 0 for a model without one.
        largest_concurrency: requests of this load that fit at once.
        largest_context: tokens of the longest single sequence that fits, of the model's positions.
        vllm_kv_tokens: "GPU KV cache size" that vLLM prints; None for another runtime.
    """

    capacity_bytes: float
    weight_bytes: float
    activation_bytes: float
    overhead_bytes: float
    pool_bytes: float
    kv_bytes_per_token: float
    kv_tokens: int
    largest_concurrency: int
    largest_context: int = 0
    vllm_kv_tokens: int | None = None

    @classmethod
    def of(
        cls, engine: Engine, plan: MemoryPlan, load: Load, engines: int, longest: int = 0
    ) -> ServingMemory:
        """Return the view of a plan for a load on ``engines`` engines with separate pools."""
        d = plan.demand
        # each engine has a pool: together they hold as many times the requests
        fitting = engines * plan.sequences(sum(load.longest), load.cached_tokens, load.cached_share)
        return project(
            cls,
            plan,
            weight_bytes=d.weight_bytes,
            activation_bytes=d.activation_bytes,
            kv_bytes_per_token=d.kv_bytes,
            kv_tokens=plan.kv_tokens if d.kv_bytes else 0,
            largest_concurrency=fitting,
            largest_context=plan.longest(engine.model.context or LONGEST),
            vllm_kv_tokens=vllm_kv_tokens(engine, plan.pool_bytes, longest),
        )

    @property
    def pool_name(self) -> str:
        """Return the name of the pool."""
        return "KV cache" if self.kv_bytes_per_token else "pool of states"


@record
class IntervalFactors:
    """Ends of a 90 % prediction interval, as factors on the predicted value."""

    low: float
    high: float

    @property
    def is_unknown(self) -> bool:
        """Return True if the interval is too wide to be an answer."""
        return self.high > WIDEST * self.low


@record
class ServingReport(Result):
    """Predicted serving of a model on GPUs under a load.

    Args:
        model: name of its configuration.
        target: name of the machine.
        runtime: serving runtime.
        version: its version, whose rules hold; by default the newest that was measured.
        measured_versions: major and minor numbers of the versions its host overhead is fitted to.
        parameters: parameters of the model.
        active_parameters: parameters that one token uses.
        weights: format of the linear layers.
        experts: format of the experts if it differs, else "".
        cache: element type of the KV cache.
        parallel: degrees of parallelism of one engine.
        engines: number of identical engines.
        gpus: GPUs of all engines.
        token_budget: token budget of a step of an engine.
        max_num_seqs: maximum concurrent sequences of an engine.
        load: the request load.
        drafts: speculative decoding; None without it.
        adapters: LoRA adapters; None without them.
        images: images per prompt, counted in the load's tokens; None without them.
        memory: memory of one GPU.
        fits: True if the memory holds at least one request of the load.
        latencies: latencies that users see; None if the model does not fit.
        ttft_band: prediction interval of the time to first token.
        tpot_band: prediction interval of the time per output token.
        throughput: throughput of all engines.
        batch: time of requests that arrive at once, with `offline`; None for a server.
        simulated: length of the simulation.
        first_token: parts of the mean time to first token.
        steps: single steps of an engine.
        expenses: energy, carbon and money.
        preempted: number of preempted sequences, when the pool was full.
        notes: what a reader must know.
    """

    layout: ClassVar[str] = "perfc.serving.output.views:SERVED"
    model: str
    target: str
    runtime: str
    version: str
    measured_versions: tuple[str, ...]
    parameters: int
    active_parameters: int
    weights: str
    experts: str
    cache: str
    parallel: Parallel
    engines: int
    gpus: int
    token_budget: int
    max_num_seqs: int
    load: Load
    drafts: DraftTimes | None
    adapters: Adapters | None
    images: ImageTimes | None
    memory: ServingMemory
    fits: bool
    latencies: Latencies | None = None
    ttft_band: IntervalFactors | None = None
    tpot_band: IntervalFactors | None = None
    throughput: LoadThroughput | None = None
    batch: BatchTimes | None = None
    simulated: SimulatedLoad | None = None
    first_token: tuple[StepPart, ...] = ()
    steps: tuple[EngineStep, ...] = ()
    expenses: Expenses | None = None
    preempted: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def prompt(self) -> EngineStep | None:
        """Return the step of a prompt alone; None if the engine also does other work meanwhile."""
        # one stage of several, or one group of several, is not all of the engine
        is_whole = self.parallel.pipeline == self.parallel.attention_data == 1
        return next((s for s in self.steps if s.tokens and not s.decodes and is_whole), None)

    @property
    def input_price_per_million(self) -> float | None:
        """Return the price of a million tokens of a prompt alone; None if it is unknown."""
        spent, rate, step = self.expenses, self.throughput, self.prompt
        if spent is None or rate is None or step is None or spent.price_per_million is None:
            return None
        # the price of a million tokens times tokens per second is that of a million GPU seconds
        per_gpu_s = spent.price_per_million * rate.output_tokens_per_s_per_gpu
        return per_gpu_s * step.time_s * self.parallel.tensor / step.tokens
