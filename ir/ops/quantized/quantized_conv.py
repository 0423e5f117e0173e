"""Convolutions on 8-bit integers."""

from __future__ import annotations

from ... import DType, frozen
from ..convolution.conv import Conv
from ..convolution.conv_transpose import ConvTranspose
from .quantized_matmul import REQUANTIZE

QLINEAR_OPERANDS = "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?"
"""Feature maps at 0, filters at 3, zero point of the result at 7, bias at 8."""


class ConvInteger(Conv):
    """Convolution of 8-bit integers in 32-bit integers.

    Shapes:  as Conv.
    Work:    {mac} in int8; correcting for zero points is left out.
    Traffic: as Conv.
    Source:  ONNX ConvInteger-10.
    """

    mnemonic = "conv_integer"
    onnx = "ConvInteger"
    operands = "x w x_zero_point? w_zero_point?"
    macs_in = DType.I8
    result = DType.I32
    added_at = ()  # operand 2 is a zero point: ONNX gives it no bias


@frozen
class QLinearConv(Conv):
    """Convolution of 8-bit integers, requantized to 8 bits.

    Shapes:  as Conv; with ``channels_last`` (ONNX Runtime) X and Y are N, spatial, C.
    Work:    {mac} in int8; x = 4 (scale, round, add the zero point, clamp)
             and 1 for the bias; correcting for zero points is left out.
    Traffic: as Conv.
    Source:  ONNX QLinearConv-10; ONNX Runtime ContribOperators, QLinearConv.
    """

    mnemonic = "qlinear_conv"
    onnx = "QLinearConv com.microsoft::QLinearConv com.ms.internal.nhwc::QLinearConv"
    operands = QLINEAR_OPERANDS
    at = (0, 3)  # x and w
    typed_by = (7, 0)  # by the zero point of the result, which may be signed where x is not
    fused_alu, added_at = REQUANTIZE, (8,)  # of every result; one more for a bias
    macs_in = DType.I8

    channels_last: int = 0

    def layout(self) -> int:
        return self.channels_last


class QLinearConvTranspose(ConvTranspose):
    """Transposed convolution of 8-bit integers, requantized to 8 bits; channels are last.

    Shapes:  as ConvTranspose, with X and Y as N, spatial, C.
    Work:    as ConvTranspose in int8; x = 4 for requantizing and 1 for the bias.
    Traffic: each operand once, Y once.
    Source:  ONNX Runtime, com.ms.internal.nhwc QLinearConvTranspose.
    """

    mnemonic = "qlinear_conv_transpose"
    onnx = "com.ms.internal.nhwc::QLinearConvTranspose"
    operands = QLINEAR_OPERANDS
    # as in QLinearConv
    at = (0, 3)
    typed_by = (7, 0)
    fused_alu, added_at = REQUANTIZE, (8,)
    macs_in = DType.I8
    is_nhwc = True
