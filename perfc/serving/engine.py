"""A model on an engine: memory, limits and the cost of steps, from one description."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, Parallel, Precision
from perfc.ir.record import frozen
from perfc.machine import Machine
from perfc.passes.runtimes import EngineKind, tables
from perfc.passes.runtimes import runtime as table_of

from .host import HostLaw, law_of
from .memory import BLOCK_TOKENS, MemoryPlan
from .scheduler import Limits
from .step import StepCost


def kind_of(name: str) -> EngineKind:
    """How a runtime serves.

    Raises:
        ParseError: it is none that serves.
    """
    known = {table.name: table.engine for table in tables() if table.engine is not None}
    if name not in known:
        hint = f"there are {', '.join(known)}"
        raise ParseError(f"{name[:32]!r} does not serve", where="--runtime", hint=hint)
    return known[name]


@frozen
class Engine:
    """One engine on the ranks of one model copy.

    Args:
        model: what is served.
        machine: each rank.
        precision: element types.
        parallel: how the model is divided.
        runtime: one that serves.
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
            self.runtime, table_of(self.runtime).serving.value, self.law,
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
