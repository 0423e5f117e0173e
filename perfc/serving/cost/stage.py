"""Cost of a stage of a model in one engine step, at any mix of prompts and decodes.

The model is lowered and fused once. Its kernels are estimated on grids of sizes, a whole grid at
once and equivalent kernels once; a step of any size is interpolated. `StepCost` adds the stages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from perfc.frontend.config import LanguageModel, Parallel, ServingPrecision
from perfc.ir import DType, evaluate
from perfc.machine import Machine, load_machine
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.runtimes import EngineKind
from perfc.passes.runtimes import runtime as table_of

from ..simulation.scheduler import Chunk
from .context import context_costs, lengths, on_host, read_on_host
from .conversions import as_run, longer, score_bytes, widening_s
from .grid import MOST_SIZES, Grid, Parts, Surface, octaves, points
from .grouped import Rereads
from .joint import NEAR, layers_of, relative_to_both
from .launches import Launches, launches_of
from .memory import MemoryDemand, caches_of, held_bytes
from .program import Env, KernelCost, KernelGroups, Passes, Program, estimated_parts, passes_of
from .rates import ANY, KernelRates, attended, limited

# sizes at which costs are estimated; between them they are interpolated, beyond them extrapolated
TOKENS = octaves(1, 16384, between=16)  # tokens of a step with prompts
ONE_PROMPT = [{"batch": 1, "seq": int(n), "past": 0} for n in TOKENS]  # as sizes of a pass
SEQUENCES = octaves(1, 4096, step=4)  # sequences of which a step computes scores
DECODES = octaves(1, 4096, between=64)  # decoding sequences
CONTEXTS = octaves(128, 1 << 17)  # mean context of decoding sequences
PROMPTS = octaves(1, 64, step=8)  # chunks of prompts in a step
LENGTHS = octaves(32, 16384)  # mean tokens of a chunk
PASTS = octaves(NEAR, 1 << 17)  # mean cached tokens before a chunk, plus `NEAR`
TIMES = frozenset({"time_s", "low_s", "high_s"})
"""Quantities that joint kernels and gaps between kernels change; energy and lower bound stay."""


class StageCost:
    """Cost of a model's stage in steps of any mix of prompts and decodes.

    Args:
        passes: passes of the stage.
        machine: target machine of each rank.
        framework: runtime whose kernels are estimated.
        rereads: which decode kernels read keys once per query head.
        kind: engine description.
        widened: the stage with 16-bit weights, if quantized weights are widened for prompts.
        held_bytes: bytes per token of a step that the engine keeps longer than needed.
        longest: longest sequence that the engine is configured for, in tokens; 0 for any.
        cached: element type of the KV cache.
        rates: rates that its kernels do not exceed.
        caches: bytes of a token, as `MemoryDemand` has them.
        tensor: ranks that a host serves at once.
    """

    def __init__(
        self,
        passes: Passes,
        machine: Machine,
        framework: str,
        *,
        rereads: Rereads = Rereads.NOWHERE,
        kind: EngineKind | None = None,
        widened: StageCost | None = None,
        held_bytes: float = 0.0,
        longest: int = 0,
        cached: DType = DType.BF16,
        rates: KernelRates = ANY,
        caches: tuple[tuple[float, float], ...] = (),
        tensor: int = 1,
    ) -> None:
        self.tensor = tensor
        self.rates, self.caches = rates, caches
        self.passes, self.machine, self.framework = passes, machine, framework
        self.rereads, self.kind, self.widened = rereads, kind, widened
        self.held_bytes, self.longest, self.cached = held_bytes, longest, cached

    @cached_property
    def launches(self) -> Launches:
        """Return the kernels of its steps that the host launches one by one."""
        return launches_of(self.passes, self.kind)

    @cached_property
    def host(self) -> Machine | None:
        """Return the processor that attends in its memory, if one does."""
        return load_machine(self.kind.host) if self.kind is not None and self.kind.host else None

    @cached_property
    def gaps_s(self) -> float:
        """Return the seconds between the kernels of a decode step, as `KernelRates.gap_s` says."""
        return self.rates.gap_s * len(self.passes.decode.whole)

    @cached_property
    def weights_floors_s(self) -> tuple[float, ...]:
        """Return lower bounds of reading a step's weights, at each power of two tokens."""
        return self.passes.decode.weights_floors_s(self.machine)

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Parts:
        """Return one of ``QUANTITIES`` of a step, without host overhead."""
        count, tokens = len(chunks), sum([c.tokens for c in chunks])
        if not chunks:
            kernels = self.decode_tokens.at(quantity, decodes)
            kernels += self.gaps_s if quantity in TIMES else 0.0
            kernels += self.decode_context.at(quantity, decodes, context)
            exchanges = self.decode_exchanges
        else:
            mean_past = sum([c.context for c in chunks]) / count  # chunks count as equal ones
            kernels = self.prompt_tokens.at(quantity, tokens + decodes)
            kernels += self.heads.at(quantity, count + decodes)
            sizes = count, tokens / count, mean_past + NEAR
            if not decodes:
                kernels += self.prompt_context.at(quantity, *sizes)
            else:
                kernels += self.mixed_context(quantity, *sizes, decodes, context)
            exchanges = self.prompt_exchanges
        if quantity == "floor_s":
            # the floor at the next smaller power of two: more tokens read no fewer weights
            octave = (tokens + decodes).bit_length() - 1
            least_s = self.weights_floors_s[max(0, min(octave, len(self.weights_floors_s) - 1))]
            kernels = max(kernels, least_s)
        return Parts(kernels, exchanges.at(quantity, tokens + decodes))

    def mixed_context(
        self,
        quantity: str,
        count: float,
        length: float,
        past: float,
        decodes: float,
        context: float,
    ) -> float:
        """Return one of ``QUANTITIES`` of the context-reading kernels of a mixed step.

        Energy and lower bound of a joint kernel are those of both separate kernels.
        """
        separate = self.prompt_context.at(quantity, count, length, past)
        separate += self.decode_context.at(quantity, decodes, context)
        if quantity not in TIMES or self.joint is None:
            return separate
        # errors of the ratio must not lead below the separate lower bounds
        joint = separate * self.joint_ratio(count, length, past, decodes, context)
        floor = self.prompt_context.at("floor_s", count, length, past)
        return max(joint, floor + self.decode_context.at("floor_s", decodes, context))

    @cached_property
    def joint(self) -> Grid | None:
        """Return the time of joint attention over separate; None if none runs or was measured."""
        if self.kind is None or not self.kind.attends_jointly:
            return None
        passes = self.passes
        prompts, decodes = self._of_prompts.readers, self._of_decode.readers
        layers = layers_of(passes.prefill, prompts, passes.decode, decodes)

        def separate_s(
            count: float, length: float, past: float, decodes: float, context: float
        ) -> float:
            prompts_s = self.prompt_context.at("time_s", count, length, past)
            return prompts_s + self.decode_context.at("time_s", decodes, context)

        return relative_to_both(layers, self.machine, self.framework, separate_s)

    @cached_property
    def joint_ratio(self) -> Callable[..., float]:
        """Return `joint` as a function of its sizes; the energy of a run asks for them again."""
        assert self.joint is not None
        return lru_cache(maxsize=MOST_SIZES)(self.joint.at)

    @cached_property
    def _of_decode(self) -> KernelGroups:
        """Return the groups of decode kernels; all read one token of a sequence: no ``heads``."""
        program = self.passes.decode
        # a kernel reads the cache if a longer context changes its work; any two lengths show it
        sizes = {"decodes": 3, "context": 4096}
        seen = program.differ(sizes, {**sizes, "context": 5000})
        # if a window is full, only a shorter context changes its work
        seen |= program.differ(sizes, {**sizes, "context": int(CONTEXTS[0])})
        rest = [i for i in range(len(program.counts)) if i not in seen | program.exchanges]
        return KernelGroups(sorted(seen), sorted(program.exchanges), heads=[], others=rest)

    @cached_property
    def _of_prompts(self) -> KernelGroups:
        """Return the groups of prefill kernels."""
        program = self.passes.prefill
        # groups follow from which sizes change the work of a kernel; the sizes are arbitrary
        sizes = {"batch": 4, "seq": 512, "past": 4096}
        every = range(len(program.counts))
        of_length = program.differ(sizes, {**sizes, "seq": 1024})
        cached = program.differ(sizes, {**sizes, "past": 5000})
        # the same number of tokens in fewer and longer prompts
        parted = program.differ(sizes, {**sizes, "batch": 1, "seq": 2048})
        heads = [i for i in every if i not in of_length | cached | program.exchanges]
        seen = (cached | parted) - {*heads} - program.exchanges
        rest = [i for i in every if i not in {*seen, *program.exchanges, *heads}]
        return KernelGroups(sorted(seen), sorted(program.exchanges), heads, rest)

    def alone(self, env: Env, *, is_decode: bool) -> tuple[Sequence[Kernel], Sequence[KernelCost]]:
        """Return the kernels of a pass and the cost of each times its count, on device or host."""
        program = self.passes.decode if is_decode else self.passes.prefill
        how = self.machine, self.framework
        every = range(len(program.counts))
        if self.rates is ANY:
            parts = estimated_parts(program, [[i] for i in every], [env], *how)
            costs = [cost for (cost,) in parts]
        else:
            costs = [limited(program, [i], [env], *how, self.rates)[0] for i in every]
        for i in (self._of_decode if is_decode else self._of_prompts).readers:
            (costs[i],) = self._attending(program, [i], [env], [costs[i]])
        return program.table.kernels, costs

    def _attending(
        self,
        program: Program,
        wanted: Sequence[int],
        envs: Sequence[Env],
        costs: Sequence[KernelCost],
    ) -> Sequence[KernelCost]:
        """Return the costs of attention: those given, or those of the host that attends."""
        if self.host is None:
            return costs
        if program is self.passes.prefill:
            host_costs = self._prompts(wanted, envs, self.host)
        else:
            host_costs = [read_on_host(program, wanted, env, self.host) for env in envs]
        return on_host(costs, host_costs, program, wanted, envs, self.machine, self.tensor)

    @cached_property
    def decode_tokens(self) -> Surface:
        """Return the cost of decode kernels that do not read the cache, over sequences."""
        return self._decode(self._of_decode.others)

    @cached_property
    def decode_exchanges(self) -> Surface:
        """Return the cost of the collectives of a decode step, over the number of sequences."""
        return self._decode(self._of_decode.exchanges)

    def _decode(self, wanted: Sequence[int]) -> Surface:
        """Return the cost of decode kernels that do not depend on the context, over sequences."""
        envs = [{"decodes": int(n), "context": 1024} for n in DECODES]  # any context
        how = self.machine, self.framework, self.rates
        costs = limited(self.passes.decode, wanted, envs, *how)
        # from the largest step down: a step never takes longer than a padded larger one
        return Surface.of((DECODES,), [*accumulate(reversed(costs), _padded)][::-1])

    @cached_property
    def decode_context(self) -> Surface:
        """Return the cost of decode kernels that read the cache, over sequences and context."""
        program, wanted = self.passes.decode, self._of_decode.readers
        axes = (DECODES, lengths(program, CONTEXTS, self.longest))
        envs = [{"decodes": int(n), "context": int(c)} for n, c in points(axes)]
        how = self.machine, self.framework, self.rereads, self.longest, self.cached
        costs = context_costs(program, wanted, envs, *how)
        costs = attended(costs, program, wanted, envs, self.machine, self.rates)
        return Surface.of(axes, self._attending(program, wanted, envs, costs))

    @cached_property
    def prompt_tokens(self) -> Surface:
        """Return the token-wise kernels of a step with prompts, by all of its tokens."""
        costs = self._prompts(self._of_prompts.others, ONE_PROMPT)
        if self.widened is not None:
            wider = self.widened._prompts(self.widened._of_prompts.others, ONE_PROMPT)
            costs = [  # an engine need not widen weights: lower bounds stay
                replace(longer(wide, self.widening_s), floor_s=cost.floor_s)
                if self.widens(int(n))
                else cost
                for n, cost, wide in zip(TOKENS, costs, wider, strict=True)
            ]
        return Surface.of((TOKENS,), costs)

    @cached_property
    def prompt_exchanges(self) -> Surface:
        """Return the collectives of a step with prompts, by all of its tokens."""
        return Surface.of((TOKENS,), self._prompts(self._of_prompts.exchanges, ONE_PROMPT))

    def _prompts(
        self, wanted: Sequence[int], envs: Sequence[Env], machine: Machine | None = None
    ) -> list[KernelCost]:
        """Return the cost of prefill kernels, conversions included, also on another machine."""
        program, rates = self.passes.prefill, self.rates if machine is None else ANY
        machine = machine or self.machine
        costs = limited(program, wanted, envs, machine, self.framework, rates)
        return [
            as_run(cost, program, wanted, env, machine, self.kind)
            for cost, env in zip(costs, envs, strict=True)
        ]

    def widens(self, tokens: int) -> bool:
        """Return True if a step of ``tokens`` tokens widens quantized weights to 16 bits first."""
        return (
            self.kind is not None and self.widened is not None and tokens > self.kind.widens_beyond
        )

    @cached_property
    def widening_s(self) -> float:
        """Return the seconds to write the widened weights."""
        if self.widened is None:
            return 0.0
        return widening_s(self.passes.prefill, self.widened.passes.prefill, self.machine)

    @cached_property
    def heads(self) -> Surface:
        """Return the kernels that read one token of each sequence, by the sequences."""
        envs = [{"batch": int(n), "seq": 1, "past": 0} for n in SEQUENCES]
        return Surface.of((SEQUENCES,), self._prompts(self._of_prompts.heads, envs))

    @cached_property
    def prompt_context(self) -> Surface:
        """Return kernels that read all tokens of a prompt, by prompts, new and cached tokens."""
        axes = (PROMPTS, LENGTHS, PASTS)
        envs = [{"batch": int(b), "seq": int(n), "past": int(p) - NEAR} for b, n, p in points(axes)]
        program, wanted = self.passes.prefill, self._of_prompts.readers
        costs = self._prompts(wanted, envs)
        return Surface.of(axes, self._attending(program, wanted, envs, costs))

    def demand(self, tokens: int, budget: int, sequences: int) -> MemoryDemand:
        """Return the memory that the stage needs on one rank.

        Args:
            tokens: length of a sequence, prompt and answer.
            budget: tokens of the largest step.
            sequences: sequences in the largest decode step.
        """
        decode, prefill = self.passes.decode, self.passes.prefill
        scores = score_bytes(prefill, tokens, min(budget, tokens), self.kind)
        # scores lie where attention runs: in host memory if the host attends
        live = (
            prefill.activation_bytes({"batch": 1, "seq": budget, "past": 0})
            + budget * self.held_bytes
            + (0.0 if self.host else scores),
            decode.activation_bytes({"decodes": sequences, "context": 0})
            + sequences * self.held_bytes,
        )
        weight_bytes = float(evaluate(decode.liveness.weight_bytes, {}))
        states = decode.cached_bytes({"decodes": 1, "context": 0})
        kv_bytes = math.fsum([each * min(tokens, limit) for limit, each in self.caches])
        hosted = scores if self.host else 0.0
        return MemoryDemand(weight_bytes, kv_bytes / tokens, states, max(live), hosted, self.caches)


