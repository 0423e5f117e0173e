"""Dropout of transformers, which a file exported for inference has lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.errors import PassError
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.graph import Node, Value
from perfc.ir.ops.cast import Cast
from perfc.ir.ops.elementwise import Add
from perfc.ir.ops.gather import Gather
from perfc.ir.ops.matmul import Gemm, MatMul
from perfc.ir.ops.movement import Transpose
from perfc.ir.ops.normalization import LayerNormalization
from perfc.ir.ops.random import Dropout, NativeDropout
from perfc.ir.ops.softmax import Softmax
from perfc.ir.ops.view import Reshape
from perfc.ir.types import DType

from .written_out import Written


def dropped(nodes: Sequence[Node], ratio: float, tape: Tape) -> list[Node]:
    """The same nodes with elements dropped where transformers drop them.

    That is what a branch that ends in a product adds to the residual stream, probabilities of
    attention that are a tensor, and embeddings before the first block. Fused attention drops inside
    its kernel: no node stands for that.

    Args:
        nodes: of the forward pass, in an order that can run, attention as the framework runs it.
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
    at = Written(nodes, ())
    places = {v for node in nodes for v in (*branches(node, at), *weighing(node, at))}
    places |= {v for node in nodes for v in embedded(node, at)}
    if not places:
        hint = "it has no branches of products beside a residual stream"
        raise PassError("the model has no place for dropout", where="--dropout", hint=hint)
    tape.nodes = []
    found: list[Node] = []
    instead: dict[Value | None, Value] = {}
    for node in nodes:
        inputs = tuple(instead.get(v, v) for v in node.inputs)
        found.append(node if inputs == node.inputs else replace(node, inputs=inputs))
        for v in places.intersection(node.results):
            tape.place, tape.suffix = node.loc, ".dropout"
            mode = tape.constant((True,), (), DType.BOOL)
            ins = (v, tape.number(ratio), mode)
            instead[v], _ = tape.several(NativeDropout(), ins, 2)
        found += tape.nodes
        tape.nodes = []
    return found


def branches(node: Node, at: Written) -> list[Value]:
    """What a node adds to the residual stream, each branch for itself."""
    if not node.op.is_exactly(Add) or len(node.inputs) != 2:
        return []
    sides = [projected(v, at) for v in node.inputs if v is not None and not is_stored(v, at)]
    return [v for side in sides for v in side] if len(sides) == 2 and not all(sides) else []


def projected(v: Value, at: Written) -> list[Value]:
    """The products with matrices, biases added, whose sum a value is; none if it is another's."""
    maker = at.maker(v, MatMul, Gemm, Add, Reshape, Cast)
    if maker is None:
        return []
    if len(at.users.get(v, ())) > 1:
        return []  # what is read twice is no branch's end: a GELU that is written out reads so
    if maker.op.is_exactly(MatMul, Gemm):
        return [v] if is_stored(maker.inputs[1], at) else []
    operands = [w for w in maker.inputs if w is not None and not is_stored(w, at)]
    if maker.op.is_exactly(Cast):
        return projected(operands[0], at) if operands else []
    if maker.op.is_exactly(Reshape):
        return [v] if operands and projected(operands[0], at) else []
    sides = [projected(w, at) for w in operands]
    if len(sides) == 1:
        return [v] if sides[0] else []
    return [w for side in sides for w in side] if all(sides) else []


def is_stored(v: Value | None, at: Written) -> bool:
    """Whether a value is a parameter, turned over or cast."""
    while (maker := at.maker(v, Cast, Transpose)) is not None:
        v = maker.inputs[0]
    return v is not None and v.weight is not None and v.weight.is_parameter


def weighing(node: Node, at: Written) -> list[Value]:
    """Probabilities that weigh values, where they are a tensor."""
    if not node.op.is_exactly(Softmax):
        return []
    weights = node.results[0]
    reader = at.reader(weights, MatMul, Cast)
    if reader is not None and reader.op.is_exactly(Cast):
        reader = at.reader(reader.results[0], MatMul)
    return [weights] if reader is not None else []


def embedded(node: Node, at: Written) -> list[Value]:
    """The last sum of embeddings, or what normalises it alone."""
    sums = node.results[0]
    is_sum = node.op.is_exactly(Add) and all(looked_up(v, at) for v in node.inputs)
    readers = at.users.get(sums, [])
    if not is_sum or any(r.op.is_exactly(Add) and looked_up(r.results[0], at) for r in readers):
        return []
    norm = at.reader(sums, LayerNormalization)
    return [norm.results[0] if norm is not None else sums]


def looked_up(v: Value | None, at: Written) -> bool:
    """Whether a value is a row of a table for each token, or a sum of such."""
    if v is None:
        return False
    maker = at.maker(v, Gather, Add)
    if maker is None:
        return False
    if maker.op.is_exactly(Gather):
        table = maker.inputs[0]
        return table is not None and len(shape_of(table)) == 2 and is_stored(table, at)
    return all(looked_up(w, at) for w in maker.inputs)
