"""Patterns of matrix products and convolutions with fused prologues and epilogues."""

from __future__ import annotations

from perfc.ir import Kind, Node, Value
from perfc.ir.ops.contraction.matmul import Gemm
from perfc.ir.ops.elementwise.activation import (
    Elu,
    HardSigmoid,
    LeakyRelu,
    Relu,
    Selu,
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
)
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.elementwise.elementwise import Add, Mul
from perfc.ir.ops.movement.movement import Transpose
from perfc.ir.ops.movement.pad import Pad
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.ops.quantized.quantize import (
    DequantizeLinear,
    DynamicQuantizeLinear,
    QuantizeLinear,
)

from .neighbourhood import Neighbourhood, has_stored_contents, is_channelwise, is_scaled

Nodes = list[Node]

GEMM_ACTIVATIONS = (
    Relu,
    Sigmoid,
    Tanh,
    LeakyRelu,
    Elu,
    HardSigmoid,
    Selu,
    Softplus,
    Softsign,
)
"""Activations that onnxruntime's GEMM applies to its result."""


def linear_bias(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a product with a stored matrix, and the row added to its result: ``addmm``."""
    bias = near.lone(node.results[0]) if node.results and held(node, near) else None
    if bias is None or not isinstance(bias.op, Add):
        return None
    rows = held(bias, near)
    return [node, bias] if len(rows) == 1 and is_channelwise(rows[0]) else None


def held(node: Node, near: Neighbourhood) -> list[Value]:
    """Return operands that are stored tensors, and stored tensors whose cast is an operand.

    Autocast casts a parameter before the product that reads it.
    """
    makers = [m for v in near.computed(node) if (m := near.maker(v)) is not None]
    return near.stored(node) + [v for m in makers if type(m.op) is Cast for v in near.stored(m)]


def joined(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match products of one tensor with several stored matrices (Q, K and V) as one product.

    Source: TensorRT developer guide, 'Layer fusion': layers of one input are aggregated;
    FasterTransformer, cublasMMWrapper::isFuseBatchGemm and FusedAttentionLayer.
    """
    left = node.inputs[0] if node.inputs else None
    readers = near.readers(near.root(left)) if left is not None and left.weight is None else None
    members = [r for r in readers or () if r.inputs[0] is left and _is_like(r, node, near)]
    return members if node in members else None


def _is_like(other: Node, node: Node, near: Neighbourhood) -> bool:
    """Return True if two products have stored right operands, equal rows and equal result types."""
    if type(other.op) is not type(node.op) or other not in near.inside:
        return False
    rows = []
    for product in (other, node):
        right = product.inputs[1] if len(product.inputs) > 1 else None
        shape = product.results[0].shape if product.results else None
        if right is None or near.root(right).weight is None or not shape:
            return False
        rows.append((product.results[0].dtype, *shape[:-1]))
    return rows[0] == rows[1]


def gemm(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a rank-2 product and a bias. Source: onnxruntime MatMulAddFusion."""
    # Gemm of ONNX has no batch axes
    is_matrix = node.results and len(node.results[0].shape or ()) == 2
    return linear_bias(node, near) if is_matrix else None


def gemm_activation(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a product of two matrices, its bias and an activation.

    Source: onnxruntime GemmActivationFusion.
    """
    members = gemm(node, near) or ([node] if type(node.op) is Gemm else None)
    after = near.lone(members[-1].results[0]) if members else None
    if members is None or after is None or not isinstance(after.op, GEMM_ACTIVATIONS):
        return None
    return [*members, after]


def scaled(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a product with scalar factors and transposed operands.

    A transposition joins only if it feeds the product directly, without a view or a factor between.

    Source: onnxruntime MatMulScaleFusion and MatmulTransposeFusion.
    """
    members = [node]
    # a product of a tensor with itself has one operand
    for v in dict.fromkeys(node.inputs):
        maker = near.maker(v)
        if v is None or maker is None or near.lone(near.root(v)) is not node:
            continue
        if _states_scale(maker, near) or (_swaps_last(maker) and v in maker.results):
            members.append(maker)
    after = near.lone(node.results[0]) if node.results else None
    if after is not None and _states_scale(after, near):
        members.append(after)
    return members


def _states_scale(node: Node, near: Neighbourhood) -> bool:
    """Return True if a node multiplies by a number that the file stores."""
    return is_scaled(node, near) and has_stored_contents(node, near)


def _swaps_last(node: Node) -> bool:
    """Return True for a transposition of the last two axes, which a GEMM reads in place."""
    perm = node.op.perm if isinstance(node.op, Transpose) else None
    if perm is None or len(perm) < 2:
        return False
    n = len(perm)
    return perm == (*range(n - 2), n - 1, n - 2)


def conv_affine(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a convolution with stored filters and per-channel normalization, factors, addends.

    Source: onnxruntime ConvBNFusion, ConvMulFusion, ConvAddFusion.
    """
    if not _has_stored_filters(node):
        return None
    members = [node]
    shape = node.results[0].shape
    # several may follow each other, until one is not per channel
    while shape is not None:
        following = conv_norm_after(members[-1], near)
        if following is None:
            following = near.lone(members[-1].results[0])
            if following is None or not isinstance(following.op, (Mul, Add)):
                break
            stored = near.stored(following)
            if len(stored) != 1 or len(near.computed(following)) != 1:
                break
            if not is_channelwise(stored[0], 1 - len(shape)):
                break
        members.append(following)
    return members


def conv_norm_after(node: Node, near: Neighbourhood) -> Node | None:
    """Return the batch normalization that is the only reader of a node's result."""
    norm = near.lone(node.results[0])
    if norm is None or not isinstance(norm.op, BatchNormalization) or norm.op.training_mode:
        return None
    return norm if len(near.computed(norm)) == 1 and len(norm.results) == 1 else None


def _has_stored_filters(node: Node) -> bool:
    """Return True if the filters of a convolution are stored, so that factors merge into them."""
    if not node.results or len(node.inputs) < 2:
        return False
    filters = node.inputs[1]
    return filters is not None and filters.weight is not None


def padded_conv(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a convolution and the padding before it. Source: onnxruntime PadFusion."""
    pad = near.maker(node.inputs[0]) if node.inputs else None
    if pad is None or not isinstance(pad.op, Pad) or near.lone(pad.results[0]) is not node:
        return None
    # other modes, which reflect or repeat elements, are not those of a convolution's padding
    return [pad, node] if pad.op.mode == "constant" else None


def add_relu(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a residual addition to a convolution's result, then ReLU.

    Source: onnxruntime ConvActivationFusion on CUDA (``ConvAddRelu``).
    """
    operands = near.computed(node)
    addition = near.maker(operands[0]) if len(operands) == 1 else None
    if addition is None or not isinstance(addition.op, Add) or len(near.computed(addition)) != 2:
        return None
    if near.lone(addition.results[0]) is not node:
        return None
    return [addition, node] if any(_is_conv(v, near) for v in addition.inputs) else None


def _is_conv(v: Value | None, near: Neighbourhood) -> bool:
    """Return True if a convolution, normalized or not, computes a value for one reader."""
    maker = near.maker(v)
    if maker is not None and isinstance(maker.op, BatchNormalization):
        # the normalization is folded into the convolution
        maker = near.maker(maker.inputs[0])
    return (
        maker is not None and maker.op.kind is Kind.CONV and near.lone(maker.results[0]) is not None
    )


def integer_product(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match a product of integers with its scales, bias, and quantization that nothing else reads.

    Source: onnxruntime MatMulIntegerToFloatFusion and DynamicQuantizeMatMulFusion.
    """
    members = [node]
    for op in (Cast, Mul, Add):
        after = near.lone(members[-1].results[0])
        if after is None or not isinstance(after.op, op):
            break
        members.append(after)
    # without cast and scale the result stays integers, and the product another kernel
    if len(members) < 3:
        return None
    # the product of scales feeds the third member, a Mul; a quantization feeds the integer product
    for maker in [*map(near.maker, members[2].inputs), near.maker(node.inputs[0])]:
        is_joined = maker is not None and isinstance(maker.op, (Mul, DynamicQuantizeLinear))
        if maker is not None and is_joined and near.lone(maker.results[0]) in members:
            members.append(maker)
    return members


def quantized(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match an operator with dequantized operands and a quantized result: one kernel.

    Source: onnxruntime QDQ selectors; TensorRT developer guide, 'Q/DQ fusion'.
    """
    if isinstance(node.op, QuantizeLinear):
        return _before_quantize(node, near)
    inputs = dequantized(node, near)
    return [node, *inputs] if inputs else None


def _before_quantize(node: Node, near: Neighbourhood) -> Nodes | None:
    """Match from a quantization back to an operator whose operands are all dequantized."""
    members: Nodes = [node]
    reader, v = node, node.inputs[0]
    # the operator, and up to two elementwise ones between it and the quantization
    for _ in range(3):
        maker = near.maker(v)
        if maker is None or near.lone(maker.results[0]) is not reader:
            return None
        members.append(maker)
        operands = near.computed(maker)
        sources = [near.maker(o) for o in operands]
        if operands and all(s is not None and is_dequantize(s) for s in sources):
            return [*members, *dequantized(maker, near)]
        if maker.op.kind is not Kind.ELEMENTWISE or len(operands) != 1:
            return None
        reader, v = maker, operands[0]
    return None


def dequantized(node: Node, near: Neighbourhood) -> Nodes:
    """Return the dequantizations that only ``node`` reads."""
    makers = (near.maker(v) for v in node.inputs)
    return [
        m for m in makers if m is not None and is_dequantize(m) and near.lone(m.results[0]) is node
    ]


def is_dequantize(node: Node) -> bool:
    """Return True if a node converts integers to real numbers."""
    return isinstance(node.op, DequantizeLinear)
