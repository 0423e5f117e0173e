"""Patterns of attention written out as products and softmax."""

from __future__ import annotations

from collections.abc import Collection

from perfc.ir import Kind, Node, TensorType, Value
from perfc.ir.ops.elementwise.elementwise import Add
from perfc.ir.ops.elementwise.logic import Equal, IsNaN, Where
from perfc.ir.ops.movement.movement import Transpose, Trilu

from .neighbourhood import FACTORS, Neighbourhood, is_scalar

FUSED_RANK = 4
"""Maximum rank of the tensors that fused attention reads."""
MAX_STEPS = 6
"""Maximum number of operators between a product and the softmax, and of those that write a mask.

It ends the search in graphs without the pattern.
"""

Nodes = list[Node]


def attention(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match ``softmax(scale * q k' + mask) v`` around the softmax ``node``.

    The scale may be at the scores, at q, at k, or split between them; mask, bias and clean-up of
    rows without any key may lie between. Products with stored tensors are not attention.

    Source: Vaswani et al. 2017; Dao et al. 2022 for the fused kernel.
    """
    members, _ = _attention(node, near) or (None, None)
    return members


def scaled_attention(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match attention whose scale is split between q and k.

    Only the exporters' expansion of ``scaled_dot_product_attention`` splits it, so an eager
    framework runs one kernel here; attention written by hand stays several.

    Source: torch.onnx, symbolic_opset14.scaled_dot_product_attention and its torch.export
    successor: ``q * sqrt(scale)``, ``k * sqrt(scale)``. PyTorch, sdp_utils.cpp: fused kernels
    take tensors of rank 4 only.
    """
    matched = _attention(node, near)
    if matched is None:
        return None
    members, scores = matched
    type_ = scores.results[0].type
    if isinstance(type_, TensorType) and type_.shape is not None and len(type_.shape) > FUSED_RANK:
        return None
    makers = [near.maker(v) for v in near.computed(scores)]
    is_split = all(m is not None and m in members and _scales(m) for m in makers)
    return [*members, *_causal_mask(members, near)] if is_split else None


def _causal_mask(members: Collection[Node], near: Neighbourhood) -> Nodes:
    """Return the nodes that write a causal mask for one attention alone.

    Exporters spell out ``is_causal``, for which a framework's kernel has no mask in memory.
    """
    writers: Nodes = []
    stack = [(m, v) for m in members if isinstance(m.op, Add) for v in near.computed(m)]
    while stack:
        reader, v = stack.pop()
        maker = near.maker(v)
        if maker is None or maker in members or is_scalar(v):
            continue
        is_part = isinstance(maker.op, Where | Equal | Trilu) and near.lone(v) is reader
        if not is_part or len(writers) >= MAX_STEPS:
            return []
        writers.append(maker)
        stack += [(maker, operand) for operand in near.computed(maker)]
    return writers if any(isinstance(node.op, Trilu) for node in writers) else []


def _attention(node: Node, near: Neighbourhood) -> tuple[Nodes, Node] | None:
    """Return the members of an attention, and its product of q and k."""
    # from the softmax forward to the product with v, then back to the product of q and k
    operands = near.computed(node)
    after = _after(node, near) if len(operands) == 1 and node.results else None
    path = _toward_product(operands[0], near, MAX_STEPS) if after else None
    if after is None or path is None or len(near.computed(path[-1])) != 2:
        return None
    scores, product = path[-1], after[-1]
    if not _has_kernel(node, near):
        return None
    members = [node, *after, *path, *_prologue(scores, near)]
    return (members, scores) if near.is_sealed(members, product.results[0]) else None


def _has_kernel(softmax: Node, near: Neighbourhood) -> bool:
    """Return True if the runtime has a kernel for this element type and number of keys."""
    match softmax.results[0].type:
        case TensorType(dtype, (*_, keys)):
            return near.table.attention.takes(dtype.bits, keys)
        case _:
            return True


def _after(node: Node, near: Neighbourhood) -> Nodes | None:
    """Return the nodes from the softmax to the product with v, that product last."""
    members: Nodes = []
    out = node.results[0]
    # a clean-up, a cast and a factor may lie between softmax and product
    for _ in range(4):
        readers = near.readers(out)
        if readers is None or not readers or any(r not in near.inside for r in readers):
            return None
        if len(readers) == 1:
            reader = readers[0]
        else:
            cleaned = _cleaned(readers, near)
            if cleaned is None:
                return None
            is_nan, reader = cleaned
            members.append(is_nan)
        members.append(reader)
        if reader.op.kind is Kind.MATMUL:
            return members if len(near.computed(reader)) == 2 else None
        if reader.op.kind is not Kind.ELEMENTWISE or not reader.results:
            return None
        out = reader.results[0]
    return None


def _cleaned(readers: tuple[Node, ...], near: Neighbourhood) -> tuple[Node, Node] | None:
    """Match ``where(isnan(p), 0, p)``, which cleans rows whose keys are all masked."""
    if len(readers) != 2:
        return None
    # the test for NaN first: its key is False
    first, second = sorted(readers, key=lambda n: not isinstance(n.op, IsNaN))
    if not (isinstance(first.op, IsNaN) and isinstance(second.op, Where)):
        return None
    return (first, second) if near.lone(first.results[0]) is second else None


def _toward_product(v: Value, near: Neighbourhood, steps: int) -> Nodes | None:
    """Return elementwise operators from ``v`` back to a product, the product last."""
    maker = near.maker(v)
    if maker is None or steps <= 0:
        return None
    if maker.op.kind is Kind.MATMUL:
        return [maker]
    if maker.op.kind is not Kind.ELEMENTWISE:
        return None
    for operand in near.computed(maker):
        # a second reader would need the scores in memory, which a fused kernel never writes
        rest = _toward_product(operand, near, steps - 1)
        if rest is not None and near.lone(operand) is maker:
            return [maker, *rest]
    return None


def _scales(node: Node) -> bool:
    """Return True if a node multiplies by one number, stored or computed from shapes."""
    return isinstance(node.op, FACTORS) and any(v is not None and is_scalar(v) for v in node.inputs)


def _prologue(scores: Node, near: Neighbourhood) -> Nodes:
    """Return scalings, and transpositions of k, that only the product of q and k reads."""
    members: Nodes = []
    for v in near.computed(scores):
        reader, operand = scores, v
        # at most a transposition, with a factor before and after it
        for _ in range(3):
            maker = near.maker(operand)
            if maker is None or near.lone(operand) is not reader:
                break
            if not (_scales(maker) or isinstance(maker.op, Transpose)):
                break
            members.append(maker)
            tensors = [o for o in near.computed(maker) if not is_scalar(o)]
            if len(tensors) != 1:
                break
            reader, operand = maker, tensors[0]
    return members
