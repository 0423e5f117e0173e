"""A model on an engine: memory, limits and the cost of steps, from one description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, Parallel, Precision
from perfc.ir.record import frozen, record
from perfc.machine import Machine
from perfc.passes.runtimes import Serving, tables

from .host import HostLaw, law_of
from .memory import BLOCK_TOKENS, Demand, MemoryPlan
from .scheduler import Batching, Limits
from .step import StepCost


@record
class EngineKind:
    """How a runtime serves where nothing else is said.

    Args:
        framework: whose kernels run.
        batching: whose tokens a step may have.
        token_budget: tokens of one step.
        max_num_seqs: sequences under way.
        utilization: share of a device's memory that it takes.
        reserves_output: whether a request starts only when its whole answer has room.
        source: whose defaults these are.
    """

    framework: Serving
    batching: Batching
    token_budget: int
    max_num_seqs: int
    utilization: float
    reserves_output: bool
    source: str


KINDS: Mapping[str, EngineKind] = {
    "vllm": EngineKind(
        Serving.VLLM, Batching.MIXED, 8192, 1024, 0.9, False,
        "vLLM 0.19, EngineArgs: OpenAI server on a GPU of 70 GiB and more",
    ),
    "sglang": EngineKind(
        Serving.SGLANG, Batching.PROMPTS_FIRST, 8192, 1024, 0.88, True,
        "SGLang 0.5, ServerArgs: chunked_prefill_size and mem_fraction_static of large GPUs",
    ),
    "trtllm": EngineKind(
        Serving.TRTLLM, Batching.WHOLE_PROMPTS, 8192, 2048, 0.9, True,
        "TensorRT-LLM 1.0, LlmArgs: max_num_tokens, max_batch_size, GUARANTEED_NO_EVICT",
    ),
    "transformers": EngineKind(
        Serving.ANY, Batching.PROMPTS_FIRST, 1 << 17, 64, 0.95, True,
        "transformers, generate: one padded batch, no paging",
    ),
    "llamacpp": EngineKind(
        Serving.ANY, Batching.MIXED, 512, 1, 1.0, True,
        "llama.cpp, llama-bench: n_ubatch 512, one sequence",
    ),
}  # fmt: skip
"""Serving runtimes by name."""
STAND_IN = "tensorrt"
"""Fusion table of a runtime that has none of its own."""


def kind_of(runtime: str) -> EngineKind:
    """How a runtime serves.

    Raises:
        ParseError: it is none that serves.
    """
    known = KINDS.get(runtime)
    if known is None:
        hint = f"there are {', '.join(KINDS)}"
        raise ParseError(f"{runtime[:32]!r} does not serve", where="--runtime", hint=hint)
    return known


def fusion_table(runtime: str) -> str:
    """The fusion table of a serving runtime."""
    return runtime if any(t.name == runtime for t in tables()) else STAND_IN


@frozen
class Engine:
    """One engine on the ranks of one model copy.

    Args:
        model: what is served.
        machine: each rank.
        precision: element types.
        parallel: how the model is divided.
        runtime: of ``KINDS``.
        version: of it; "" for the newest that was measured.
        kind: how it serves.
        law: what its host takes.
        extra_bytes: of memory that others take, or that is taken beyond what perfc knows.
    """

    model: LanguageModel
    machine: Machine
    precision: Precision
    parallel: Parallel
    runtime: str
    version: str
    kind: EngineKind
    law: HostLaw
    extra_bytes: float = 0.0

    # an engine is itself alone: its machine's tables have no hash
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def of(
        cls,
        model: LanguageModel,
        machine: Machine,
        precision: Precision,
        parallel: Parallel,
        runtime: str,
        version: str = "",
        *,
        law: HostLaw | None = None,
        **stated: object,
    ) -> Engine:
        """An engine with the defaults of its runtime, but for what is stated of its kind."""
        kind = replace(kind_of(runtime), **{k: v for k, v in stated.items() if v is not None})  # type: ignore[arg-type]
        known = law if law is not None else law_of(runtime, version)
        return cls(model, machine, precision, parallel.checked(), runtime, version, kind, known)

    @cached_property
    def cost(self) -> StepCost:
        """Of its steps.

        Raises:
            ModelError: the model does not divide so.
        """
        return StepCost(
            self.model, self.machine, self.precision, self.parallel,
            fusion_table(self.runtime), self.kind.framework.value, self.law,
        )  # fmt: skip

    @property
    def ranks(self) -> int:
        """GPUs of the engine."""
        return self.parallel.ranks

    def memory(self, isl: int, osl: int) -> MemoryPlan:
        """The memory of a rank, for requests of those sizes."""
        device = self.machine.level("device")
        capacity = float(device.capacity_bytes) if device is not None else 0.0
        demand = self.cost.demand(
            isl + osl, min(self.kind.token_budget, 1 << 16), min(self.kind.max_num_seqs, 256)
        )
        extra = replace(demand, activation_bytes=demand.activation_bytes + self.extra_bytes)
        return MemoryPlan(capacity, self.kind.utilization, extra)

    def limits(self, isl: int, osl: int) -> Limits:
        """What one rank's engine allows, for requests of those sizes."""
        plan = self.memory(isl, osl)
        states = plan.demand.state_bytes
        tokens = plan.kv_tokens
        seqs = self.kind.max_num_seqs
        if states or not plan.demand.kv_bytes:
            seqs = min(seqs, plan.sequences(isl + osl))
            tokens = seqs * (isl + osl + 2 * BLOCK_TOKENS)
        return Limits(
            seqs, self.kind.token_budget, tokens, self.kind.batching, self.kind.reserves_output
        )


__all__ = ["KINDS", "Demand", "Engine", "EngineKind", "fusion_table", "kind_of"]
