"""Build a changed graph from another one; unaffected nodes are reused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfc.errors import ParseError

from .. import Graph, Module, Node, SymbolDecl, Value, interval
from ..symbolic.sizes import sizes_of
from ..syntax.names import symbol_name


class Rewriter:
    """Collects changes to a graph and its regions; :meth:`result` applies them in one sweep.

    >>> from perfc.ir import Graph, TensorType, DType, Value
    >>> g = Graph("g", (Value("x", TensorType(DType.F32, (2,))),), ())
    >>> Rewriter(g).result() is g
    True
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # by old value or node: what readers read, what is defined, and which nodes compute instead
        self._uses: dict[Value, Value] = {}
        self._definitions: dict[Value, Value] = {}
        self._nodes: dict[Node, tuple[Node, ...]] = {}
        self._weights: list[Value] = []
        self._dropped: set[Value] = set()

    def replace_uses(self, old: Value, new: Value) -> None:
        """Make every reader of ``old`` read ``new``; ``old`` stays defined."""
        if old is not new:
            self._uses[old] = new

    def redefine(self, old: Value, new: Value) -> None:
        """Replace the definition and the uses of ``old`` by ``new``, of another type or content."""
        if old is not new:
            self._definitions[old] = new
            self._uses[old] = new

    def replace_node(self, node: Node, *others: Node) -> None:
        """Replace ``node`` by ``others``, which may read old values and define its results.

        The inputs of ``others`` are mapped like those of any other node.
        """
        self._nodes[node] = others

    def erase(self, node: Node) -> None:
        """Remove ``node``; its results must not be read any more."""
        self._nodes[node] = ()

    def add_weight(self, value: Value) -> None:
        """Add a stored tensor to the outermost graph."""
        self._weights.append(value)

    def drop_weight(self, value: Value) -> None:
        """Remove a stored tensor that is not read any more."""
        self._dropped.add(value)

    def value(self, old: Value) -> Value:
        """Return the value that replaces ``old``."""
        new = self._uses.get(old)
        if new is None:
            return old
        # a replacement may be replaced in turn: follow the chain, whose links then all point to its
        # end; a cycle ends at its first repeated value
        chain = [old]
        while new in self._uses and new not in chain:
            chain.append(new)
            new = self._uses[new]
        for link in chain:
            self._uses[link] = new
        return new

    def result(self) -> Graph:
        """Return the graph with all changes; the same object if there are none."""
        rewritten = self._graph(self.graph)
        if not self._weights:
            return rewritten
        return replace(rewritten, weights=(*rewritten.weights, *self._weights))

    def _graph(self, graph: Graph) -> Graph:
        """Return a graph with the changes; the same object if there are none."""
        nodes: list[Node] = []
        for node in graph.nodes:
            nodes.extend(self._node(n) for n in self._nodes.get(node, (node,)))
        inputs = self._defined(graph.inputs)
        weights = self._defined(tuple(w for w in graph.weights if w not in self._dropped))
        outputs = tuple(self.value(v) for v in graph.outputs)
        # an unchanged graph stays the same object, so that results cached for it stay valid
        unchanged = (
            inputs == graph.inputs
            and weights == graph.weights
            and outputs == graph.outputs
            and len(nodes) == len(graph.nodes)
            and all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
        )
        return graph if unchanged else Graph(graph.name, inputs, outputs, tuple(nodes), weights)

    def _node(self, node: Node) -> Node:
        """Return a node with the changes of its values and regions; the same object if none."""
        uses = self._uses
        inputs, outputs, regions = node.inputs, node.outputs, node.regions
        if any(v in uses for v in inputs):
            inputs = tuple(None if v is None else self.value(v) for v in inputs)
        if any(v in self._definitions for v in outputs):
            outputs = tuple(None if v is None else self._definitions.get(v, v) for v in outputs)
        if regions:
            rewritten = tuple(self._graph(r) for r in regions)
            if any(a is not b for a, b in zip(rewritten, regions, strict=True)):
                regions = rewritten
        if inputs is node.inputs and outputs is node.outputs and regions is node.regions:
            return node
        return Node(node.op, inputs, outputs, regions, node.loc)

    def _defined(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return values with their new definitions."""
        return tuple(self._definitions.get(v, v) for v in values)


def with_graph(module: Module, graph: Graph) -> Module:
    """Return ``module`` with ``graph``; the same object if that is its graph already."""
    return module if graph is module.graph else replace(module, graph=graph)


def require_range(symbol: SymbolDecl, value: int, where: str = "") -> None:
    """Raise an error for a value outside the range of a symbol.

    Raises:
        ParseError: it is outside.
    """
    # a limit in terms of other symbols counts as the most that they allow
    hi = None if symbol.hi is None else interval(symbol.hi)[1]
    if value < symbol.lo or (hi is not None and value > hi):
        range_ = f"{symbol.lo}..{'' if hi is None else hi}"
        what = f"{symbol_name(symbol.name)}={value} is outside {range_}"
        raise ParseError(what, where=where, hint="the model allows no other size")


def with_defaults(module: Module, values: Mapping[str, int]) -> Module:
    """Return ``module`` with other default values for its symbols, by name.

    A symbol with a given value is no longer tied to others.

    Raises:
        ParseError: unknown symbol, or a value outside its range.
    """
    declared = {s.name: s for s in module.symbols}
    # names in errors are those of the text form
    given = sizes_of({symbol_name(n) if n in declared else n: v for n, v in values.items()})
    for name, value in given.items():
        s = declared.get(name)
        if s is None:
            names = ", ".join(map(symbol_name, declared))
            hint = f"the model has {names}" if names else "the model has none"
            raise ParseError(f"no symbol {name}", where="--dim", hint=hint)
        require_range(s, value, where="--dim")
    return replace(
        module,
        symbols=tuple(
            replace(s, default=given[s.name], tie=None) if s.name in given else s
            for s in module.symbols
        ),
    )
