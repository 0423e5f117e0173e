"""Matching of a runtime's optimized graph to ONNX nodes.

A runtime fuses, renames and moves nodes, but values that remain have the same names. So a node of
the optimized graph executes the source nodes between the values that it reads and those that it
writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from perfc.ir import Graph, Node, record, walk


class How(Enum):
    """Methods by which nodes were matched to a runtime's kernel."""

    TRACED = "traced"
    """Matched by the values that the node reads and writes."""
    NAMED = "named"
    """Matched by name."""
    INSERTED = "inserted"
    """A copy or change of layout without a node, assigned to the node whose value it moves."""


@record
class OptimizedNode:
    """Node of the runtime's optimized graph; inputs and outputs are names of values."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@record
class SourceNodes:
    """ONNX nodes of one kernel of a runtime."""

    nodes: frozenset[Node]
    how: How


_COPIES = frozenset({"ReorderInput", "ReorderOutput", "MemcpyToHost", "MemcpyFromHost"})
"""Copy operators of runtimes, whose result is their input."""
_TOKEN = re.compile(r"_token_\d+$")
"""Suffix that onnxruntime's optimizers add to a name that they use again."""
_EPILOGUES = frozenset(
    {
        "BatchNormalization",
        "Relu",
        "Clip",
        "LeakyRelu",
        "Sigmoid",
        "Tanh",
        "HardSigmoid",
        "Add",
        "Mul",
    }
)
"""Operators that runtimes merge into the preceding kernel."""
_NARROWING = frozenset({"QuantizeLinear", "Relu", "Clip"})
"""Operators that runtimes merge into a preceding quantized kernel."""
BLOCKED = "_nchwc"
"""Suffix of the name of an operator on blocked channels, after the name of its result."""
SCALED = "_bn_nchwc"
"""Suffix of the name of a convolution that was a normalization, on blocked channels."""
MAX_MERGED = 5
"""Maximum nodes merged into a kernel after its first node, as a bias, an activation and a sum."""
MAX_ROUNDS = 4
"""Maximum walks over the graph. Each uses the matches of the one before; later ones find few."""


