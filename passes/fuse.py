"""Groups nodes into the kernels a runtime would launch; a kernel lists its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from perfc.ir.cost import Traffic, Work
from perfc.ir.dim import Dim
from perfc.ir.graph import Module, Node, Value
from perfc.ir.op import Kind
from perfc.ir.problem import Backward, Problem, Window
from perfc.ir.problem.window import MOST_GAIN
from perfc.ir.record import entity, frozen, record
from perfc.ir.types import DType, TensorType

from . import Analysis
from .cost import Cost, Tier
from .runtimes import DEFAULT, Runtime, runtime

if TYPE_CHECKING:
    from .manager import Analyses

HOST = frozenset({Kind.SHAPE, Kind.CONTAINER})
"""Kinds that launch nothing on the device."""
MOST_AXES = 3
"""Of a window that nobody states, over a result of unknown rank."""


@entity
class Kernel:
    """Nodes that run as one launch.

    Args:
        nodes: in execution order; views ride along.
        anchor: the node the kernel is named after and classed by.
        work: operations of one launch.
        traffic: bytes of one launch: what stays inside the kernel is not counted.
        reads: values from outside, stored tensors included, views resolved to what they show.
        writes: values that somebody outside reads.
        repeat: launches in one run.
        alike: a number that kernels of a table share which differ in names and place alone.
        folded: nodes merged into stored tensors before running; they add no work and no traffic.
        pattern: the pattern it is an instance of, ``attention``; "" where it is none.
        read_parts: bytes of each of ``reads`` that are read.
        problem: extents of what it computes, by name; None where they are not known.
    """

    nodes: tuple[Node, ...]
    anchor: Node
    work: Work
    traffic: Traffic
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]
    repeat: Dim
    tier: Tier
    alike: int
    folded: tuple[Node, ...] = ()
    pattern: str = ""
    read_parts: tuple[Dim, ...] = ()
    problem: Problem | None = None

    @property
    def kind(self) -> Kind:
        """Class of the anchor; attention where the whole kernel is attention."""
        return Kind.ATTENTION if self.pattern == "attention" else self.anchor.op.kind

    @property
    def times(self) -> float:
        """How many times as long as the forward kernel it takes, which it goes back through."""
        return self.problem.times if isinstance(self.problem, Backward) else 1.0

    @property
    def winograd_gain(self) -> float:
        """Factor by which minimal filtering can cut its products; 1 of all but convolutions.

        A convolution whose window nobody states, as that of a gradient, has the most there is.
        """
        if isinstance(self.problem, Window):
            return self.problem.winograd_gain
        if self.kind is not Kind.CONV:
            return 1.0
        type_ = self.anchor.results[0].type if self.anchor.results else None
        shape = type_.shape if isinstance(type_, TensorType) else None
        return MOST_GAIN ** (MOST_AXES if shape is None else max(len(shape) - 2, 0))

    @property
    def label(self) -> str:
        """Operators in order, ``Conv + Relu``, views left out."""
        names: list[str] = []
        for n in self.nodes:
            name = n.loc.op_type or n.op.mnemonic
            if (n.op.kind is not Kind.VIEW or len(self.nodes) == 1) and (
                not names or names[-1] != name
            ):
                names.append(name)
        if len(names) > 4:
            names = [*names[:2], f"… {len(names) - 3} more", names[-1]]
        return " + ".join(names)

    @property
    def mac_dtype(self) -> DType:
        """Element type the multiply–accumulates are done in."""
        if self.work.dtype is not None:
            return self.work.dtype
        for v in self.anchor.inputs:
            if v is not None and isinstance(v.type, TensorType):
                return v.type.dtype
        return DType.F32


@entity
class Alternative:
    """Kernels that run in place of those from ``first`` up to ``last``, if a branch goes so."""

    first: int
    last: int
    kernels: tuple[Kernel, ...]
    alternatives: tuple[Alternative, ...] = ()


@record
class KernelTable:
    """The kernels of one run, in an order that can run, and the nodes that launch nothing.

    Where nobody can decide a branch before running, ``kernels`` has the cheaper side and
    ``alternatives`` the other, inner branches before outer ones.
    """

    runtime: Runtime
    kernels: tuple[Kernel, ...]
    host: tuple[Node, ...]
    alternatives: tuple[Alternative, ...] = ()

    def facts(self) -> dict[Node, dict[str, object]]:
        """Which kernel each node belongs to."""
        return {n: {"kernel": i} for i, k in enumerate(self.kernels) for n in k.nodes}


@frozen
class Fuse(Analysis[KernelTable]):
    """Kernel grouping by the table of a runtime.

    Patterns of several operators are found first. Then nodes are visited in order, and what the
    table lets a kernel absorb joins the kernel that makes its operand, unless a path through
    other kernels would come back. A node with regions launches nothing; its regions' nodes do.
    """

    requires: ClassVar = (Cost,)
    runtime: str = DEFAULT

    def run(self, module: Module, am: Analyses) -> KernelTable:
        """Kernels of the module."""
        from .grouping import Grouping

        cost = am.get(Cost(), module)
        table = runtime(self.runtime)
        grouping = Grouping(table, cost)
        grouping.graph(module.graph)
        return KernelTable(
            table,
            tuple(grouping.kernels),
            tuple(grouping.host),
            tuple(grouping.alternatives),
        )
