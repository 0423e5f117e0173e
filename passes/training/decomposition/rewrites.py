"""Rewrites of exported patterns into the operators that a framework differentiates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from perfc.ir import (
    DType,
    Inputs,
    Item,
    Kind,
    Loc,
    Node,
    Op,
    SequenceType,
    Shape,
    TensorType,
    Value,
    known,
    normal_axis,
)
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.contraction.einsum import Einsum, in_pairs
from perfc.ir.ops.control.container import SequenceAt
from perfc.ir.ops.control.sequence_parts import SplitToSequence
from perfc.ir.ops.elementwise.activation import Gelu, Sigmoid, Swish, Tanh
from perfc.ir.ops.elementwise.elementwise import Add, Mul
from perfc.ir.ops.elementwise.rounding import Erf
from perfc.ir.ops.movement.slice import Split
from perfc.ir.ops.movement.view import Reshape
from perfc.ir.ops.normalization.normalization import GroupNormalization, InstanceNormalization
from perfc.ir.ops.normalization.softmax import Softmax

from ..differentiate import active
from .written_out import Changes, Written, attention, gelu_by_erf, gelu_by_tanh


def rewritten(
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    trained: Collection[Value],
    tape: Tape,
    *,
    fuses_attention: bool = True,
    by_call: bool = False,
) -> list[Node]:
    """Return the nodes with patterns of exporters replaced by the operators of PyTorch.

    Exporters write SiLU as two operators, GELU as five, attention as six, and Megatron's GELU as
    eight; for group normalisation they write an instance normalisation between two views. PyTorch
    differentiates each of these as one operator and saves only its operands. A split into a
    sequence becomes a split into tensors.

    Args:
        nodes: nodes of the forward pass, in an order that can run.
        outputs: outputs of the model.
        trained: parameters.
        tape: names the new values.
        fuses_attention: whether the framework runs attention as one operator.
        by_call: whether nodes are named by their call of a PyTorch program, of which a pattern is
            one; several calls are differentiated one by one.
    """
    at = Written(nodes, set(outputs))
    # the walk over what is trained serves attention alone
    has_fused = fuses_attention and any(n.op.is_exactly(Softmax) for n in nodes)
    learned = active(nodes, trained) if has_fused else set[Value]()
    changed: Changes = {}
    for node in nodes:
        match node.op:
            case SplitToSequence():
                new = parts(node, at, tape)
            case Sigmoid():
                new = gated(node, at)
            case Tanh():
                new = factored_gelu(node, at) or gelu_by_tanh(node, at)
            case Erf():
                new = gelu_by_erf(node, at)
            case Softmax() if has_fused:
                new = attention(node, at, learned, tape)
            case InstanceNormalization():
                new = grouped(node, at, tape)
            case Einsum() if len(node.inputs) > 2:
                new = pairwise(node, tape)
            case _:
                continue
        is_one = type(node.op) is SplitToSequence or len({n.loc.call for n in new}) == 1
        if is_one or not by_call:
            changed.update(new)
    return [n for node in nodes for n in changed.get(node, [node])]


def gated(node: Node, at: Written) -> Changes:
    """Return SiLU for ``x * sigmoid(x)`` if only that product reads the gate."""
    gate, x = node.results[0], node.inputs[0]
    product = at.reader(gate, Mul)
    if product is None or set(product.inputs) != {gate, x} or len(product.inputs) != 2:
        return {}
    loc = replace(product.loc, op_type="Swish")
    return {node: [], product: [Node(Swish(), (x,), product.outputs, (), loc)]}


def factored_gelu(node: Node, at: Written) -> Changes:
    """Return GELU for ``x/2 * (1 + tanh(c*x * (1 + d*x*x)))`` whose parts nothing else reads.

    Source: Megatron-LM, megatron/core/fusions/fused_bias_gelu.py, and transformers,
    modeling_bloom.py: an autograd function that saves the operand ``x`` alone.
    """
    # product = x/2 * outer, outer = 1 + tanh(inner), inner = (c*x) * (1 + d*x*x)
    inner = at.maker(node.inputs[0], Mul)
    outer = at.reader(node.results[0], Add)
    product = outer and at.reader(outer.results[0], Mul)
    if inner is None or outer is None or product is None:
        return {}
    # each list should have one node: c*x, 1 + d*x*x, x/2, d*x*x, and last d*x
    scaled, sums = parts_of(inner, at, Mul), parts_of(inner, at, Add)
    halves = parts_of(product, at, Mul)
    x = factored(scaled[0]) if len(scaled) == 1 else None
    squares = [n for n in (parts_of(sums[0], at, Mul) if sums else ()) if x in n.inputs]
    if x is None or len(squares) != 1 or len(halves) != 1 or factored(halves[0]) is not x:
        return {}
    linear = [n for n in parts_of(squares[0], at, Mul) if factored(n) is x]
    removed = [*linear, squares[0], *sums, *scaled, inner, node, *halves, outer]
    if len(linear) != 1 or not at.is_inner(removed):
        return {}
    loc = replace(product.loc, op_type="Gelu")
    gelu = Node(Gelu(approximate="tanh"), (x,), product.outputs, (), loc)
    return {**{n: [] for n in removed}, product: [gelu]}


def parts_of(node: Node, at: Written, kind: type[Op]) -> list[Node]:
    """Return the nodes with exactly this operator that compute the operands of a node."""
    return [n for n in (at.maker(v, kind) for v in node.inputs) if n is not None]


def factored(node: Node) -> Value | None:
    """Return the operand that a product multiplies by a stored number."""
    numbers = [v for v in node.inputs if v is not None and v.weight and not _shape(v.type)]
    others = [v for v in node.inputs if v is not None and v not in numbers]
    return others[0] if len(numbers) == 1 and len(others) == 1 else None


def grouped(node: Node, at: Written, tape: Tape) -> Changes:
    """Return group normalization for an instance normalization between two views.

    The first view shows groups as channels, the second one channels again. A product with a scale
    and an addition of an offset, one number per channel each, may follow.
    """
    before = at.maker(node.inputs[0], Reshape)
    after = at.reader(node.results[0], Reshape)
    x = None if before is None else before.inputs[0]
    if x is None or after is None or not isinstance(node.op, InstanceNormalization):
        return {}
    shape, groups = shape_of(x), shape_of(node.results[0])[1]
    if shape_of(after.results[0]) != shape or len(shape) < 3 or not isinstance(groups, int):
        return {}
    # the instance normalization scales each group by 1 and shifts it by 0: a scale and an offset
    # of channels may only follow the second view
    scales, offsets = (set(contents(node.inputs, i) or ()) for i in (1, 2))
    if scales != {1.0} or offsets != {0.0} or not isinstance(shape[1], int):
        return {}
    # without a product and an addition of channels, the second view is the last node that is
    # replaced, and channels get a scale of ones and an offset of zeros; the first view stays, as
    # dead code if nothing else reads it
    last_node, removed = after, [node]
    ones, zeros = (tape.constant((n,) * shape[1], (shape[1],), _dtype(x.type)) for n in (1.0, 0.0))
    affine, vector_views = (ones, zeros), list[Node]()
    product = at.reader(after.results[0], Mul)
    added = product and at.reader(product.results[0], Add)
    if product is not None and added is not None:
        scale = of_channels(product, after.results[0], shape, at)
        offset = of_channels(added, product.results[0], shape, at)
        if scale is not None and offset is not None:
            last_node, removed = added, [node, after, product]
            views = [as_vector(v, tape) for v in (scale, offset)]
            vector_views = [n for nodes, _ in views for n in nodes]
            affine = (views[0][1], views[1][1])
    op = GroupNormalization(num_groups=groups, epsilon=node.op.epsilon)
    loc = replace(last_node.loc, op_type="GroupNormalization")
    normalised = Node(op, (x, *affine), last_node.outputs, (), loc)
    return {**{n: [] for n in removed}, last_node: [*vector_views, normalised]}


def pairwise(node: Node, tape: Tape) -> Changes:
    """Return products of two operands, from the left, for a product of several.

    torch.einsum multiplies its operands pair by pair, and saves the operands of each product.
    """
    assert isinstance(node.op, Einsum)
    first, *others = [v for v in node.inputs if v is not None]
    steps = in_pairs(node.op.equation, len(node.inputs))
    # an equation without pairs: the node stays as it is
    if not steps:
        return {}
    products: list[Node] = []
    for equation, second in zip(steps, others, strict=True):
        op, ins = Einsum(equation), (first, second)
        is_last = len(products) == len(steps) - 1
        name = node.results[0].name
        results = node.outputs if is_last else (Value(tape.fresh(name), op.infer(ins)[0]),)
        products.append(Node(op, ins, results, (), node.loc))
        first = products[-1].results[0]
    return {node: products}


def as_vector(v: Value, tape: Tape) -> tuple[list[Node], Value]:
    """Return a column as a vector, after the nodes that show it so; a vector needs no node."""
    shape = shape_of(v)
    if len(shape) == 1:
        return [], v
    extent = next((e for e in shape if e != 1), 1)
    shown = Value(tape.fresh(v.name), TensorType(_dtype(v.type), (extent,)))
    return [Node(Reshape(), (v, tape.ints((extent,))), (shown,), (), Loc(v.name, "Reshape"))], shown


def contents(ins: Inputs, index: int) -> tuple[Item, ...] | None:
    """Return the numbers of an operand, where they are known."""
    content = known(ins, index)
    return None if content is None else content.items


def of_channels(node: Node, v: Value, shape: Shape, at: Written) -> Value | None:
    """Return the other operand of ``node``, a reader of ``v``, if it has a number per channel."""
    other = next((w for w in node.inputs if w is not None and w is not v), None)
    column = (shape[1], *(1 for _ in shape[2:]))
    if other is None or shape_of(other) not in (column, (1, *column)):
        return None
    if other.weight is not None:
        return other
    # a computed column: through views, back to the vector that they show
    while other is not None and shape_of(other) != shape[1:2]:
        maker = at.makers.get(other)
        other = maker.inputs[0] if maker is not None and maker.op.kind is Kind.VIEW else None
    return other


def parts(node: Node, at: Written, tape: Tape) -> Changes:
    """Return a split into tensors for a sequence that is only read at known positions."""
    assert isinstance(node.op, SplitToSequence)
    sequence, x, type_ = node.results[0], node.inputs[0], node.results[0].type
    if x is None or not isinstance(type_, SequenceType) or not isinstance(type_.length, int):
        return {}
    items = type_.items or (type_.elem,) * type_.length
    readers = at.users.get(sequence, [])
    indices = [known(r.inputs, 1) for r in readers if isinstance(r.op, SequenceAt)]
    positions = [k.item for k in indices if k is not None and isinstance(k.item, int)]
    # another reader, an unknown position, or only the first elements have known types
    if len(positions) != len(readers) or len(items) != type_.length:
        return {}
    axis = normal_axis(node.op.axis, len(shape_of(x)))
    # without keepdims, elements of the sequence have lost the axis, along which they had extent 1
    has_axis = len(shape_of(x)) == len(_shape(items[0]))
    sizes = tuple(_shape(t)[axis] if has_axis else 1 for t in items)
    x_shape = shape_of(x)
    tensors = [
        Value(
            tape.fresh(f"{sequence.name}.{i}"),
            TensorType(_dtype(t), (*x_shape[:axis], size, *x_shape[axis + 1 :])),
        )
        for i, (t, size) in enumerate(zip(items, sizes, strict=True))
    ]
    loc = Loc(node.name, "Split", frames=node.loc.frames)
    split = Node(Split(axis=axis), (x, tape.ints(sizes)), tuple(tensors), (), loc)
    changes: Changes = {node: [split]}
    for reader, position in zip(readers, positions, strict=True):
        part = tensors[position % len(tensors)]
        extents = tape.ints(shape_of(reader.results[0]))
        changes[reader] = [Node(Reshape(), (part, extents), reader.outputs, (), reader.loc)]
    return changes


def _shape(type_: object) -> Shape:
    """Return the extents of a tensor; () for other types and unknown ranks."""
    return (type_.shape or ()) if isinstance(type_, TensorType) else ()


def _dtype(type_: object) -> DType:
    """Return the element type of a tensor."""
    assert isinstance(type_, TensorType)
    return type_.dtype
