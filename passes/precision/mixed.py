"""Autocast: an f32 model under a framework's automatic mixed precision."""

from __future__ import annotations

from dataclasses import field

from perfc.errors import PassError
from perfc.ir import DType, Graph, Inputs, Module, Node, TensorType, Value, entity, frozen
from perfc.ir.tensors.types import BY_CODE

from .. import Transform
from ..manager import Analyses
from .retype import (
    converting,
    element_type,
    operand_positions,
    retyped,
)


@frozen
class Mixed(Transform):
    """Autocast lower bound: products and all activations narrow, parameters unchanged.

    Lower bounds require the least traffic of any autocast. `Autocast` also knows which operators
    write f32, but leaves out explicit casts in models, so that it gives no bound. Predictors of
    times count launches with `Autocast`, casts included (`perfc.analyzers.steps`).
    """

    dtype: str = "f16"

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module in mixed precision.

        Raises:
            PassError: the model is not stored in f32, or loops or branches while it runs.
        """
        require_castable(module)
        graph = Mixing(BY_CODE[self.dtype]).graph(module.graph)
        return Module(graph, module.symbols, module.origin)


def require_castable(module: Module) -> None:
    """Raise an error for models that autocast what-ifs do not support.

    Raises:
        PassError: the model is not stored in f32, or loops or branches while it runs.
    """
    # values are replaced in one graph, not in the regions of its nodes
    looping = next((node for node in module.graph.nodes if node.regions), None)
    if looping is not None:
        raise PassError(
            f"autocast what-ifs do not support control flow ({looping.op.mnemonic})",
            hint="another --dtype, or none",
            where=looping.loc.name or "autocast",
        )
    if any(is_narrow_matrix(v) for v in module.graph.weights):
        raise PassError(
            "autocast needs a model stored in f32", hint="leave --dtype out", where="autocast"
        )


def is_narrow_matrix(v: Value) -> bool:
    """Return True for a tensor of rank 2 or more with floats below 32 bits."""
    # half-precision vectors, as of norms, do not make a model narrow
    dtype = element_type(v)
    return (
        isinstance(v.type, TensorType)
        and len(v.type.shape or ()) > 1
        and dtype.is_float
        and dtype.bits < DType.F32.bits
    )


def on_values(node: Node, ins: Inputs, outs: Inputs, narrow: DType) -> Node:
    """Return the node on other operands and results, with products in the narrow type."""
    if (ins, outs) == (node.inputs, node.outputs):
        return node
    # only matrix kernels have a type of multiply–accumulates
    executed = narrow if operand_positions(node) else None
    op = converting(node.op, executed, tuple(map(element_type, outs)))
    return Node(op, ins, outs, (), node.loc)


@entity
class Mixing:
    """State of one walk over a graph: the narrow type, and the replacements of values."""

    narrow: DType
    values: dict[Value, Value] = field(default_factory=dict)

    def graph(self, graph: Graph) -> Graph:
        """Return the graph with narrow activations."""
        nodes = tuple(self.node(node) for node in graph.nodes)
        outputs = tuple(self.values.get(v, v) for v in graph.outputs)
        return Graph(graph.name, graph.inputs, outputs, nodes, graph.weights)

    def node(self, node: Node) -> Node:
        """Return the node on narrow values."""
        ins = tuple(v and self.values.get(v, v) for v in node.inputs)
        return on_values(node, ins, tuple(v and self.value(v) for v in node.outputs), self.narrow)

    def value(self, v: Value) -> Value:
        """Return the replacement of ``v``; the same object if nothing changes."""
        type_ = retyped(v.type, self.narrow)
        if type_ == v.type:
            return v
        result = self.values[v] = Value(v.name, type_, v.known, v.weight)
        return result
