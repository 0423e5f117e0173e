"""Makes a graph out of another one, keeping every node that nothing happens to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfc.errors import ParseError

from .dim import interval
from .graph import Graph, Module, Node, Value
from .names import symbol_name
from .sizes import sizes_of


class Rewriter:
    """Collects changes to a graph and its regions; :meth:`result` applies them in one sweep.

    >>> from perfc.ir import Graph, TensorType, DType, Value
    >>> g = Graph("g", (Value("x", TensorType(DType.F32, (2,))),), ())
    >>> Rewriter(g).result() is g
    True
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._uses: dict[Value, Value] = {}
        self._nodes: dict[Node, tuple[Node, ...]] = {}
        self._weights: list[Value] = []
        self._dropped: set[Value] = set()

    def replace_uses(self, old: Value, new: Value) -> None:
        """Everything that reads ``old`` reads ``new``; ``old`` stays defined where it is."""
        if old is not new:
            self._uses[old] = new

    def replace_node(self, node: Node, *others: Node) -> None:
        """``others`` stand where ``node`` stood. They may read old values and define its results.

        Their own inputs are mapped as those of any other node.
        """
        self._nodes[node] = others

    def erase(self, node: Node) -> None:
        """Take ``node`` out; nothing may read its results any more."""
        self._nodes[node] = ()

    def add_weight(self, value: Value) -> None:
        """A further stored tensor of the outermost graph."""
        self._weights.append(value)

    def drop_weight(self, value: Value) -> None:
        """Take a stored tensor out that nothing reads any more."""
        self._dropped.add(value)

    def value(self, old: Value) -> Value:
        """What is read in the place of ``old``."""
        new = self._uses.get(old)
        if new is None:
            return old
        chain = [old]
        while new in self._uses and new not in chain:
            chain.append(new)
            new = self._uses[new]
        for link in chain:
            self._uses[link] = new
        return new

    def result(self) -> Graph:
        """The graph with all changes; the same object where there are none."""
        made = self._graph(self.graph)
        if not self._weights:
            return made
        return replace(made, weights=(*made.weights, *self._weights))

    def _graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for node in graph.nodes:
            nodes.extend(self._node(n) for n in self._nodes.get(node, (node,)))
        weights = tuple(w for w in graph.weights if w not in self._dropped)
        outputs = tuple(self.value(v) for v in graph.outputs)
        unchanged = (
            weights == graph.weights
            and outputs == graph.outputs
            and len(nodes) == len(graph.nodes)
            and all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
        )
        return (
            graph if unchanged else Graph(graph.name, graph.inputs, outputs, tuple(nodes), weights)
        )

    def _node(self, node: Node) -> Node:
        uses = self._uses
        inputs, regions = node.inputs, node.regions
        if any(v in uses for v in inputs):
            inputs = tuple(None if v is None else self.value(v) for v in inputs)
        if regions:
            made = tuple(self._graph(r) for r in regions)
            if any(a is not b for a, b in zip(made, regions, strict=True)):
                regions = made
        if inputs is node.inputs and regions is node.regions:
            return node
        return Node(node.op, inputs, node.outputs, regions, node.loc)


def with_graph(module: Module, graph: Graph) -> Module:
    """``module`` around ``graph``; the same object where that is its graph already."""
    return module if graph is module.graph else replace(module, graph=graph)


def with_defaults(module: Module, values: Mapping[str, int]) -> Module:
    """``module`` with other values assumed for its symbols, by name.

    Raises:
        ParseError: no such symbol, or a value outside its range.
    """
    declared = {s.name: s for s in module.symbols}
    given = sizes_of({symbol_name(n) if n in declared else n: v for n, v in values.items()})
    for name, value in given.items():
        s = declared.get(name)
        if s is None:
            names = ", ".join(map(symbol_name, declared))
            hint = f"the model has {names}" if names else "the model has none"
            raise ParseError(f"no symbol {name}", where="--dim", hint=hint)
        hi = None if s.hi is None else interval(s.hi)[1]
        if value < s.lo or (hi is not None and value > hi):
            raise ParseError(f"{name}={value} is outside {s.lo}..{hi or ''}", where="--dim")
    return replace(
        module,
        symbols=tuple(
            replace(s, default=given[s.name], tie=None) if s.name in given else s
            for s in module.symbols
        ),
    )
