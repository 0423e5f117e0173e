"""Patterns of activations and normalisations written out as elementary operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial

from perfc.ir import Kind, Node, Value, mutable
from perfc.ir.ops.elementwise.activation import Gelu
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import (
    Add,
    Clip,
    Div,
    Max,
    Mul,
    Pow,
    Reciprocal,
    Sqrt,
    Sub,
)
from perfc.ir.ops.normalization.normalization import LayerNormalization
from perfc.ir.ops.normalization.reduce import ReduceMean

from .neighbourhood import FACTORS, Neighbourhood, is_channelwise, is_scalar, scalar_operand

MAX_STEPS = 7
"""Maximum number of operators before, and after, an activation's transcendental function.

It ends the search in graphs without the pattern.
"""
ARITHMETIC = (Add, Sub, Mul, Div)
"""Operators that combine a transcendental function with numbers and with its operand."""
ROOTS = (Sqrt, Pow)
"""Square roots: some exporters write ``x ** 0.5`` or ``x ** -0.5``."""
TOWARD_ROOT = (*ROOTS, Add, Reciprocal, Div, Max, Clip)
"""Operators allowed between a mean of squares and the product with its inverse root."""
LAST_FACTORS = (0.5, 6.0, 1 / 6)
"""Last factors of a GELU (1/2) or a hard swish (1/6, or 6 divides); others scale the model."""

Nodes = list[Node]


@mutable
class Cone:
    """Nodes on the way from an activation's operand to its transcendental function.

    Args:
        behind: the nodes, from the last back to the first.
        reach: for each value that may be the operand, the number of nodes in ``behind`` after it.
    """

    behind: Nodes = field(default_factory=list)
    reach: dict[Value, int] = field(default_factory=dict)


def activation(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match ``x * f(x)`` written out: GELU by erf or tanh, SiLU, hard swish, Mish.

    Source: Hendrycks & Gimpel 2016 (GELU); Elfwing et al. 2017 (SiLU); Misra 2019 (Mish).
    """
    members, _ = _gated(node, near) or (None, False)
    return members


