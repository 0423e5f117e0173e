"""Who makes and who reads values once views are looked through: what patterns are stated in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from perfc.ir.graph import Graph, Node, Value
from perfc.ir.op import Kind
from perfc.ir.ops.elementwise import Div, Mul
from perfc.ir.record import mutable
from perfc.ir.types import TensorType

from .runtimes import Runtime

MAX_READERS = 8
"""Values with more readers are inside no pattern; looking no further keeps the search linear."""
FACTORS = (Mul, Div)
"""Operators that scale one operand by the other."""


@mutable
class Neighbourhood:
    """A run of nodes of one graph, seen as the runtime does: its views move nothing."""

    graph: Graph
    table: Runtime
    inside: Collection[Node]
    shows: Mapping[Value, Value]
    outputs: frozenset[Value] = field(init=False)
    reading: dict[Value, tuple[Node, ...] | None] = field(init=False)

    def __post_init__(self) -> None:
        self.outputs = frozenset(self.graph.outputs)
        self.reading = {}

    def root(self, v: Value) -> Value:
        """The value whose bytes ``v`` shows."""
        return self.shows.get(v, v)

    def maker(self, v: Value | None) -> Node | None:
        """The node that makes ``v``, views skipped; None where it is not one of ``inside``."""
        if v is None or v.weight is not None:
            return None
        node = self.graph.producers.get(self.root(v))
        return node if node in self.inside else None

    def readers(self, v: Value) -> tuple[Node, ...] | None:
        """The nodes that read ``v``, views skipped; None where it leaves the graph or has many."""
        if v not in self.reading:
            self.reading[v] = self._readers(v)
        return self.reading[v]

    def _readers(self, v: Value) -> tuple[Node, ...] | None:
        users = self.graph.users
        readers: dict[Node, None] = {}
        stack = [v]
        steps = 0
        while stack:
            w = stack.pop()
            if w in self.outputs:
                return None
            for node in users.get(w, ()):
                steps += 1
                if steps > 2 * MAX_READERS or len(readers) > MAX_READERS:
                    return None
                if node.inputs and node.inputs[0] is w and self.table.is_view(node):
                    stack.extend(node.results)
                elif node.op.kind is not Kind.SHAPE:
                    readers[node] = None
        return tuple(readers)

    def lone(self, v: Value) -> Node | None:
        """The only reader of ``v``; None where there are more, or it is not one of ``inside``."""
        readers = self.readers(v)
        if readers is None or len(readers) != 1 or readers[0] not in self.inside:
            return None
        return readers[0]

    def computed(self, node: Node) -> list[Value]:
        """Operands that are not stored tensors, each as the value behind its views, once."""
        roots: dict[Value, None] = {}
        shows = self.shows
        for v in node.inputs:
            if v is not None and v.weight is None:
                root = shows.get(v, v)
                if root.weight is None:
                    roots[root] = None
        return list(roots)

    def stored(self, node: Node) -> list[Value]:
        """Operands that are stored tensors."""
        return [
            v
            for v in node.inputs
            if v is not None and (v.weight or self.root(v).weight) is not None
        ]

    def is_sealed(self, members: Collection[Node], out: Value) -> bool:
        """Whether nobody else reads what ``members`` make, but for ``out``."""
        for m in members:
            for v in m.results:
                if v is out:
                    continue
                readers = self.readers(v)
                if readers is None or any(r not in members for r in readers):
                    return False
        return True


def is_scalar(v: Value) -> bool:
    """Whether a value has one element."""
    return isinstance(v.type, TensorType) and v.type.numel == 1


def number(v: Value | None) -> float | None:
    """The number that a value of one element is known to be."""
    if v is None or v.known is None or not is_scalar(v):
        return None
    item = v.known.item
    return float(item) if isinstance(item, int | float) else None


def scalar_operand(node: Node) -> float | None:
    """The one stored number that a node combines with its other operand, where it is known."""
    stored = (number(v) for v in node.inputs if v is not None and v.weight is not None)
    return next((found for found in stored if found is not None), None)


def is_scaled(node: Node, near: Neighbourhood) -> bool:
    """Whether a node multiplies or divides its operand by one stored number."""
    if not isinstance(node.op, FACTORS) or len(near.computed(node)) != 1:
        return False
    constants = near.stored(node)
    return len(constants) == 1 and is_scalar(constants[0])


def is_stated(node: Node, near: Neighbourhood) -> bool:
    """Whether the file itself states the stored operands of a node.

    What follows from extents that are symbols is computed by a runtime, though it is known here.
    """
    return all(v.weight is not None and v.weight.nbytes is not None for v in near.stored(node))


def is_channelwise(v: Value, axis: int = -1) -> bool:
    """Whether a stored operand has one element for each position of ``axis`` of a result."""
    if v.weight is None or not isinstance(v.type, TensorType) or v.type.shape is None:
        return False
    shape = v.type.shape
    wide = [i - len(shape) for i, d in enumerate(shape) if d != 1]
    return not wide or wide == [axis]
