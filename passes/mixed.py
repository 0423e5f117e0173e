"""What-if autocast: the same f32 model as a framework runs it under automatic mixed precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perfc.errors import PassError
from perfc.ir.graph import Graph, Module, Node, Value
from perfc.ir.types import DType, TensorType

from . import Transform
from .autocast import NARROW_KINDS, Autocast, StoredTypes, policy
from .fuse import Fuse
from .retype import AUTOCAST, Retype, converting, element_type, operand_positions, retyped

if TYPE_CHECKING:
    from .fuse import KernelTable
    from .manager import Analyses


CAST_APART = ("eager", "cudagraph")
"""Runtimes whose casts are kernels of their own; others write what is read."""


def what_if(dtype: str, runtime: str) -> Transform:
    """The transform that puts a model in a precision.

    >>> what_if("amp-bf16", "inductor")
    Mixed(dtype='bf16', runtime='inductor')
    """
    narrow = AUTOCAST.get(dtype)
    return Retype(dtype) if narrow is None else Mixed(narrow, runtime)


@dataclass(frozen=True)
class Mixed(Transform):
    """Every value in the type that autocast stores it in; parameters stay f32.

    Products, convolutions and attention multiply in the narrow type. Casts are no nodes: whoever
    counts launches adds them (`perfc.analyzers.steps`), floors have none, so that a product reads
    its parameters as they are stored. Generated kernels cast what they write: what only products
    read is narrow there.

    Source: as `perfc.passes.autocast`.
    """

    dtype: str = "f16"
    runtime: str = "eager"

    def run(self, module: Module, am: Analyses) -> Module:
        """The module in mixed precision.

        Raises:
            PassError: the model is not stored in f32, or loops or branches while it runs.
        """
        looping = next((node for node in module.graph.nodes if node.regions), None)
        if looping is not None:
            raise PassError(
                f"autocast what-ifs know no control flow ({looping.op.mnemonic})",
                hint="another --dtype, or none",
                where=looping.loc.name or "autocast",
            )
        if any(element_type(v).is_float and element_type(v).bits < 32 for v in floats(module)):
            raise PassError(
                "autocast is of models stored in f32", hint="leave --dtype out", where="autocast"
            )
        stored = am.get(Autocast(self.dtype), module)
        if not self.runtime.startswith(CAST_APART):
            narrow = only_multiplied(module, am.get(Fuse(self.runtime), module))
            types = {**stored.types, **dict.fromkeys(narrow, stored.narrow)}
            stored = replace(stored, types=types)
        mixing = Mixing(stored)
        return Module(mixing.graph(module.graph), module.symbols, module.origin)


def only_multiplied(module: Module, table: KernelTable) -> Iterator[Value]:
    """Values that a kernel writes and only products read."""
    multiplied: dict[Value, bool] = {}
    for kernel in table.kernels:
        for v in kernel.reads:
            multiplied[v] = kernel.kind in NARROW_KINDS and multiplied.get(v, True)
    kept = {*module.graph.inputs, *module.graph.outputs}
    for v, is_narrow in multiplied.items():
        if is_narrow and v.weight is None and v not in kept and element_type(v) is DType.F32:
            yield v


def stored_types(module: Module, dtype: str, am: Analyses) -> StoredTypes:
    """What autocast does with the kernels of a module that is in mixed precision already."""
    narrow = DType.BF16 if dtype == "bf16" else DType.F16
    kernels = am.get(Fuse("eager"), module).kernels
    return StoredTypes(narrow, {}, {kernel.anchor: policy(kernel) for kernel in kernels})


def floats(module: Module) -> Iterator[Value]:
    """Stored matrices."""
    for v in module.graph.weights:
        if isinstance(v.type, TensorType) and len(v.type.shape or ()) > 1:
            yield v


@dataclass(slots=True)
class Mixing:
    """State of one walk: which value stands for which."""

    stored: StoredTypes
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def graph(self, graph: Graph) -> Graph:
        """The graph in stored types."""
        nodes = tuple(self.node(node) for node in graph.nodes)
        outputs = tuple(self.values.get(v, v) for v in graph.outputs)
        return Graph(graph.name, graph.inputs, outputs, nodes, graph.weights)

    def node(self, node: Node) -> Node:
        """The node on values of stored types."""
        ins = tuple(v and self.values.get(v, v) for v in node.inputs)
        outs = tuple(v and self.value(v) for v in node.outputs)
        if (ins, outs) == (node.inputs, node.outputs):
            return node
        executed: DType | None = None
        if node.op.kind in NARROW_KINDS and operand_positions(node):
            executed = self.stored.narrow
        op = converting(node.op, executed, tuple(map(element_type, outs)))
        return Node(op, ins, outs, (), node.loc)

    def value(self, v: Value) -> Value:
        """What stands for ``v``: the same object where nothing changes."""
        type_ = retyped(v.type, self.stored.of(v))
        if type_ == v.type:
            return v
        made = self.values[v] = Value(v.name, type_, v.known, v.weight)
        return made
