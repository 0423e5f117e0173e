"""Gradients of quantized matrix products."""

from __future__ import annotations

from ... import Inputs, Natural, Types, frozen
from ...problem import Product
from .quantized_matmul import GemmFloat8


@frozen
class GemmFloat8Grad(GemmFloat8):
    """Product of the backward pass in 8-bit or narrower floats, scaled as in the forward pass.

    Shapes:  as Gemm; ``scale_block`` elements of the contracted axis share a scale, 0 for all.
    Work:    {mac} in the element type of A.
    Traffic: each operand once, Y once.
    Source:  Transformer Engine, general_gemm of the layouts NN and NT.
    """

    mnemonic = "gemm_float8_grad"
    onnx = ""  # not that of the forward pass

    scale_block: Natural = 0

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        product = super().problem(ins, outs)
        return None if product is None else product._replace(scale_block=self.scale_block)
