"""Dropout of transformers, which a file exported for inference has lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.errors import PassError
from perfc.ir import DType, Node, Value
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.contraction.matmul import Gemm, MatMul
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import Add
from perfc.ir.ops.elementwise.random import Dropout, NativeDropout
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.movement.movement import Transpose
from perfc.ir.ops.movement.view import Reshape
from perfc.ir.ops.normalization.normalization import LayerNormalization
from perfc.ir.ops.normalization.softmax import Softmax

from .written_out import Written

MOST_BRANCHES = 8
"""Maximum parallel branches of one addition to the residual stream; attention and MLP are two.

A sum of more branches is no residual stream, and would take quadratic time.
"""


def dropped(nodes: Sequence[Node], ratio: float, tape: Tape) -> list[Node]:
    """Return the same nodes with elements dropped where transformers drop them.

    Dropped are the results of branches that end in a product and are added to the residual stream,
    probabilities of attention that are stored as a tensor, and embeddings before the first block.
    Fused attention drops inside its kernel: no node stands for that.

    Args:
        nodes: nodes of the forward pass, in an order that can run, attention as the framework runs
            it.
        ratio: share of the elements that are dropped.
        tape: names what is written.

    Raises:
        PassError: elements are dropped already, or there is no such place.

    Source: arXiv:1706.03762, section 5.4, residual dropout; transformers, modeling_bert.py and
    modeling_gpt2.py.
    """
    if any(node.op.is_exactly(Dropout) for node in nodes):
        hint = "its own share counts"
        raise PassError("the model drops elements already", where="--dropout", hint=hint)
    places = Places(nodes).values
    if not places:
        hint = "it has no branches of products beside a residual stream"
        raise PassError("the model has no place for dropout", where="--dropout", hint=hint)
    tape.nodes = []
    result: list[Node] = []
    instead: dict[Value | None, Value] = {}
    for node in nodes:
        inputs = tuple(instead.get(v, v) for v in node.inputs)
        result.append(node if inputs == node.inputs else replace(node, inputs=inputs))
        for v in places.intersection(node.results):
            tape.place, tape.suffix = node.loc, ".dropout"
            # the third operand switches dropout on
            mode = tape.constant((True,), (), DType.BOOL)
            ins = (v, tape.number(ratio), mode)
            instead[v], _ = tape.several(NativeDropout(), ins, 2)
        result += tape.nodes
        tape.nodes = []
    return result


class Places:
    """Positions of dropout in a graph.

    Every value is visited once, in execution order, so that the time is linear in the nodes.

    Args:
        nodes: nodes of the forward pass, in an order that can run.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.at = Written(nodes, ())
        self.values: set[Value] = set()
        """Values of which elements are dropped."""
        self.stored: set[Value] = set()
        """Transposed or cast parameters."""
        self.looked_up: set[Value] = set()
        """Embeddings: rows of a table, one per token, and sums of such rows."""
        self.ends: dict[Value | None, tuple[Value, ...]] = {}
        """Ends of the branches that a value sums: products with parameters, with added biases."""
        for node in nodes:
            self.see(node)

    def see(self, node: Node) -> None:
        """Record what a node computes, and which of its operands or results are dropped."""
        if not node.results:
            return
        result = node.results[0]
        match node.op:
            case Cast() | Transpose() if self.is_stored(node.inputs[0]):
                self.stored.add(result)
            case Gather() if self.is_table(node.inputs[0]):
                self.looked_up.add(result)
            case Add() if all(v in self.looked_up for v in node.inputs):
                self.looked_up.add(result)
                # elements of the sum are dropped, and not those of its summands
                self.values.difference_update(self.embeddings(v) for v in node.inputs if v)
                self.values.add(self.embeddings(result))
            case Softmax() if self.weighs(result):
                self.values.add(result)
            case Add() | Reshape() | Cast() | MatMul() | Gemm():
                self.ends[result] = self.products(node)
                self.values.update(self.branches(node))
            case _:
                pass

    def is_stored(self, v: Value | None) -> bool:
        """Return True if a value is a parameter, transposed or cast."""
        return v in self.stored or (v is not None and v.is_parameter)

    def is_table(self, v: Value | None) -> bool:
        """Return True if a value is a stored matrix."""
        return v is not None and self.is_stored(v) and len(shape_of(v)) == 2

    def products(self, node: Node) -> tuple[Value, ...]:
        """Return the ends of the branches that a node sums; empty if it sums none.

        A value that is read twice lies inside a branch, and does not end it: a GELU that is written
        out reads its operand twice.
        """
        result = node.results[0]
        if len(self.at.users.get(result, ())) > 1:
            return ()
        if node.op.is_exactly(MatMul, Gemm):
            return (result,) if self.is_stored(node.inputs[1]) else ()
        if node.op.is_exactly(Reshape, Cast):
            # of a branch that is cast, elements are dropped before the cast; of one that is
            # reshaped, after the view
            inner = self.ends.get(node.inputs[0], ())
            if node.op.is_exactly(Cast):
                return inner
            return (result,) if inner else ()
        sides = [self.ends.get(v, ()) for v in node.inputs if not self.is_stored(v)]
        # the stored operand is a bias: the branch ends after its addition
        if len(sides) == 1:
            return (result,) if sides[0] else ()
        parts = tuple(v for side in sides for v in side)
        return parts if all(sides) and len(parts) <= MOST_BRANCHES else ()

    def branches(self, node: Node) -> tuple[Value, ...]:
        """Return the values that a node adds to the residual stream, one per branch."""
        if not node.op.is_exactly(Add):
            return ()
        sides = [self.ends.get(v, ()) for v in node.inputs if not self.is_stored(v)]
        # the side without branches is the residual stream
        is_residual = len(sides) == 2 and not all(sides)
        return tuple(v for side in sides for v in side) if is_residual else ()

    def weighs(self, v: Value) -> bool:
        """Return True if probabilities are only read by a matrix product."""
        reader = self.at.reader(v, MatMul, Cast)
        if reader is not None and reader.op.is_exactly(Cast):
            reader = self.at.reader(reader.results[0], MatMul)
        return reader is not None

    def embeddings(self, sums: Value) -> Value:
        """Return the value to drop for a sum of embeddings: its normalization, else the sum."""
        norm = self.at.reader(sums, LayerNormalization)
        return norm.results[0] if norm is not None else sums
