"""Gradients of quantized matrix products."""

from __future__ import annotations

from ... import Value
from ...ops.quantized.quantize import QuantizeLinear
from ...ops.quantized.quantized_matmul import GemmFloat8
from ...ops.quantized.quantized_matmul_grad import GemmFloat8Grad
from ...problem import Product
from ..adjoint import Adjoint, Gradients


def gemm_float8(at: Adjoint) -> Gradients:
    """Return the gradients of both factors, as products in the format of the forward pass.

    The gradient of the result is rounded to that format first. Source: Transformer Engine,
    ``_linear_forward`` and its backward pass.
    """
    op, tape = at.op, at.tape
    assert isinstance(op, GemmFloat8)
    if op.transA or not op.transB or op.activation:
        raise at.error("operands lie otherwise than linear layers have them")
    x, w = at.operand(0), at.operand(1)
    problem = op.problem(at.node.inputs, op.infer(at.node.inputs))
    # elements that share a scale, as in the forward product; 0 for one scale
    block = problem.scale_block if isinstance(problem, Product) else 0
    scale = at.operand(3) if at.has(3) else None  # scaleA
    gradients: dict[int, Value | None] = {}
    if at.wants(0) or at.wants(1):
        rounding = QuantizeLinear(output_dtype=x.dtype, block_size=block, axis=-1)
        dy = tape.apply(rounding, at.dy, scale or tape.number(1.0))
        result_dtype = at.dy.dtype
        if at.wants(0):
            grad_op = GemmFloat8Grad(dtype=result_dtype, scale_block=block)
            gradients[0] = tape.apply(grad_op, dy, w, None, scale)  # None: no C is added
        if at.wants(1):
            grad_op = GemmFloat8Grad(dtype=result_dtype, scale_block=block, transA=1)
            gradients[1] = tape.apply(grad_op, dy, x, None, scale)
    if at.wants(2):
        # configurations add their bias with the attribute at its default, 0
        gradients[2] = tape.scaled(tape.sum_to(at.dy, at.shape(2)), op.beta or 1.0)
    return gradients
