"""Constant folding, inlining of decided branches and dead-code removal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from perfc.ir import (
    Graph,
    Inputs,
    Kind,
    Module,
    Node,
    Phase,
    TensorType,
    Value,
    Weight,
    captured,
    entity,
    frozen,
)
from perfc.ir.ops.control.control import If, Loop
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.movement.movement import Expand, Transpose
from perfc.ir.ops.movement.slice import Slice
from perfc.ir.ops.movement.view import Clone, Identity, ToContiguous, View

from .. import Transform
from ..manager import Analyses

if TYPE_CHECKING:
    from perfc.ir.gradients.tape import Tape

NEVER_FOLDED = frozenset({Kind.RANDOM, Kind.CONTROL, Kind.OPAQUE, Kind.OPTIMIZER, Kind.QUANTIZE})
"""Kinds that run each time even on stored tensors: quantized weights stay narrow in memory."""


@frozen
class Canonicalize(Transform):
    """Constant folding on types, branch inlining, identity and dead-code removal.

    A node whose results are all known, or that reads stored tensors only, runs once at load time
    where a session is made: its results become stored tensors that are not parameters. Attention
    that projects its input becomes a product and attention.

    Args:
        keeps_parameters: keep nodes that depend on parameters alone, and tables of positions.
            Training needs it, as parameters change, and so do modules, whose operators run each
            time.
        exports: write a PyTorch program in the operators of its ONNX export.
    """

    keeps_parameters: bool = False
    exports: bool = False

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the smaller module; needs inferred types."""
        tape = None
        if self.exports and module.origin.is_program:
            from perfc.ir.gradients.tape import Tape

            tape = Tape((), Phase.FORWARD)
        graph = Folding({}, self.keeps_parameters, tape).graph(module.graph)
        if graph is module.graph:
            return module
        return Module(graph, module.symbols, module.origin)


def is_resident(value: Value) -> bool:
    """Return True for a stored tensor that stays though no operator reads it."""
    return value.weight is not None and value.weight.is_resident


