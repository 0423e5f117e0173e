"""Operators of a PyTorch program as `torch.onnx` writes them by default, at opset 20."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import DType, Node, Value
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.contraction.matmul import MatMul
from perfc.ir.ops.convolution.global_pool import GlobalAveragePool
from perfc.ir.ops.elementwise.elementwise import Add
from perfc.ir.ops.elementwise.logic import IsNaN, Where
from perfc.ir.ops.movement.slice import Split
from perfc.ir.ops.normalization.softmax import Softmax

from ..fusion.neighbourhood import number


def exported(node: Node, tape: Tape, before: Sequence[Node]) -> Sequence[Value]:
    """Write the operators that stand for a node, and return their results; empty if it stays.

    Source: onnxscript, function_libs/torch_lib/ops/nn.py, aten_scaled_dot_product_attention, and
    core.py, aten_unbind; onnxruntime, noop_elimination.cc.

    Args:
        node: node of the program.
        tape: takes the operators.
        before: nodes that run before, among which an equal mask is looked up.
    """
    ins = [v for v in node.inputs if v is not None]
    if any(v.shape is None for v in (*ins, *node.results)):
        return ()
    tape.place, tape.suffix, tape.nodes = node.loc, ".onnx", []
    match node.op:
        # with heads as an axis, and without past keys and values
        case Attention(q_num_heads=None) as op if len(node.outputs) == 1 and len(ins) < 5:
            return (attention(op, ins, tape, before),)
        # parts of one element, as of torch.unbind
        case Split(axis=axis) if all(shape_of(v)[axis] == 1 for v in node.results):
            axis %= len(shape_of(ins[0]))
            return [tape.part(ins[0], {axis: (i, i + 1)}) for i in range(len(node.outputs))]
        case Add() if number(ins[1]) == 0 and ins[0].type == node.results[0].type:
            return ins[:1]
        case GlobalAveragePool():
            return (tape.mean(ins[0], range(2, len(shape_of(ins[0])))),)
    return ()


def attention(op: Attention, ins: Sequence[Value], tape: Tape, before: Sequence[Node]) -> Value:
    """Write attention as two products and a softmax, the scale split between queries and keys."""
    query, key, value, *masks = ins
    _, heads, s, _ = shape_of(query)
    key, value = tape.repeated(key, heads), tape.repeated(value, heads)
    # the value does not change the cost: 0.5 stands for the root of the default scale, 1/sqrt(d)
    root = tape.number(op.scale**0.5 if op.scale else 0.5, query.dtype)
    zero = tape.number(0.0, query.dtype)
    keys = tape.mul(tape.swapped(key), root)
    scores = tape.apply(MatMul(), tape.mul(query, root), keys)
    is_mask = bool(masks) and masks[0].dtype is DType.BOOL
    if is_mask:
        start = masks[0], zero
        earlier = (n for n in before if isinstance(n.op, Where) and n.inputs[:2] == start)
        same = next((n.results[0] for n in earlier), None)
        # -1e9 stands for minus infinity
        masks = [same or tape.where(*start, tape.number(-1e9, query.dtype))]
    elif op.is_causal:
        # the export adds a mask of queries by keys; its contents do not matter here
        masks = [tape.expand(zero, (s, shape_of(key)[2]))]
    scores = tape.add(scores, masks[0]) if masks else scores
    shares = tape.apply(Softmax(axis=-1), scores)
    if is_mask:
        # rows in which every key is masked are zero, not NaN
        shares = tape.where(tape.apply(IsNaN(), shares), zero, shares)
    return tape.apply(MatMul(), shares, value)