class KernelRules(NamedTuple):
    """Rules of an engine's kernels that its version or an option changes, as in `EngineKind`."""

    fuses_attention: bool = False
    widens_beyond: int = 0
    host: str | None = None


USUAL = KernelRules()
"""Rules of an engine that neither fuses attention nor widens weights nor attends on the host."""


@lru_cache(maxsize=1024)
def stage_cost(
    model: LanguageModel,
    precision: ServingPrecision,
    parallel: Parallel,
    runtime: str,
    stage: int,
    target: str,
    framework: str,
    *,
    rereads: Rereads = Rereads.NOWHERE,
    longest: int = 0,
    rates: KernelRates = ANY,
    rules: KernelRules = USUAL,
) -> StageCost:
    """Return the cached cost of a stage on a target, by the path of the target's file."""
    passes = passes_of(model, precision, parallel, runtime, stage)
    kind = table_of(runtime).engine
    kind = None if kind is None else replace(kind, **rules._asdict())
    how = parallel, runtime, stage, target, framework
    wide = precision.in_halves
    is_widened = kind is not None and kind.widens_beyond and precision != wide
    return StageCost(
        passes,
        load_machine(target),
        framework,
        rereads=rereads,
        kind=kind,
        widened=stage_cost(model, wide, *how, rules=rules) if is_widened else None,
        held_bytes=held_bytes(model, precision, kind),
        longest=longest,
        cached=precision.cached,
        rates=rates,
        caches=caches_of(model, precision, parallel, stage),
        tensor=parallel.tensor,
    )


def _padded(larger: KernelCost, exact: KernelCost) -> KernelCost:
    """Return the cost of a step, padded to the next larger one where that is faster."""
    return exact if exact.time_s <= larger.time_s else replace(larger, floor_s=exact.floor_s)
