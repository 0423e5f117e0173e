"""A part of a model forward and backward: its kernels, and what each of them is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import cached_property, lru_cache

from perfc.analyzers.estimate.estimate import Estimate
from perfc.ir.graph import Module, Node, Phase, Value
from perfc.ir.op import Kind
from perfc.ir.record import frozen, record
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost
from perfc.passes.roofline.roofline import KernelBound
from perfc.passes.training.backward import differentiated


class Waiter(Enum):
    """Who waits for a kernel: the part behind, the part before, or the optimiser."""

    FORWARD = "forward"
    INPUT = "input"
    WEIGHT = "weight"

    __hash__ = object.__hash__


@record
class Ran:
    """Kernels that are alike, with what they take.

    Args:
        count: how many there are.
        bound: of one of them.
        time: of one of them.
        role: who waits for them.
    """

    count: int
    bound: KernelBound
    time: Estimate
    role: Waiter


@frozen
class BothPasses:
    """A part, fused, with the kernels of its backward pass.

    Args:
        module: typed, forward and backward.
        inputs: what the part before hands over.
        table: kernels but exchanges, each that is alike another in the same role left out.
        counts: how many of each there are.
        roles: of each.
        whole: all kernels in order.
    """

    module: Module
    inputs: tuple[Value, ...]
    table: KernelTable
    counts: tuple[int, ...]
    roles: tuple[Waiter, ...]
    whole: tuple[Kernel, ...]

    @classmethod
    def of(cls, module: Module, runtime: str) -> BothPasses:
        """Of a part as a configuration gives it.

        Raises:
            PassError: an operator has no gradient.
        """
        am = Analyses()
        typed = am.apply(Canonicalize(keeps_parameters=True), am.apply(Sizes(()), module))
        both = differentiated(typed)
        am.get(Cost(), both.module)
        whole = am.get(Fuse(runtime), both.module)
        firsts: dict[tuple[int, Waiter], Kernel] = {}
        count: Counter[tuple[int, Waiter]] = Counter()
        for kernel in whole.kernels:
            if kernel.kind is not Kind.COLLECTIVE:
                role = role_of(kernel, both.before)
                firsts.setdefault((kernel.alike, role), kernel)
                count[kernel.alike, role] += 1
        return cls(
            both.module, both.inputs, KernelTable(whole.runtime, tuple(firsts.values()), ()),
            tuple(count.values()), tuple([role for _, role in firsts]), whole.kernels,
        )  # fmt: skip

    @cached_property
    def forward(self) -> tuple[Kernel, ...]:
        """Kernels of the forward pass, exchanges included."""
        return tuple([k for k in self.whole if k.anchor.loc.phase is Phase.FORWARD])


@lru_cache(maxsize=512)
def both_passes(module: Module, runtime: str) -> BothPasses:
    """A part, differentiated and fused once."""
    return BothPasses.of(module, runtime)


def role_of(kernel: Kernel, before: AbstractSet[Node]) -> Waiter:
    """Who waits for a kernel.

    Args:
        kernel: of either pass.
        before: nodes of the backward pass that the part before waits for.
    """
    if kernel.anchor.loc.phase is Phase.FORWARD:
        return Waiter.FORWARD
    return Waiter.WEIGHT if before.isdisjoint(kernel.nodes) else Waiter.INPUT


def kept(rows: Iterable[Ran], written: Iterable[Value]) -> tuple[Value, ...]:
    """What kernels of a backward pass read of the forward pass, each storage once.

    Args:
        rows: kernels.
        written: what the forward pass has: what it was given and what it computed.
    """
    known = set(written)
    read = [v for r in rows if r.role is not Waiter.FORWARD for v in r.bound.kernel.reads]
    return tuple(dict.fromkeys(v for v in read if v in known))