@entity
class Folding:
    """Rewrites a graph from its inputs to its outputs, then removes dead nodes."""

    replaced: dict[Value, Value]
    """Replacement of each value of the original graph that has one."""
    keeps_parameters: bool = False
    tape: Tape | None = None
    """Writes the operators of an export."""
    changing: set[Value] = field(default_factory=set)
    """Real values computed from parameters: they differ in the next training step."""
    varying: set[Value] = field(default_factory=set)
    """Values that differ by iteration of a loop: inference has the contents of one iteration, which
    must not be folded."""

    def graph(self, graph: Graph) -> Graph:
        """Return the folded graph; the same object if nothing changed."""
        weights = list(graph.weights)
        nodes: list[Node] = []
        for node in graph.nodes:
            self.node(node, nodes, weights)
        outputs = tuple([self.replaced.get(v, v) for v in graph.outputs])
        # dead nodes come last: folding is what makes most of them dead
        alive, used = live_nodes(nodes, outputs)
        used_weights = tuple([w for w in dict.fromkeys(weights) if w in used or is_resident(w)])
        if (used_weights, outputs, alive) == (graph.weights, graph.outputs, list(graph.nodes)):
            return graph
        return Graph(graph.name, graph.inputs, outputs, tuple(alive), used_weights)

    def node(self, node: Node, nodes: list[Node], weights: list[Value]) -> None:
        """Fold, inline or rewrite one node, or append it to ``nodes``."""
        ins = node.inputs
        if not self.replaced.keys().isdisjoint(ins):
            ins = tuple([v and self.replaced.get(v, v) for v in ins])
        if not self.varying.isdisjoint(ins):
            self.varying.update([v for v in node.results if v.known is not None])
        elif self.folds(node, ins):
            for v in node.results:
                # computed, thus no initializer of the file
                weight = Weight(is_parameter=False, shares=shared(node, ins))
                stored = Value(v.name, v.type, v.known, weight)
                self.replaced[v] = stored
                weights.append(stored)
            return
        if self.changes_nothing(node, ins) and ins[0] is not None:
            self.replaced[node.results[0]] = ins[0]
            return
        # nodes of a decided branch are folded like any others, as more of them may be known now
        branch = self.decided(node, ins)
        if branch is not None:
            weights.extend(branch.weights)
            for inner in branch.nodes:
                self.node(inner, nodes, weights)
            for result, inner_result in zip(node.outputs, branch.outputs, strict=False):
                if result is not None:
                    self.replaced[result] = self.replaced.get(inner_result, inner_result)
            return
        if isinstance(node.op, Loop):
            self.varying.update(iterated(node.regions[0]))
        regions = tuple([self.graph(r) for r in node.regions])
        if ins != node.inputs or regions != node.regions:
            node = Node(node.op, ins, node.outputs, regions, node.loc)
        if self.tape is not None:
            from .exported import exported

            if results := exported(node, self.tape, nodes):
                weights.extend(self.tape.constants.values())
                for inner in self.tape.nodes:
                    self.node(inner, nodes, weights)
                self.replaced.update(zip(node.results, results, strict=True))
                return
        nodes += split(node) or (node,)

    def changes_nothing(self, node: Node, ins: Inputs) -> bool:
        """Return True if the result is the operand: an identity, or a cast to its own type.

        Copies run each time in a framework that folds nothing; no other runtime keeps them.
        """
        if not ins or ins[0] is None or not node.results:
            return False
        match node.op:
            case Clone() | ToContiguous():
                return not self.keeps_parameters
            case Identity():
                return True
            case Cast():
                type_ = ins[0].type
                return isinstance(type_, TensorType) and type_ == node.results[0].type
            case _:
                return False

    def folds(self, node: Node, ins: Inputs) -> bool:
        """Return True if the results are known before the model runs."""
        results = node.results
        if node.op.kind in NEVER_FOLDED or not results or self.follows_parameters(node, ins):
            return False
        # shapes and constants: inference has computed all contents
        if all(
            v.known is not None and v.known.is_complete and isinstance(v.type, TensorType)
            for v in results
        ):
            return True
        # results of stored tensors alone are computed at load time
        present = [v for v in ins if v is not None]
        return (
            bool(present)
            and not [v for v in present if v.weight is None]
            and all(isinstance(v.type, TensorType) and v.type.is_static for v in results)
        )

    def follows_parameters(self, node: Node, ins: Inputs) -> bool:
        """Return True if the results must be computed in each step, with `keeps_parameters`.

        They are if they depend on parameters, or have two axes or more: a table, as of positions,
        that modules compute on the device. Results of at most one axis are numbers of shapes, which
        Python computes on the host, and which are folded.
        """
        if not self.keeps_parameters:
            return False
        if any(v and self.changes(v) for v in ins):
            self.changing.update([v for v in node.results if v.is_real])
        # slices and expanded tensors are views in PyTorch, which launch nothing
        is_view = isinstance(node.op, (Expand, Slice))
        return any(
            v in self.changing or (not is_view and len(v.shape or ()) > 1) for v in node.results
        )

    def changes(self, v: Value) -> bool:
        """Return True if a tensor changes in the next step: a parameter, or computed from one."""
        if v in self.changing:
            return True
        return v.is_parameter and v.is_real

    @staticmethod
    def decided(node: Node, ins: Inputs) -> Graph | None:
        """Return the branch that an If with a known condition takes."""
        if not isinstance(node.op, If) or len(node.regions) != 2 or ins[0] is None:
            return None
        decision = ins[0].known.item if ins[0].known is not None else None
        return None if decision is None else node.regions[0 if decision else 1]


def split(node: Node) -> tuple[Node, ...]:
    """Return the operators that a node stands for; empty for all but attention that projects."""
    if node.op.kind is not Kind.ATTENTION:
        return ()
    from .projections import projected

    return projected(node)


def iterated(body: Graph) -> Iterator[Value]:
    """Yield the number of the iteration, and the states whose contents an iteration changes."""
    # inputs are the number, a condition and the states; outputs are a condition and the states
    yield from body.inputs[:1]
    for before, after in zip(body.inputs[2:], body.outputs[1:], strict=False):
        if before.known is not None and before.known != after.known:
            yield before


def shared(node: Node, ins: Inputs) -> str:
    """Return the name of the stored tensor whose elements a result reorders; "" if computed."""
    base = ins[0] if ins and isinstance(node.op, View | Transpose) else None
    return "" if base is None or base.weight is None else base.weight.shares or base.name


def live_nodes(nodes: list[Node], outputs: tuple[Value, ...]) -> tuple[list[Node], set[Value]]:
    """Return the nodes whose results are read, and every value that is read.

    One walk from the last node back suffices, as readers come after what they read.
    """
    needed = set(outputs)
    alive: list[Node] = []
    for node in reversed(nodes):
        for v in node.outputs:
            if v in needed and v is not None:
                alive.append(node)
                needed.update([v for v in node.inputs if v is not None])
                if node.regions:
                    needed |= captured(node)
                break
    return alive[::-1], needed