def optimized_nodes(path: str) -> tuple[tuple[OptimizedNode, ...], frozenset[str]]:
    """Return the nodes of an optimized graph, including subgraphs, and its stored tensors."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    nodes: list[OptimizedNode] = []
    stored: set[str] = set()

    def visit(g: onnx.GraphProto) -> None:
        stored.update(t.name for t in g.initializer)
        for n in g.node:
            nodes.append(OptimizedNode(n.name, n.op_type, tuple(n.input), tuple(n.output)))
            for a in n.attribute:
                if a.HasField("g"):
                    visit(a.g)

    visit(graph)
    return tuple(nodes), frozenset(stored)


@dataclass(slots=True)
class NameIndex:
    """Index of source nodes by the names that a runtime may use.

    Args:
        by_name: node by its name, if the name is unique.
        makers: node that makes a value, by the name of the value.
        below: nodes by the name of the call or module that they are part of.
        narrowed: result by operand of operators that a quantized kernel may include.
    """

    by_name: dict[str, Node] = field(default_factory=dict)
    makers: dict[str, Node] = field(default_factory=dict)
    below: dict[str, set[Node]] = field(default_factory=dict)
    narrowed: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(graph: Graph) -> NameIndex:
        """Index a graph; ambiguous names are ignored."""
        names = NameIndex()
        twice: set[str] = set()
        for node in walk(graph):
            for v in node.results:
                names.makers.setdefault(v.name, node)
            if node.loc.op_type in _NARROWING and node.inputs[0] is not None:
                names.narrowed[node.inputs[0].name] = node.results[0].name
            name = node.loc.stored_name
            if name:
                names.below.setdefault(name, set()).add(node)
                if name in names.by_name:
                    twice.add(name)
                names.by_name.setdefault(name, node)
        for name in twice:
            del names.by_name[name]
        return names

    def find(self, name: str) -> Node | None:
        """Return the node that the name of a node, a value or a fused node derives from."""
        for candidate in candidates(name):
            node = self.by_name.get(candidate) or self.makers.get(candidate)
            if node is not None:
                return node
        return None


def candidates(name: str) -> Iterable[str]:
    """Yield a name, and the name without suffixes of runtimes."""
    yield name
    bare = _TOKEN.sub("", name)
    yield bare
    if bare.endswith(BLOCKED):
        bare = bare.removesuffix(BLOCKED)
        yield bare
        yield bare.removesuffix("_bn")
    # names of fused nodes add levels to that of a node, as ``a/b/MatMul/MatMulScaleFusion/``; more
    # than three are not seen
    cut = bare.rstrip("/")
    for _ in range(3):
        cut, slash, _ = cut.rpartition("/")
        if not slash:
            return
        yield cut


@dataclass(slots=True)
class Tracing:
    """Matching of values of the optimized graph to equal values of the source graph.

    Args:
        nodes: nodes of the optimized graph.
        stored: its stored tensors.
        names: index of the source graph.
        inputs: inputs of the source graph.
        same: the result: equal value of the source graph, by value of the optimized graph.
        anchors: source node after which a node of the optimized graph is named, by index of the
            latter.
    """

    nodes: Sequence[OptimizedNode]
    stored: frozenset[str]
    names: NameIndex
    inputs: frozenset[str]
    same: dict[str, str] = field(default_factory=dict)
    anchors: dict[int, Node] = field(default_factory=dict)

    def run(self) -> None:
        """Match names, then propagate matches until nothing changes."""
        for n in self.nodes:
            for v in (*n.inputs, *n.outputs):
                if v in self.names.makers or v in self.inputs:
                    self.same[v] = v
        for i, n in enumerate(self.nodes):
            maker = next((self.names.makers[v] for v in n.outputs if v in self.names.makers), None)
            anchor = maker or self.names.find(n.name)
            if anchor is not None:
                self.anchors[i] = anchor
        for _ in range(MAX_ROUNDS):
            before = len(self.same)
            for i, n in enumerate(self.nodes):
                self.step(i, n)
            if len(self.same) == before:
                break
        for i, n in enumerate(self.nodes):
            self.last_resort(i, n)

    def step(self, i: int, n: OptimizedNode) -> None:
        """Match the operands of one node, or operand and result of a copy."""
        if self.is_move(i, n) and n.inputs and n.outputs:
            source, target = n.inputs[0], n.outputs[0]
            if source in self.same:
                self.same.setdefault(target, self.same[source])
            elif target in self.same:
                self.same[source] = self.same[target]
            return
        anchor = self.head(i, n)
        if anchor is None:
            return
        # the same operator with as many operands reads the same values in order; else only the
        # first operand is certain, as fusions append theirs
        is_whole = anchor.loc.op_type == n.op and len(anchor.inputs) == len(n.inputs)
        for k, name in enumerate(n.inputs):
            operand = anchor.inputs[k] if k < len(anchor.inputs) else None
            if operand is None or name in self.same or name in self.stored or not name:
                continue
            # a normalization that became a convolution has the same first operand
            is_scaled = n.op == "Conv" and anchor.loc.op_type == "BatchNormalization"
            if (k == 0 and (anchor.loc.op_type == n.op or is_scaled)) or is_whole:
                self.same[name] = operand.name

    def is_move(self, i: int, n: OptimizedNode) -> bool:
        """Return True if a node was inserted by the runtime.

        A copy that is named after a transposition does its work, and was not inserted.
        """
        anchor = self.anchors.get(i)
        if n.op in _COPIES:
            return anchor is None or anchor.loc.op_type != "Transpose"
        return n.op == "Cast" and anchor is None

    def head(self, i: int, n: OptimizedNode) -> Node | None:
        """Return the first node of a kernel that is named after its last merged node."""
        # backwards from the last merged node over epilogues, to a node with the kernel's operator
        node = self.anchors.get(i)
        if SCALED in n.name:
            return node
        for _ in range(MAX_MERGED):
            if node is None or node.loc.op_type == n.op:
                return node
            before = next((v for v in node.inputs if v is not None and v.weight is None), None)
            if node.loc.op_type not in _EPILOGUES or before is None:
                break
            node = self.names.makers.get(before.name)
        return self.anchors.get(i)

    def last_resort(self, i: int, n: OptimizedNode) -> None:
        """Match a result, if none is matched yet, to that of the node the kernel is named after."""
        anchor = self.anchors.get(i)
        if anchor is None or any(v in self.same for v in n.outputs):
            return
        results = anchor.results
        if n.outputs and results:
            name = results[0].name
            # the result of a quantized kernel is that of its requantization and activation
            while n.op.startswith(("QLinear", "Nhwc")) and name in self.names.narrowed:
                name = self.names.narrowed[name]
            self.same.setdefault(n.outputs[0], name)


def trace(
    nodes: Sequence[OptimizedNode], stored: frozenset[str], graph: Graph
) -> dict[str, SourceNodes]:
    """Return the ONNX nodes of each node of an optimized graph, by its name."""
    names = NameIndex.of(graph)
    inputs = frozenset(v.name for v in graph.inputs)
    tracing = Tracing(nodes, stored, names, inputs)
    tracing.run()
    same = tracing.same
    # values that exist in the optimized graph: no kernel includes nodes before one that it reads
    borders = {same[v] for n in nodes for v in (*n.inputs, *n.outputs) if v in same} | stored
    origins: dict[str, SourceNodes] = {}
    assigned: set[Node] = set()  # a node belongs to the first kernel that reaches it
    for i, n in enumerate(nodes):
        targets = [same[v] for v in n.outputs if v in same]
        inner = {same[v] for v in n.inputs if v in same}
        if tracing.is_move(i, n):
            continue
        # the walk back from the results of a node passes them, unless the node reads them as well
        group = between(targets, (borders - set(targets)) | inner, names.makers)
        anchor = tracing.anchors.get(i)
        if anchor is not None and not group:
            group = {anchor}
        fresh = frozenset(group - assigned)
        if fresh:
            assigned |= fresh
            origins[n.name] = SourceNodes(fresh, How.TRACED if targets else How.NAMED)
    attach(nodes, origins, {v: i for i, n in enumerate(nodes) for v in n.outputs})
    return origins


def between(targets: Iterable[str], borders: set[str], makers: Mapping[str, Node]) -> set[Node]:
    """Return the nodes that lead to ``targets`` without passing a border."""
    group: set[Node] = set()
    waiting = [t for t in targets if t in makers]
    while waiting:
        node = makers[waiting.pop()]
        if node in group:
            continue
        group.add(node)
        waiting += [
            v.name
            for v in node.inputs
            if v is not None and v.weight is None and v.name in makers and v.name not in borders
        ]
    return group


def attach(
    nodes: Sequence[OptimizedNode], origins: dict[str, SourceNodes], maker: Mapping[str, int]
) -> None:
    """Attribute unmatched kernels to the kernel that makes an operand, else to one that reads."""
    readers: dict[str, list[int]] = {}
    for i, n in enumerate(nodes):
        for v in n.inputs:
            readers.setdefault(v, []).append(i)
    # forward, then backward: a chain of copies gets the nodes of the kernel at one of its ends
    for order in (nodes, list(reversed(nodes))):
        for n in order:
            if n.name in origins:
                continue
            before = [maker[v] for v in n.inputs if v in maker]
            after = [r for v in n.outputs for r in readers.get(v, ())]
            near = next(
                (nodes[k].name for k in (*before, *after) if nodes[k].name in origins), None
            )
            if near is not None:
                origins[n.name] = SourceNodes(origins[near].nodes, How.INSERTED)
