"""Kernels of a part of a model in both passes, each with its role: what waits for its result.

`both_passes` differentiates and fuses a part once; `parts.costs` then times its kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import Enum
from functools import cached_property, lru_cache

from perfc.analyzers.estimate.estimate import Estimate
from perfc.ir import Kind, Module, Node, Phase, Value, frozen, record
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.roofline import KernelBound
from perfc.passes.runtimes import LaunchMode
from perfc.passes.training.backward import differentiated


class Waiter(Enum):
    """Consumer of a kernel's result: the next part, the previous part, or the optimizer."""

    FORWARD = "forward"
    INPUT = "input"
    WEIGHT = "weight"

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


@record
class Ran:
    """Equal kernels of a part with their time.

    Args:
        count: number of kernels.
        bound: roofline of one of them.
        time: estimate of one of them.
        role: consumer of their results.
    """

    count: int
    bound: KernelBound
    time: Estimate
    role: Waiter


@frozen
class BothPasses:
    """Fused kernels of both passes of a part.

    Args:
        module: graph of the forward and backward pass, with inferred types.
        inputs: values that the part gets from the previous part.
        table: distinct kernels by role, without collectives.
        counts: number of each kernel.
        roles: roles of each kernel.
        whole: all kernels in order, the forward ones first.
    """

    module: Module
    inputs: tuple[Value, ...]
    table: KernelTable
    counts: tuple[int, ...]
    roles: tuple[Waiter, ...]
    whole: tuple[Kernel, ...]

    @classmethod
    def of(cls, module: Module, runtime: str) -> BothPasses:
        """Differentiate and fuse a part that was lowered from a configuration.

        Raises:
            PassError: an operator has no gradient.
        """
        analyses = Analyses()
        typed = analyses.apply(
            Canonicalize(keeps_parameters=True), analyses.apply(Sizes(()), module)
        )
        step = differentiated(typed)
        fused = analyses.get(Fuse(runtime), step.module)
        # one row for equal kernels of one role, in both tables in the order of the first kernel of
        # each row; collectives are timed by `kinds`
        firsts: dict[tuple[int, Waiter], Kernel] = {}
        count: Counter[tuple[int, Waiter]] = Counter()
        for kernel in fused.kernels:
            if kernel.kind is not Kind.COLLECTIVE:
                role = role_of(kernel, step.before)
                firsts.setdefault((kernel.identity, role), kernel)
                count[kernel.identity, role] += 1
        return cls(
            step.module,
            step.inputs,
            # many kernels of a step are in flight, so that their launches are hidden; the last
            # argument, nodes without kernels, is not needed
            KernelTable(
                replace(fused.runtime, launch=LaunchMode.GRAPH), tuple(firsts.values()), ()
            ),
            tuple(count.values()),
            tuple(role for _, role in firsts),
            fused.kernels,
        )

    @cached_property
    def forward(self) -> tuple[Kernel, ...]:
        """Return the kernels of the forward pass, collectives included."""
        return tuple(k for k in self.whole if k.anchor.loc.phase is Phase.FORWARD)

    @cached_property
    def saved(self) -> tuple[Value, ...]:
        """Return the values that the backward pass reads of the forward pass and its inputs."""
        written = (*self.inputs, *(v for k in self.forward for v in k.writes))
        return saved_values(self.whole[len(self.forward) :], written)

    @cached_property
    def again(self) -> tuple[int, ...]:
        """Return for each row of the table how many of its kernels checkpointing runs again.

        They are those that compute, from the inputs, what the backward pass reads.
        """
        # from the last one: a kernel is needed if a needed kernel or the backward pass reads it
        needed, count = set(self.saved), Counter[int]()
        for kernel in reversed(self.forward):
            if not needed.isdisjoint(kernel.writes):
                needed.update(kernel.reads)
                count[kernel.identity] += 1
        rows = zip(self.table.kernels, self.roles, strict=True)
        return tuple(count[k.identity] if role is Waiter.FORWARD else 0 for k, role in rows)


@lru_cache(maxsize=512)  # bounded, as each entry holds the graph of both passes
def both_passes(module: Module, runtime: str) -> BothPasses:
    """Return a part differentiated and fused, cached."""
    return BothPasses.of(module, runtime)


def role_of(kernel: Kernel, before: AbstractSet[Node]) -> Waiter:
    """Return the consumer of a kernel's result.

    Args:
        kernel: kernel of either pass.
        before: nodes of the backward pass that the previous part waits for.
    """
    if kernel.anchor.loc.phase is Phase.FORWARD:
        return Waiter.FORWARD
    return Waiter.WEIGHT if before.isdisjoint(kernel.nodes) else Waiter.INPUT


def saved_values(backward: Iterable[Kernel], written: Iterable[Value]) -> tuple[Value, ...]:
    """Return the values of the forward pass that kernels of the backward pass read, each once.

    Args:
        backward: kernels of the backward pass.
        written: inputs and results of the forward pass.
    """
    known = set(written)
    return tuple(dict.fromkeys(v for k in backward for v in k.reads if v in known))
