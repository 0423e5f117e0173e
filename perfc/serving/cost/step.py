"""Cost of one engine step from the kernels of the IR, over all pipeline stages, with its host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from functools import cached_property, lru_cache

from perfc.frontend.config import LanguageModel, Parallel, ServingPrecision
from perfc.ir import bits_of, evaluate
from perfc.machine import Machine
from perfc.passes.runtimes import of_version
from perfc.passes.runtimes import runtime as table_of

from ..host import HostModel, numbers_of
from ..simulation.scheduler import Chunk
from .grid import MOST_SIZES, Parts
from .grouped import attends_in_chunks, rereads_of
from .memory import MemoryDemand
from .rates import rates_of
from .stage import USUAL, KernelRules, stage_cost

COPIED = 32
"""Tokens of a step from which llama.cpp copies experts in host memory to the device and multiplies
there; with fewer tokens the host multiplies:
ggml-cuda.cu, ``offload_op``; ggml-backend.cpp, ``ggml_backend_sched_compute_splits``."""
EVERY = 1 << 30
"""A number of tokens so large that each expert gets some of them."""


class StepCost:
    """Cost of a model's steps on machines of one kind; sizes are those of one rank.

    Args:
        model: served model.
        machine: target machine of each rank.
        precision: element types.
        parallel: degrees of parallelism.
        runtime: runtime whose fusion rules of that version apply.
        framework: runtime whose kernels are estimated.
        law: fitted host overhead.
        version: version of the runtime, "" for the newest.
        recorded: tokens of the largest step that the engine records as a graph.
        longest: longest sequence that the engine is configured for, in tokens; 0 for any.
        overlaps: True if stages compute successive chunks of one prompt at the same time.
        rules: changes of kernels by the runtime's version or an option.
        hosted_s: time to read all weights that are in host memory, in each step.
        reads_chosen: True if only those experts are read that the router chose for a token.
        on_host: if host memory holds only experts and the CPU multiplies by them, its time over
            ``hosted_s``; 0 otherwise.
    """

    overlaps: bool = False  # of subclasses, which take over stages and do not set it

    def __init__(
        self,
        model: LanguageModel,
        machine: Machine,
        precision: ServingPrecision,
        parallel: Parallel,
        runtime: str,
        framework: str,
        law: HostModel,
        version: str = "",
        recorded: float = math.inf,
        longest: int = 0,
        *,
        overlaps: bool = False,
        rules: KernelRules = USUAL,
        hosted_s: float = 0.0,
        reads_chosen: bool = False,
        on_host: float = 0.0,
    ) -> None:
        self.hosted_s, self.reads_chosen, self.on_host = hosted_s, reads_chosen, on_host
        self.law, self.recorded, self.overlaps = law, recorded, overlaps
        depth = parallel.pipeline
        bits = bits_of(precision.cached.code)
        rereads = rereads_of(model, runtime, version, bits, machine, longest)
        # the grids of a model without chunked attention are the same for every length
        length_limit = longest if attends_in_chunks(model) else 0
        # stages by their number, with how often each counts: the first has the embedding, the last
        # has the head, those between are equal
        middle, last = {1: depth - 2} if depth > 2 else {}, {depth - 1: 1} if depth > 1 else {}
        stage_counts = {0: 1, **middle, **last}
        table, path = of_version(table_of(runtime), numbers_of(version)).name, str(machine.path)
        how = model, precision, parallel, table
        rates = rates_of(runtime, version, machine, model.max_positions, precision.weights)
        self.stages = tuple(
            [
                (
                    stage_cost(
                        *how,
                        stage,
                        path,
                        framework,
                        rereads=rereads,
                        longest=length_limit,
                        rates=rates,
                        rules=rules,
                    ),
                    count,
                )
                for stage, count in stage_counts.items()
            ]
        )

    def share_stages(self, other: StepCost) -> None:
        """Use the stages of another cost, with its host."""
        self.law, self.stages, self.recorded = other.law, other.stages, other.recorded
        self.hosted_s, self.reads_chosen = other.hosted_s, other.reads_chosen
        self.on_host = other.on_host

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        """Return the seconds of a step, as `Clock` requires."""
        depth = 1.0
        # later chunks of one prompt follow one another through all stages at once; one leaves the
        # pipeline in each stage's time
        if self.overlaps and chunks and not decodes and chunks[0].context:
            depth = math.fsum([n for _, n in self.stages])
        if chunks and all(c.tokens == 1 for c in chunks):
            # kernels of single tokens are those of decoding: such chunks count as decodes, with the
            # mean context of both
            read_tokens = decodes * context + sum([c.context for c in chunks])
            decodes += len(chunks)
            chunks, context = (), read_tokens / decodes
        return self._step_s(chunks, decodes, context) / depth

    def _step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        """Return the seconds of a step that no other overlaps."""
        parts = self.launched(self.parts("time_s", chunks, decodes, context), chunks, decodes)
        step_s = self.law.step(parts.kernels, parts.exchanges, len(chunks), decodes)
        step_s += self.offloaded_s(decodes + sum([c.tokens for c in chunks]))
        # the floor is looked up only where it can matter: most steps take longer than their kernels
        if step_s >= parts.kernels + parts.exchanges:
            return step_s
        # the law multiplies kernels by a fitted factor: one below 1 holds only down to their bounds
        floor = self.parts("floor_s", chunks, decodes, context)
        return max(step_s, floor.kernels + floor.exchanges)

    @cached_property
    def offloaded_s(self) -> Callable[[int], float]:
        """Return the seconds of reading weights in host memory, by the tokens of a step."""
        return lru_cache(maxsize=MOST_SIZES)(self._offloaded_s)

    def _offloaded_s(self, tokens: int) -> float:
        """Return the seconds of `offloaded_s`, which caches them.

        Only experts that a step's tokens choose are read, if the engine reads no others.
        """
        if not self.hosted_s or not (self.reads_chosen or self.on_host):
            return self.hosted_s
        # the share of the first stage stands for that of all
        stage, _ = self.stages[0]
        program = stage.passes.decode
        every, chosen = program.experts_read(EVERY), program.experts_read(tokens)
        if self.on_host:
            return self.hosted_s * chosen / every * (self.on_host if tokens < COPIED else 1.0)
        unread = every - chosen
        # weights on the host count as a sample of all weights, of which `unread` bytes are skipped
        return self.hosted_s * (1 - unread / float(evaluate(program.liveness.weight_bytes, {})))

    def launches(self, chunks: Sequence[Chunk], decodes: int) -> int:
        """Return the kernels of a step that the host launches one by one, in all stages."""
        tokens = decodes + sum([c.tokens for c in chunks])
        is_recorded, has_prompts = tokens <= self.recorded, bool(chunks)
        return sum(
            [
                n * stage.launches.of(is_recorded=is_recorded, has_prompts=has_prompts)
                for stage, n in self.stages
            ]
        )

    def launched(self, parts: Parts, chunks: Sequence[Chunk], decodes: int) -> Parts:
        """Return the times of a step, not shorter than the host takes to launch its kernels."""
        host_s = self.law.launch_s * self.launches(chunks, decodes)
        # the host launches ahead while kernels run: the longer of the two counts, not the sum
        return Parts(max(parts.kernels, host_s - parts.exchanges), parts.exchanges)

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Parts:
        """Return one of ``QUANTITIES`` of a step through all stages, without host overhead."""
        if len(self.stages) == 1:
            return self.stages[0][0].parts(quantity, chunks, decodes, context)
        by_stage = [(s.parts(quantity, chunks, decodes, context), n) for s, n in self.stages]
        return Parts(
            math.fsum([p.kernels * n for p, n in by_stage]),
            math.fsum([p.exchanges * n for p, n in by_stage]),
        )

    def demand(self, tokens: int, budget: int, sequences: int) -> MemoryDemand:
        """Return the memory demand of the fullest rank; arguments as for a stage."""
        demands = [s.demand(tokens, budget, sequences) for s, _ in self.stages]
        fullest = max(demands, key=lambda demand: demand.kv_bytes)
        # the largest of each number over all stages; the caches follow the stage with most of them
        numbers = [astuple(replace(demand, caches=()))[:-1] for demand in demands]
        weights, cached, states, live, hosted = map(max, zip(*numbers, strict=True))
        return MemoryDemand(weights, cached, states, live, hosted, fullest.caches)
