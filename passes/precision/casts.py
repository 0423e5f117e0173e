"""Autocast of a training step, with every cast of the framework as a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

from perfc.ir import DType, Graph, Kind, Module, Node, Phase, TensorType, Value, entity, frozen
from perfc.ir.gradients.tape import Tape
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.symbolic.fresh import numbering
from perfc.ir.syntax.text import all_values
from perfc.ir.tensors.types import BY_CODE

from .. import Transform
from ..fusion.fuse import Fuse
from ..fusion.neighbourhood import is_scalar
from ..manager import Analyses
from .autocast import Autocast, Policy, StoredTypes, policy
from .mixed import on_values, require_castable
from .retype import is_wide_float


@frozen
class Casts(Transform):
    """Insert PyTorch's autocast casts, so that the backward pass saves the same tensors.

    `Mixed` counts the least traffic of any autocast. A step stores more: the residual stream and
    inputs of normalisations are f32, probabilities are stored in f32 and in the narrow type, and
    a parameter that products read is cast once a step.

    Source: PyTorch, aten/src/ATen/autocast_mode.cpp: `cached_cast` keeps copies of parameters.

    Args:
        dtype: element type of products.
        runtime: fusion table that decides which operators PyTorch sees.
    """

    dtype: str = "f16"
    runtime: str = "eager"
    requires: ClassVar = (Autocast, Fuse)

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module with casts.

        Raises:
            PassError: the model is not stored in f32, or loops or branches while it runs.
        """
        require_castable(module)
        stored = am.get(Autocast(self.dtype, self.runtime), module)
        policies = {
            node: policy(kernel)
            for kernel in am.get(Fuse(self.runtime), module).kernels
            for node in kernel.nodes
        }
        with numbering():
            graph = Casting(BY_CODE[self.dtype], stored, policies).graph(module.graph)
        return Module(graph, module.symbols, module.origin)


@entity
class Casting:
    """State of one walk over a graph.

    Args:
        narrow: element type of products.
        stored: type in which each value is stored.
        policies: treatment of each node's operands by autocast.
        values: replacements of values that are stored in another type.
        cast: casts of parameters, by parameter and type, as each is computed once.
    """

    narrow: DType
    stored: StoredTypes
    policies: Mapping[Node, Policy]
    values: dict[Value, Value] = field(default_factory=dict)
    cast: dict[tuple[Value, DType], Value] = field(default_factory=dict)

    def graph(self, graph: Graph) -> Graph:
        """Return the graph with a node for each cast."""
        tape = Tape((v.name for v in all_values(graph)), Phase.FORWARD)
        tape.suffix = ".cast"
        nodes: list[Node] = []
        for node in graph.nodes:
            converted = self.node(node, tape)
            # casts stand before the node that reads them
            nodes += [*tape.nodes, converted]
            tape.nodes = []
        outputs = tuple(self.values.get(v, v) for v in graph.outputs)
        return Graph(graph.name, graph.inputs, outputs, tuple(nodes), graph.weights)

    def node(self, node: Node, tape: Tape) -> Node:
        """Return the node with operands and results in their stored types; casts go on the tape."""
        tape.place = node.loc
        wanted = self.wanted(node)
        ins = tuple(v and self.operand(v, wanted, tape) for v in node.inputs)
        return on_values(node, ins, tuple(v and self.value(v) for v in node.outputs), self.narrow)

    def wanted(self, node: Node) -> DType | None:
        """Return the type to which a node's operands are cast; None if it reads any type."""
        if node.op.kind is Kind.VIEW:
            # a view converts nothing: its operand must have the type stored for its result
            dtype = next((self.stored.of(v) for v in node.results), DType.UNKNOWN)
            return dtype if is_wide_float(dtype) else None
        match self.policies.get(node):
            case Policy.NARROW:
                return self.narrow
            case Policy.WIDE:
                return DType.F32
            case _:
                return None

    def operand(self, v: Value, wanted: DType | None, tape: Tape) -> Value:
        """Return ``v`` or a cast of it, as a node reads it: numbers and integers are never cast."""
        current = self.values.get(v, v)
        if wanted is None or current.dtype is wanted:
            return current
        if is_scalar(current) or not is_wide_float(current.dtype):
            return current
        if current.weight is None:
            return tape.apply(Cast(to=wanted), current)
        # an activation is cast at each use, a parameter once: autocast caches these casts alone
        key = current, wanted
        if key not in self.cast:
            self.cast[key] = tape.apply(Cast(to=wanted), current)
        return self.cast[key]

    def value(self, v: Value) -> Value:
        """Return the replacement of ``v``; the same object if its type stays."""
        dtype = self.stored.of(v)
        if not isinstance(v.type, TensorType) or dtype is v.type.dtype or v.weight is not None:
            return v
        result = self.values[v] = Value(v.name, replace(v.type, dtype=dtype), v.known, v.weight)
        return result
