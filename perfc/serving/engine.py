"""Describe an inference engine with one model: memory, limits and cost of steps for a load."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs.host import launch_cost, launch_gap
from perfc.deployment.device import check_machine
from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, Parallel, ServingPrecision, runnable, verifying
from perfc.ir import dtype_named, frozen
from perfc.machine import CONTEXT_BYTES, NOTHING, Machine, Reserve, capacity_of, load_machine
from perfc.passes.runtimes import EngineKind, LaunchMode, PoolOf, tables
from perfc.passes.runtimes import runtime as table_of

from .cost.conversions import SUSTAINED
from .cost.drafts import DraftedCost, Speculation
from .cost.images import ImagedCost, tower_cost
from .cost.kv_groups import check_blocks, is_sparse, padding_bytes
from .cost.memory import BLOCK_TOKENS, COLLECTIVE_BYTES, GRAPH_BYTES, MemoryPlan
from .cost.stage import KernelRules
from .cost.step import EVERY, StepCost
from .host import HostModel, host_model_of, numbers_of
from .simulation.scheduler import Limits

HOSTED = {
    "host": ("--no-kv-offload", "keys and values"),
    "hosted_layers": ("--n-cpu-moe", "experts"),
}
"""By the name of an override: the flag of its option, and what the host then holds."""


def kind_of(name: str, version: str = "") -> EngineKind:
    """Return the engine description of a runtime by the rules of a version.

    Raises:
        ParseError: the runtime is unknown or does not serve.
    """
    serving = {table.name: table for table in tables() if table.serves}
    kind = serving[name].engine if name in serving else None
    if kind is None:
        hint = f"there are {', '.join(serving)}"
        raise ParseError(f"{name[:32]!r} does not serve", where="--runtime", hint=hint)
    return EngineKind.of(name, version) if numbers_of(version) else kind


def waiting(law: HostModel, host: Interval) -> HostModel:
    """Return a host model with an eager framework's launch cost, which widens TTFT and TPOT."""
    low, high = host.low / host.mid, host.high / host.mid
    return replace(
        law,
        launch_s=host.mid,
        ttft_low=min(law.ttft_low, low),
        ttft_high=max(law.ttft_high, high),
        tpot_low=min(law.tpot_low, low),
        tpot_high=max(law.tpot_high, high),
    )


def run_in(precision: ServingPrecision, machine: Machine, kind: EngineKind) -> ServingPrecision:
    """Return the precision that an engine computes in; eager frameworks run bf16 on any machine."""
    if kind.recording is None:
        return precision
    return runnable(precision, lambda code: not lacks(machine, kind, code))


def with_states(
    precision: ServingPrecision, model: LanguageModel, kind: EngineKind
) -> ServingPrecision:
    """Return the precision with the engine's types of states and of caches for a model."""
    caches = kind.caches
    by_model = "sparse" if caches and is_sparse(model) else ""
    cache_type = caches.get(precision.weights.value) or caches.get(by_model)
    if cache_type and precision.cache is None:
        precision = replace(precision, cache=dtype_named(cache_type))
    # the rule "config f32" means the type that the model's configuration has, or else f32
    rule = kind.states.get(model.family, kind.state)
    rest = rule.removeprefix("config")
    name = (model.state_type if rest != rule else "") or rest.strip()
    return replace(precision, state=dtype_named(name) if name else precision.half)


def host_link(machine: Machine, where: str) -> float:
    """Return the bytes per second of the link to a host.

    Raises:
        ParseError: there is no such link; ``where`` is the option that needs it.
    """
    link = machine.link("host")
    if link is None:
        message = f"{machine.name} has no link to a host"
        raise ParseError(message, where=where, hint="leave it out")
    return link.value


def check_host(kind: EngineKind, runtime: str, machine: Machine, option: str) -> None:
    """Raise an error if no host of an engine can have keys and values, or experts."""
    where, what = HOSTED[option]
    host_link(machine, where)
    if kind.host is None:
        message = f"{runtime} has {what} on its devices"
        raise ParseError(message, where=where, hint="--runtime llamacpp")


