"""What-if autocast: the same f32 model as a framework runs it under automatic mixed precision."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from perfc.errors import PassError
from perfc.ir.graph import Graph, Inputs, Module, Node, Value
from perfc.ir.record import entity, frozen
from perfc.ir.types import BY_CODE, DType, TensorType

from . import Transform
from .retype import (
    AUTOCAST,
    Retype,
    converting,
    element_type,
    operand_positions,
    precision_name,
    retyped,
)

if TYPE_CHECKING:
    from .manager import Analyses


def what_if(dtype: str, *, trained_by: str = "") -> Transform:
    """The transform that puts a model in a precision, however it is spelled.

    Args:
        dtype: name of the precision.
        trained_by: the eager table of the framework that makes a step of the model, so that values
            are what is kept; "" for a forward pass.

    Raises:
        PassError: no such precision.

    >>> what_if("amp-bf16")
    Mixed(dtype='bf16')
    """
    name = precision_name(dtype)
    narrow = AUTOCAST.get(name)
    if narrow is None:
        return Retype(name)
    if trained_by:
        from .casts import Casts

        return Casts(narrow, trained_by)
    return Mixed(narrow)


@frozen
class Mixed(Transform):
    """Parameters as they are, products in the narrow type, and every activation in it too.

    The least that autocast moves, as floors must have it: which activations are f32 is known of the
    operators (`Autocast`), but models spell out casts of their own. Who predicts times counts
    launches by `Autocast`, casts included (`perfc.analyzers.steps`).
    """

    dtype: str = "f16"

    def run(self, module: Module, am: Analyses) -> Module:
        """The module in mixed precision.

        Raises:
            PassError: the model is not stored in f32, or loops or branches while it runs.
        """
        require_castable(module)
        graph = Mixing(BY_CODE[self.dtype]).graph(module.graph)
        return Module(graph, module.symbols, module.origin)


def require_castable(module: Module) -> None:
    """Refuse what autocast what-ifs know nothing of.

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
    if any(is_narrow_matrix(v) for v in module.graph.weights):
        raise PassError(
            "autocast is of models stored in f32", hint="leave --dtype out", where="autocast"
        )


def is_narrow_matrix(v: Value) -> bool:
    """Whether it is a matrix or more of floats below 32 bits."""
    dtype = element_type(v)
    return (
        isinstance(v.type, TensorType)
        and len(v.type.shape or ()) > 1
        and dtype.is_float
        and dtype.bits < DType.F32.bits
    )


def on_values(node: Node, ins: Inputs, outs: Inputs, narrow: DType) -> Node:
    """The node on other values, whose products are done in the narrow type."""
    if (ins, outs) == (node.inputs, node.outputs):
        return node
    executed = narrow if operand_positions(node) else None
    op = converting(node.op, executed, tuple(map(element_type, outs)))
    return Node(op, ins, outs, (), node.loc)


@entity
class Mixing:
    """State of one walk: which value stands for which."""

    narrow: DType
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def graph(self, graph: Graph) -> Graph:
        """The graph with narrow activations."""
        nodes = tuple(self.node(node) for node in graph.nodes)
        outputs = tuple(self.values.get(v, v) for v in graph.outputs)
        return Graph(graph.name, graph.inputs, outputs, nodes, graph.weights)

    def node(self, node: Node) -> Node:
        """The node on values that are narrow."""
        ins = tuple(v and self.values.get(v, v) for v in node.inputs)
        return on_values(node, ins, tuple(v and self.value(v) for v in node.outputs), self.narrow)

    def value(self, v: Value) -> Value:
        """What stands for ``v``: the same object where nothing changes."""
        type_ = retyped(v.type, self.narrow)
        if type_ == v.type:
            return v
        made = self.values[v] = Value(v.name, type_, v.known, v.weight)
        return made
