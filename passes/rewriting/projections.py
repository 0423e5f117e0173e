"""Attention that projects its input, written out as the product and the attention after it."""

from __future__ import annotations

from dataclasses import replace

from perfc.errors import ShapeError
from perfc.ir import Node, Value
from perfc.ir.op import with_attributes
from perfc.ir.ops.attention.attention import AttentionLike
from perfc.ir.ops.contraction.matmul import MatMul


def projected(node: Node) -> tuple[Node, ...]:
    """Return the product that gives queries, keys and values, and the attention that reads them.

    Empty if the operator does not project its input in one product.

    Source: onnxruntime contrib_ops/cuda/bert/attention.cc and packed_attention.cc: a product by
    cuBLAS, then LaunchAttentionKernel or fused attention.
    """
    op = node.op
    if not isinstance(op, AttentionLike) or (rest := op.after_projection()) is None:
        return ()
    given = dict(zip(op.signature.names, node.inputs, strict=False))
    product, operands = MatMul(), (given["input"], given["weights"])
    try:
        type_ = product.infer(operands)[0]
    except ShapeError:
        # the attention itself has not compared the widths of input and weights
        return ()
    # both nodes have the name of the file's node, so that its figures are sums over both
    loc = replace(node.loc, name=node.name, op_type="MatMul", is_expanded=True)
    qkv = Value(f"{node.name}.qkv", type_)
    others = tuple([given.get(operand) for operand in rest.signature.names[1:]])
    attention = with_attributes(rest, op)
    return (
        Node(product, operands, (qkv,), (), loc),
        Node(attention, (qkv, *others), node.outputs, (), node.loc),
    )