def lacks(machine: Machine, kind: EngineKind, code: str) -> bool:
    """Return True if the machine or the engine has no multiply of this element type."""
    return not machine.takes(code) or (bool(kind.multiplies) and code not in kind.multiplies)


@frozen
class Engine:
    """One engine on the ranks that hold one copy of the model.

    Args:
        model: the served model.
        machine: target machine of each rank.
        precision: element types.
        parallel: degrees of parallelism.
        runtime: name of the serving runtime.
        version: version of the runtime; "" for the newest that was measured.
        kind: defaults and limits of the runtime.
        law: fitted host overhead.
        extra_bytes: memory used by other processes, or measured beyond what perfc accounts for.
        speculation: speculative decoding.
        images: images per prompt.
        reserve: memory of each device that is held back.
    """

    model: LanguageModel
    machine: Machine
    precision: ServingPrecision
    parallel: Parallel
    runtime: str
    version: str
    kind: EngineKind
    law: HostModel
    extra_bytes: float = 0.0
    speculation: Speculation = Speculation()
    images: int = 0
    reserve: Reserve = NOTHING

    __eq__ = object.__eq__  # by identity: the tables of a machine cannot be hashed
    __hash__ = object.__hash__

    @classmethod
    def of(
        cls,
        model: LanguageModel,
        machine: Machine,
        precision: ServingPrecision,
        parallel: Parallel,
        runtime: str,
        version: str = "",
        *,
        law: HostModel | None = None,
        speculation: Speculation | None = None,
        images: int = 0,
        host_launch_s: float | None = None,
        reserve: Reserve = NOTHING,
        **overrides: object,
    ) -> Engine:
        """Return an engine with the defaults of its runtime and the given overrides.

        Raises:
            ParseError: ``host_launch_s`` is given for an engine that does not launch each kernel
                from the host, or the largest recorded step for one that records no steps.
        """
        capacity = capacity_of(machine)
        usable = 0 if capacity is None else capacity.usable_bytes
        default_kind = kind_of(runtime, version).on(machine.name, usable, model.family)
        check_machine(table_of(runtime), machine)
        if overrides.get("utilization") is not None:
            # a given share replaces the rule that computes it
            default_kind = replace(default_kind, static=None)
        for option in ("host", "hosted_layers"):
            if overrides.get(option):
                check_host(default_kind, runtime, machine, option)
        kind = replace(default_kind, **{k: v for k, v in overrides.items() if v is not None})  # type: ignore[arg-type]
        if kind.recording is None and kind.recorded_tokens:
            message = f"{runtime} does not record steps as graphs"
            raise ParseError(message, where="--recorded-tokens", hint="leave it out")
        host_law = law if law is not None else host_model_of(runtime, version, machine.vendor)
        if kind.recording is None and not host_law.launch_s:
            host = launch_cost(machine, table_of(runtime), host_launch_s)
            host_law = host_law if host is None else waiting(host_law, host)
        elif host_launch_s is not None:
            message = f"it does not apply to {runtime}, whose host overhead is fitted"
            raise ParseError(message, where="--host-launch", hint="only to transformers")
        if kind.is_compiled:  # one launch per step, which the fitted time of a step includes
            host_law = replace(host_law, launch_s=0.0)
        drafts = (speculation or Speculation()).checked()
        run_precision = with_states(run_in(precision, machine, kind), model, kind)
        return cls(
            model,
            machine,
            run_precision,
            parallel.checked(),
            runtime,
            version,
            kind,
            host_law,
            speculation=drafts,
            images=images,
            reserve=reserve,
        )

    @cached_property
    def cost(self) -> StepCost:
        """Return the cost of the engine's steps.

        Raises:
            ModelError: the model cannot be divided by these degrees.
        """
        is_whole = bool(self.model.encoders)
        if not self.images and not is_whole:
            return self._language_cost
        serving = table_of(self.runtime).serving.value
        tower = tower_cost(
            self.model, self.precision, self.parallel, self.runtime, str(self.machine.path), serving
        )
        return ImagedCost(self._language_cost, tower, self.images or 1, is_whole=is_whole)

    @property
    def _language_cost(self) -> StepCost:
        """Return the cost of the language model in its steps, without the vision tower."""
        drafts = self.speculation
        if not drafts.tokens:
            return self.target_cost
        # every rank of the last stage holds the drafter
        alone = replace(self.parallel, pipeline=1)
        return DraftedCost(
            self._cost_of(verifying(self.model, drafts.tokens), self.parallel, self._hosted_s),
            self._cost_of(drafts.drafter_of(self.model), alone),
            drafts.tokens,
            is_own=drafts.drafter is None,
        )

    @cached_property
    def target_cost(self) -> StepCost:
        """Return the cost of the language model without drafts."""
        return self._cost_of(self.model, self.parallel, self._hosted_s)

    def _cost_of(self, model: LanguageModel, parallel: Parallel, hosted_s: float = 0.0) -> StepCost:
        """Return the cost of the steps of a model, the served one or a drafter."""
        if self.kind.recording is not None:  # eager frameworks have no kernels of blocks
            check_blocks(model, self.precision, parallel)
        serving = table_of(self.runtime).serving.value
        law = replace(self.law, step_s=self.law.step_s + self._extra_launches_s(model))
        return StepCost(
            model,
            self.machine,
            self.precision,
            parallel,
            self.runtime,
            serving,
            law,
            self.version,
            self.kind.most_recorded(model.family, model.drafted),
            self.kind.longest,
            overlaps=self.kind.overlaps_prompts,
            rules=KernelRules(self.kind.fuses_attention, self.kind.widens_beyond, self.kind.host),
            hosted_s=hosted_s,
            reads_chosen=self.kind.reads_chosen,
            on_host=self._link_over_host,
        )

    @cached_property
    def offloaded_bytes(self) -> float:
        """Return the bytes of a rank's weights that stay in host memory."""
        if self.kind.hosted_layers:
            program = self._cost_of(self.model, self.parallel).stages[0][0].passes.decode
            share = self.kind.hosted_layers / self.parallel.pipeline / max(program.mixtures, 1)
            return program.experts_read(EVERY) * min(share, 1.0)
        if not self.kind.offloaded_bytes:
            return 0.0
        weight_bytes = self._cost_of(self.model, self.parallel).demand(1, 1, 1).weight_bytes
        return min(weight_bytes, self.kind.offloaded_bytes)

    @property
    def _link_over_host(self) -> float:
        """Return the rate of the link over that of the host's memory; 0 if it has no experts."""
        if not self.kind.hosted_layers:
            return 0.0
        host_bytes_per_s = SUSTAINED * Sheet(load_machine(self.kind.hosted_by)).device_bytes_per_s
        return host_link(self.machine, "--n-cpu-moe") / host_bytes_per_s

    @property
    def _hosted_s(self) -> float:
        """Return the seconds to read all weights in host memory, one stage after another.

        Raises:
            ParseError: the machine has no link to its host.
        """
        nbytes = self.parallel.pipeline * self.offloaded_bytes
        return nbytes / host_link(self.machine, "--cpu-offload-gb") if nbytes else 0.0

    def _extra_launches_s(self, model: LanguageModel) -> float:
        """Return the launch time of a step's kernels that perfc does not model one by one."""
        count = self.kind.minor_kernels
        if self.precision.weights.bits < self.precision.cached.bits:
            count += self.kind.minor_kernels_quantized
        if not count or model.decoder is None:
            return 0.0
        launch = table_of(self.runtime).launch if self.parallel.pipeline == 1 else LaunchMode.EAGER
        gap_s = launch_gap(self.machine, launch).mid
        return count * len(model.decoder.layers) * gap_s

    @property
    def ranks(self) -> int:
        """Return the number of GPUs of the engine."""
        return self.parallel.ranks

    def memory(self, isl: int, osl: int) -> MemoryPlan:
        """Return the memory plan of one rank for requests of these lengths."""
        capacity, kind = capacity_of(self.machine, self.reserve), self.kind
        usable = capacity.usable_bytes if capacity is not None else 0
        # limits of an engine above these two numbers reserve no more activations
        demand = self.cost.demand(
            isl + osl, min(kind.token_budget, 1 << 16), min(kind.max_num_seqs, 256)
        )
        heads = self.model.decoder.heads if self.model.decoder is not None else ()
        vocabulary = heads[-1].width if heads else 0
        # logits of the largest decode step, if an engine runs it to measure its memory
        profiled = kind.logit_bytes * kind.max_num_seqs * vocabulary
        # a state more for each drafted token, to return to if the token is rejected
        states = 1 + self.speculation.tokens + kind.extra_states
        demand = replace(
            demand,
            activation_bytes=max(demand.activation_bytes, profiled) + self.extra_bytes,
            state_bytes=states * demand.state_bytes,
            weight_bytes=max(demand.weight_bytes + padding_bytes(self) - self.offloaded_bytes, 0.0),
        )
        context, overhead = kind.context_bytes, CONTEXT_BYTES + GRAPH_BYTES
        if kind.joins_ranks and self.ranks > 1:
            overhead += COLLECTIVE_BYTES
        # outside of the share of a device: graphs that it does not count, the rest of a context
        outside = 0.0 if kind.counts_graphs or kind.pool_of is not PoolOf.DEVICE else GRAPH_BYTES
        outside += 0.0 if context is None else CONTEXT_BYTES - context
        host = capacity_of(load_machine(kind.host)) if kind.host else None
        hosted = self.offloaded_bytes + demand.hosted_bytes
        return MemoryPlan(
            float(usable),
            self._share(usable),
            demand,
            overhead,
            pool_of=kind.pool_of,
            outside_bytes=outside,
            host_bytes=host.usable_bytes / self.ranks - hosted if host is not None else None,
        )

    def _share(self, usable_bytes: int) -> float:
        """Return the share of memory that the engine takes: the given one or the default."""
        kind = self.kind
        if kind.static is None or not usable_bytes:
            return kind.utilization
        is_usual = kind.token_budget == kind_of(self.runtime, self.version).token_budget
        tokens = 0 if is_usual else kind.token_budget  # 0 for the default step of the rule
        return kind.static.share(
            usable_bytes / (1 << 20), tokens, self.ranks, self.parallel.attention_data
        )

    def limits(self, isl: int, osl: int, groups: int = 0) -> Limits:
        """Return the scheduling limits of one rank's engine for requests of these lengths.

        Args:
            isl: tokens of the longest prompt.
            osl: tokens of the longest answer.
            groups: request groups that the pipeline's stages interleave; 0 for one per stage.
        """
        plan, kind = self.memory(isl, osl), self.kind
        states = plan.demand.state_bytes
        # every pipeline stage holds its layers' KV cache for the requests of all groups
        groups = groups or self.parallel.pipeline
        # a request takes whole blocks, so up to two more than its tokens
        each = isl + osl + 2 * BLOCK_TOKENS
        # groups share the pool, but one request of this length has room if the pool holds it
        tokens = max(plan.kv_tokens // groups, min(each, plan.kv_tokens))
        seqs = -(-kind.max_num_seqs // groups)
        if states or not plan.demand.kv_bytes:  # states limit sequences, not tokens
            fitting = plan.sequences(isl + osl)
            seqs = min(seqs, max(fitting // groups, min(fitting, 1)))
            tokens = seqs * each
        return Limits(
            seqs,
            kind.token_budget,
            tokens,
            kind.batching,
            reserves_output=kind.reserves_output and not kind.evicts,
            keeps_prefixes=not kind.evicts,
            starts_whole=kind.evicts,
            tokens_per_step=self.speculation.tokens_per_step,
            drafted=self.speculation.tokens,
            is_ahead=kind.is_ahead,
            looks_every=kind.looks_every,
            write_s=self.law.write_s,
        )
