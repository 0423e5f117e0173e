"""Producers and readers of values with views skipped; patterns are written in these terms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from perfc.ir import Graph, Kind, Node, Value, mutable
from perfc.ir.ops.elementwise.elementwise import Div, Mul

from ..runtimes import Runtime

MAX_READERS = 8
"""Values with more readers are inside no pattern; this limit keeps the search linear."""
FACTORS = (Mul, Div)
"""Operators that scale one operand by the other."""


@mutable
class Neighbourhood:
    """Consecutive nodes of one graph, with the views of a runtime skipped.

    Args:
        graph: graph of the nodes.
        table: fusion table of the runtime, which decides what is a view.
        inside: nodes that may fuse.
        shows: for each result of a view the value whose bytes it shows.
        outputs: results of the graph, which must be in memory.
        reading: cache of `readers`.
    """

    graph: Graph
    table: Runtime
    inside: Collection[Node]
    shows: Mapping[Value, Value]
    outputs: frozenset[Value] = field(init=False)
    reading: dict[Value, tuple[Node, ...] | None] = field(init=False)
    fused: dict[Node, list[Node]] | None = None
    """Groups of nodes that TVM's fusion by post-dominators forms, by member. It is a cache, which
    `post_dominators.fused_with` fills at its first call; None before."""

    def __post_init__(self) -> None:
        self.outputs = frozenset(self.graph.outputs)
        self.reading = {}

    def root(self, v: Value) -> Value:
        """Return the value whose bytes ``v`` shows."""
        return self.shows.get(v, v)

    def maker(self, v: Value | None) -> Node | None:
        """Return the node that computes ``v``, views skipped; None if it is not in ``inside``."""
        if v is None or v.weight is not None:
            return None
        node = self.graph.producers.get(self.root(v))
        return node if node in self.inside else None

    def readers(self, v: Value) -> tuple[Node, ...] | None:
        """Return readers of ``v``, views skipped; None if it leaves the graph or has too many."""
        if v not in self.reading:
            self.reading[v] = self._readers(v)
        return self.reading[v]

    def _readers(self, v: Value) -> tuple[Node, ...] | None:
        """Search for the readers of a value; see `readers`."""
        users = self.graph.users
        readers: dict[Node, None] = {}
        stack = [v]
        steps = 0
        while stack:
            w = stack.pop()
            if w in self.outputs:
                return None
            for node in users.get(w, ()):
                # views count as well, so that long chains of them end
                steps += 1
                if steps > 2 * MAX_READERS or len(readers) > MAX_READERS:
                    return None
                if node.inputs and node.inputs[0] is w and self.table.is_view(node):
                    stack.extend(node.results)
                # shape operators read the type, not the elements
                elif node.op.kind is not Kind.SHAPE:
                    readers[node] = None
        return tuple(readers)

    def lone(self, v: Value) -> Node | None:
        """Return the only reader of ``v``; None if there are others or it is not in ``inside``."""
        readers = self.readers(v)
        if readers is None or len(readers) != 1 or readers[0] not in self.inside:
            return None
        return readers[0]

    def computed(self, node: Node) -> list[Value]:
        """Return operands that are not stored tensors, views skipped, each once."""
        roots: dict[Value, None] = {}
        shows = self.shows
        for v in node.inputs:
            if v is not None and v.weight is None:
                root = shows.get(v, v)
                if root.weight is None:
                    roots[root] = None
        return list(roots)

    def stored(self, node: Node) -> list[Value]:
        """Return operands that are stored tensors."""
        return [
            v
            for v in node.inputs
            if v is not None and (v.weight or self.root(v).weight) is not None
        ]

    def is_sealed(self, members: Collection[Node], out: Value) -> bool:
        """Return True if no other node reads results of ``members``, except ``out``."""
        for m in members:
            for v in m.results:
                if v is out:
                    continue
                readers = self.readers(v)
                if readers is None or any(r not in members for r in readers):
                    return False
        return True


def is_scalar(v: Value) -> bool:
    """Return True if a value has one element."""
    return v.numel == 1


def number(v: Value | None) -> float | None:
    """Return the known number in a value of one element, None if unknown."""
    if v is None or v.known is None or not is_scalar(v):
        return None
    item = v.known.item
    return float(item) if isinstance(item, int | float) else None


def scalar_operand(node: Node) -> float | None:
    """Return the stored number that a node combines with its other operand, if known."""
    stored = (number(v) for v in node.inputs if v is not None and v.weight is not None)
    return next((n for n in stored if n is not None), None)


def is_scaled(node: Node, near: Neighbourhood) -> bool:
    """Return True if a node multiplies or divides its operand by one stored number."""
    if not isinstance(node.op, FACTORS) or len(near.computed(node)) != 1:
        return False
    constants = near.stored(node)
    return len(constants) == 1 and is_scalar(constants[0])


def has_stored_contents(node: Node, near: Neighbourhood) -> bool:
    """Return True if the file contains the stored operands of a node.

    Operands that passes compute from symbolic extents count as stored tensors, although the runtime
    computes them. No file contains such an operand, so its ``nbytes`` is None.
    """
    return all(v.weight is not None and v.weight.nbytes is not None for v in near.stored(node))


def is_channelwise(v: Value, axis: int = -1) -> bool:
    """Return True if a stored operand has one element for each position of ``axis``."""
    shape = v.shape
    if v.weight is None or shape is None:
        return False
    axes = [i - len(shape) for i, d in enumerate(shape) if d != 1]
    # a number has no axes, and fits every channel
    return not axes or axes == [axis]