def gelu_half_outside(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match GELU whose factor 1/2 is at its operand or its result, not at ``1 + erf``.

    Source: the two patterns of onnxruntime GeluFusion.
    """
    if type(node.op) is Gelu:
        return [node]
    members, has_inner_factor = _gated(node, near) or (None, False)
    return None if has_inner_factor else members


def fast_gelu(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match GELU by tanh whose cube is a power. Source: onnxruntime FastGeluFusion."""
    members = activation(node, near)
    return members if members and any(isinstance(n.op, Pow) for n in members) else None


def _gated(node: Node, near: Neighbourhood) -> tuple[Nodes, bool] | None:
    """Return the members of ``x * f(x)``, whose transcendental function f is ``node``.

    The second value is True if a factor is between ``f(x)`` and the product with ``x``.
    """
    operands = near.computed(node)
    if len(operands) != 1 or not node.results:
        return None
    cone = _cone(operands[0], near)
    members, out = [node], node.results[0]
    source: Value | None = None
    is_scaled_inside = False
    # forward from f: arithmetic with stored numbers, and once the product with x
    for _ in range(MAX_STEPS):
        reader = near.lone(out)
        if reader is None or not isinstance(reader.op, ARITHMETIC):
            break
        others = [v for v in near.computed(reader) if v is not near.root(out)]
        if not others:
            if not all(is_scalar(v) for v in near.stored(reader)):
                break
            # after the product with x, any number but the last factor is a scale of the model
            if source is not None and not _closes(reader):
                break
            is_scaled_inside |= source is None and isinstance(reader.op, FACTORS)
        elif source is None and isinstance(reader.op, Mul) and len(others) == 1:
            source = _source(others[0], reader, cone, near, members)
            if source is None:
                return None
        else:
            break
        members.append(reader)
        out = reader.results[0]
    if source is None:
        return None
    members += cone.behind[: cone.reach[source]]
    return (members, is_scaled_inside) if near.is_sealed(members, out) else None


def _closes(node: Node) -> bool:
    """Return True if a node multiplies by the last factor of an activation, rounded or not."""
    factor = scalar_operand(node)
    return factor is not None and any(abs(factor - f) < 1e-3 for f in LAST_FACTORS)


def _source(
    v: Value, reader: Node, cone: Cone, near: Neighbourhood, members: Nodes
) -> Value | None:
    """Return the activation's operand ``x``, given the factor ``v`` of the product with f(x).

    ``v`` is ``x``, or half of it in a GELU; the node that halves it is added to ``members``.
    """
    if v in cone.reach:
        return v
    maker = near.maker(v)
    if maker is None or not isinstance(maker.op, FACTORS) or near.lone(v) is not reader:
        return None
    operands = near.computed(maker)
    if len(operands) == 1 and operands[0] in cone.reach:
        members.append(maker)
        return operands[0]
    return None


def _cone(v: Value, near: Neighbourhood) -> Cone:
    """Walk back from ``v`` through operators on one computed operand, or on ``x`` and ``f(x)``."""
    cone = Cone()
    for _ in range(MAX_STEPS):
        cone.reach[v] = len(cone.behind)
        maker = near.maker(v)
        if maker is None or maker.op.kind is not Kind.ELEMENTWISE:
            break
        # the walk follows the only operand; of x and a function of x, it follows x
        operands = near.computed(maker)
        cone.behind.append(maker)
        if len(operands) == 1:
            v = operands[0]
        elif len(operands) == 2 and (path := _between(operands, near)) is not None:
            between, v = path
            cone.behind += between
        else:
            break
    return cone


def _between(operands: list[Value], near: Neighbourhood) -> tuple[Nodes, Value] | None:
    """Return the nodes between two operands such as ``x`` and ``c * x ** 3``, and ``x``."""
    for target, start in (operands, operands[::-1]):
        nodes: Nodes = []
        v = start
        # a factor and a cube of two products are three operators, with one more to spare; the limit
        # ends the search in graphs without the pattern
        for _ in range(4):
            maker = near.maker(v)
            if maker is None or maker.op.kind is not Kind.ELEMENTWISE:
                break
            behind = near.computed(maker)
            nodes.append(maker)
            # an operator of stored tensors alone, without any other operand, ends the path as well
            if all(b is target for b in behind):
                return nodes, target
            inner = [b for b in behind if b is not target]
            if len(inner) != 1:
                break
            v = inner[0]
    return None


def layer_norm(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match layer normalization written out. Source: Ba, Kiros & Hinton 2016."""
    return _norm(node, near, is_centred=True)


def rms_norm(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match RMS normalization written out. Source: Zhang & Sennrich 2019."""
    return _norm(node, near, is_centred=False)


def library_rms_norm(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match RMS normalization that a library's kernel may compute.

    Kernels of libraries narrow their result. A module that narrows the normalised operand before it
    is scaled, as in transformers, runs operator by operator.
    """
    members = rms_norm(node, near)
    narrowed = near.lone(members[-1].results[0]) if members else None
    if narrowed is None or not isinstance(narrowed.op, Cast):
        return members
    scaled = near.lone(narrowed.results[0])
    return None if scaled is not None and isinstance(scaled.op, Mul) else members


def rsqrt(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match the inverse of a square root: one kernel of PyTorch, two operators of ONNX.

    ``node`` is the reciprocal, as ``starts`` of the pattern in ``patterns.toml`` requires.
    """
    root = near.maker(node.inputs[0]) if node.inputs and node.inputs[0] else None
    return [root, node] if root is not None and isinstance(root.op, Sqrt) else None


def any_norm(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a normalization over the last axis, as one operator or written out."""
    if node.op.kind is Kind.NORMALIZATION:
        return [node] if isinstance(node.op, LayerNormalization) else None
    return layer_norm(node, near) or rms_norm(node, near)


def _norm(node: Node, near: Neighbourhood, *, is_centred: bool) -> Nodes | None:
    """Return the members of a normalization around its mean of squares ``node``.

    Scale and shift after it are included. With ``is_centred`` the mean is subtracted first.
    """
    squares = near.maker(near.root(node.inputs[0])) if node.inputs and node.inputs[0] else None
    if squares is None or not isinstance(squares.op, (Mul, Pow)) or not node.results:
        return None
    bases = near.computed(squares)
    if len(bases) != 1:
        return None
    # the root must divide the value that is squared: x, or x - mean(x)
    base = bases[0]
    members = [squares, node]
    if is_centred:
        mean = _mean(base, near)
        if mean is None:
            return None
        members += mean
    root = _root(node, near)
    if root is None:
        return None
    divided = near.lone(root[-1].results[0])
    if divided is None or not isinstance(divided.op, FACTORS):
        return None
    if base not in near.computed(divided):
        return None
    members += [*root, divided]
    tail = _affine(divided, near)
    members += tail
    return members if near.is_sealed(members, members[-1].results[0]) else None


def _mean(base: Value, near: Neighbourhood) -> Nodes | None:
    """Match ``x - mean(x)`` that computes ``base``."""
    centred = near.maker(base)
    if centred is None or not isinstance(centred.op, Sub):
        return None
    for v in near.computed(centred):
        mean = near.maker(v)
        if mean is not None and isinstance(mean.op, ReduceMean):
            others = [o for o in near.computed(centred) if o is not v]
            if near.computed(mean)[:1] == others:
                return [mean, centred]
    return None


def _root(node: Node, near: Neighbourhood) -> Nodes | None:
    """Return nodes from a mean of squares to its root or inverse root."""
    members: Nodes = []
    out = node.results[0]
    is_rooted = False
    # at most epsilon added, epsilon as a lower limit, root and reciprocal
    for _ in range(4):
        reader = near.lone(out)
        if reader is None or len(near.computed(reader)) != 1:
            break
        if not isinstance(reader.op, TOWARD_ROOT):
            break
        is_rooted |= isinstance(reader.op, ROOTS)
        members.append(reader)
        out = reader.results[0]
    return members if is_rooted else None


def _affine(node: Node, near: Neighbourhood) -> Nodes:
    """Return a multiplication and an addition with stored rows after ``node``, if there are any."""
    members: Nodes = []
    out = node.results[0]
    for wanted in (Mul, Add):
        reader = near.lone(out)
        if reader is None or not isinstance(reader.op, wanted) or len(near.computed(reader)) != 1:
            continue
        members.append(reader)
        out = reader.results[0]
    return members


def affine_norm(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match group normalization: instance normalization, then scale and shift of channels."""
    tail = _affine(node, near) if node.results else []
    return [node, *tail] if tail else None


def with_residual(
    node: Node, near: Neighbourhood, find: Callable[[Node, Neighbourhood], Nodes | None]
) -> Nodes | None:
    """Match a normalization, the residual addition that feeds it alone, and a bias before that.

    Source: onnxruntime SkipLayerNormFusion, formats 1 to 3; operands of rank 3.
    """
    norm = find(node, near)
    source = _only_source(norm or (), near)
    if norm is None or source is None:
        return None
    addition = near.maker(source)
    if addition is None or not isinstance(addition.op, Add) or not _is_rows(source):
        return None
    operands = near.computed(addition)
    if len(operands) != 2 or _escapes(source, norm, near):
        return None
    # the kernel adds tensors of equal shape, without broadcasting
    if any(v is None or v.type != source.type for v in addition.inputs):
        return None
    members = [addition, *norm]
    for v in operands:
        bias = near.maker(v)
        if bias is not None and near.lone(v) is addition and _adds_bias(bias, near):
            return [bias, *members]
    return members


def _only_source(members: Iterable[Node], near: Neighbourhood) -> Value | None:
    """Return the only computed value that nodes read and do not compute; None if there are more."""
    inner = {v for m in members for v in m.results}
    sources = {v for m in members for v in near.computed(m) if v not in inner}
    return sources.pop() if len(sources) == 1 else None


def _escapes(v: Value, members: Nodes, near: Neighbourhood) -> bool:
    """Return True if a node outside ``members`` reads a value, so that it must be in memory."""
    readers = near.readers(v)
    return readers is None or any(r not in members for r in readers)


def _is_rows(v: Value) -> bool:
    """Return True for a batch of sequences of rows: rank 3."""
    return len(v.shape or ()) == 3


def _adds_bias(node: Node, near: Neighbourhood) -> bool:
    """Return True if a node adds a stored row to its only computed operand."""
    stored = near.stored(node)
    return (
        isinstance(node.op, Add)
        and len(near.computed(node)) == 1
        and len(stored) == 1
        and is_channelwise(stored[0])
    )


def with_bias(
    node: Node, near: Neighbourhood, find: Callable[[Node, Neighbourhood], Nodes | None]
) -> Nodes | None:
    """Match an activation with the addition of a stored row before it.

    Source: onnxruntime BiasGeluFusion.
    """
    members = find(node, near)
    source = _only_source(members or (), near)
    bias = near.maker(source) if source is not None else None
    if (
        members is None
        or bias is None
        or not _adds_bias(bias, near)
        or _escapes(bias.results[0], members, near)
    ):
        return None
    return [bias, *members]


skip_norm = partial(with_residual, find=any_norm)
bias_fast_gelu = partial(with_bias, find=fast_gelu)
bias_gelu = partial(with_bias, find=gelu_half_outside)
