"""Grouping of nodes into the kernels that a runtime launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar, TypeVar, cast

from perfc.ir import Env, Module, Node, Numbers, frozen

from .. import Analysis
from ..manager import Analyses
from ..roofline.cost import Cost
from ..runtimes import DEFAULT, Runtime, runtime
from .grouping import Grouping
from .kernel import Alternative, Kernel

R = TypeVar("R")
MOST_SIZES, MOST_KERNELS = 256, 20_000
"""Maximum results by sizes that a table retains, and maximum kernels of a table that retains any.

Both bound the memory of one process that analyses a model at many sizes or on many machines.
"""


@frozen
class KernelTable:
    """Kernels of one run in execution order, and the nodes that launch nothing.

    If a branch depends on data, ``kernels`` has the cheaper side and
    ``alternatives`` the other, inner branches before outer ones.
    """

    runtime: Runtime
    kernels: tuple[Kernel, ...]
    host: tuple[Node, ...]
    alternatives: tuple[Alternative, ...] = ()
    # results of ``once`` by name and sizes, the oldest first
    memo: dict[tuple[Hashable, ...], Any] = field(default_factory=dict, compare=False, repr=False)

    def __repr__(self) -> str:
        """Return one line: all fields of a real network are hundreds of kilobytes."""
        return f"{len(self.kernels)} kernels of {self.runtime.name}"

    def once(self, what: Hashable, env: Env, result: Callable[[], R]) -> R:
        """Return a result that depends on the kernels and on sizes alone; retained for later calls.

        Args:
            what: key of the result; with the machine in it if the result depends on it.
            env: values of the symbols.
            result: computes the result.
        """
        # large tables retain nothing
        if len(self.kernels) > MOST_KERNELS:
            return result()
        key = what, *env.items()
        if key not in self.memo:
            if len(self.memo) >= MOST_SIZES:
                del self.memo[next(iter(self.memo))]
            self.memo[key] = result()
        return cast(R, self.memo[key])

    def numbers(self, env: Env) -> Numbers:
        """Return the evaluator of formulas at sizes, which retains their values."""
        return self.once("numbers", env, lambda: Numbers(env))

    @cached_property
    def served(self) -> tuple[int, ...]:
        """Return for each kernel its index, and for a helper that of the kernel it serves.

        A helper has the name of the kernel that it is inserted for, and stands next to it.
        """
        named: dict[str, list[int]] = {}
        for i, kernel in enumerate(self.kernels):
            if kernel.helper is None:
                named.setdefault(kernel.anchor.name, []).append(i)

        def served(i: int, kernel: Kernel) -> int:
            candidates = named.get(kernel.anchor.name, [i])
            # a name may repeat, as in a loop: the nearest kernel counts, of two the later
            return i if kernel.helper is None else min(candidates, key=lambda j: (abs(j - i), -j))

        return tuple([served(i, kernel) for i, kernel in enumerate(self.kernels)])

    def facts(self) -> dict[Node, dict[str, object]]:
        """Return the kernel that each node belongs to."""
        return {n: {"kernel": i} for i, k in enumerate(self.kernels) for n in k.nodes}


@frozen
class Fuse(Analysis[KernelTable]):
    """Fusion groups by the table of a runtime.

    Patterns of several operators are matched first. Then nodes are visited in order: a node that
    the table lets a kernel absorb joins the kernel that computes its operand, unless that closes
    a cycle through other kernels. A node with regions launches nothing; its regions' nodes do.
    """

    requires: ClassVar = (Cost,)
    runtime: str = DEFAULT

    def run(self, module: Module, am: Analyses) -> KernelTable:
        """Return the kernels of the module."""
        cost = am.get(Cost(), module)
        table = runtime(self.runtime)
        # of a program the calls are known; exporters of other files write one call as several nodes
        by_call = module.origin.is_program and table.is_strided
        grouping = Grouping(table, cost, by_call=by_call)
        grouping.graph(module.graph)
        return KernelTable(
            table,
            tuple(grouping.kernels),
            tuple(grouping.host),
            tuple(grouping.alternatives),
        )
