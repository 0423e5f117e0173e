"""What exporters write out, as the operators that a framework differentiates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.graph import Loc, Node, Value
from perfc.ir.op import known, normal_axis
from perfc.ir.ops.activation import Sigmoid, Swish
from perfc.ir.ops.container import SequenceAt
from perfc.ir.ops.elementwise import Mul
from perfc.ir.ops.sequence_parts import SplitToSequence
from perfc.ir.ops.slice import Split
from perfc.ir.ops.view import Reshape
from perfc.ir.types import DType, SequenceType, Shape, TensorType

Users = dict[Value, list[Node]]


def rewritten(nodes: Sequence[Node], outputs: Sequence[Value], tape: Tape) -> list[Node]:
    """The same nodes, with sequences of parts as parts, and ``x * sigmoid(x)`` as one operator.

    PyTorch differentiates SiLU from its operand alone; the exporter writes it as two operators.
    """
    users: Users = {}
    for node in nodes:
        for v in node.inputs:
            if v is not None:
                users.setdefault(v, []).append(node)
    taken = set(outputs)
    changed: dict[Node, list[Node]] = {}
    for node in nodes:
        match node.op:
            case SplitToSequence():
                changed.update(parts(node, users, tape))
            case Sigmoid():
                changed.update(gated(node, users, taken))
            case _:
                pass
    return [new for node in nodes for new in changed.get(node, [node])]


def gated(node: Node, users: Users, taken: set[Value]) -> dict[Node, list[Node]]:
    """``x * sigmoid(x)`` whose gate nobody else reads."""
    gate, x = node.results[0], node.inputs[0]
    readers = users.get(gate, [])
    if len(readers) != 1 or gate in taken or not isinstance(readers[0].op, Mul):
        return {}
    product = readers[0]
    if set(product.inputs) != {gate, x} or len(product.inputs) != 2:
        return {}
    loc = replace(product.loc, op_type="Swish")
    return {node: [], product: [Node(Swish(), (x,), product.outputs, (), loc)]}


def parts(node: Node, users: Users, tape: Tape) -> dict[Node, list[Node]]:
    """A sequence that is only read element by element, at known places."""
    sequence, x = node.results[0], node.inputs[0]
    readers = users.get(sequence, [])
    places = [known(reader.inputs, 1) for reader in readers]
    at = [p.item for p in places if p is not None]
    type_ = sequence.type
    if x is None or not isinstance(type_, SequenceType) or not type_.items:
        return {}
    is_plain = all(isinstance(r.op, SequenceAt) for r in readers) and len(at) == len(readers)
    if not is_plain or len(type_.items) != type_.length or not isinstance(node.op, SplitToSequence):
        return {}
    axis = normal_axis(node.op.axis, len(shape_of(x)))
    keeps = len(shape_of(x)) == len(_shape(type_.items[0]))
    sizes = tuple(_shape(t)[axis] if keeps else 1 for t in type_.items)
    own = shape_of(x)
    made = [
        Value(
            tape.fresh(f"{sequence.name}.{i}"),
            TensorType(_dtype(t), (*own[:axis], size, *own[axis + 1 :])),
        )
        for i, (t, size) in enumerate(zip(type_.items, sizes, strict=True))
    ]
    loc = Loc(node.name, "Split")
    split = Node(Split(axis=axis), (x, tape.ints(sizes)), tuple(made), (), loc)
    found: dict[Node, list[Node]] = {node: [split]}
    for reader, place in zip(readers, at, strict=True):
        if not isinstance(place, int):
            return {}
        part = made[place % len(made)]
        extents = tape.ints(shape_of(reader.results[0]))
        found[reader] = [Node(Reshape(), (part, extents), reader.outputs, (), reader.loc)]
    return found


def _shape(type_: object) -> Shape:
    return (type_.shape or ()) if isinstance(type_, TensorType) else ()


def _dtype(type_: object) -> DType:
    assert isinstance(type_, TensorType)
    return type_.dtype
