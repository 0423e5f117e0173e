"""Operators of the backward pass that ONNX has none for; importing this module defines them.

The gradient of a convolution is two convolutions (PyTorch's flop counter counts it so too): that of
its input is ONNX's own ConvTranspose of the result's gradient with the same filters, that of its
filters is a Conv of the input with the result's gradient as filters, batch and channels exchanged.
`ConvWeightGrad` asks Conv for its counts: there is no second formula.

Left out: workspace, layout changes, the second read of batch normalisation's operands where they
do not stay in cache, bias gradients merged into other kernels.
"""

# infer, work and extents are documented once, on Op
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from perfc.ir.cost import Work
from perfc.ir.dim import Dim
from perfc.ir.graph import Inputs, Value
from perfc.ir.op import Kind, Op, Types, count, tensor
from perfc.ir.ops.conv import Conv
from perfc.ir.record import frozen
from perfc.ir.types import TensorType

DOMAIN = "mtd.training"


def exchanged(x: Value, rows: tuple[Dim, ...]) -> Value:
    """``x`` with batch and channels exchanged and ``rows`` as its spatial extents."""
    assert isinstance(x.type, TensorType)
    assert x.type.shape is not None
    n, c, *_ = x.type.shape
    return Value(x.name, TensorType(x.type.dtype, (c, n, *rows)))


@frozen
class ConvWeightGrad(Op):
    """Gradient of a convolution's filters.

    Shapes:  X[n, c, h, w], dY[n, k, p, q] -> dW[k, c, r, s].
    Work:    that of Conv with X[c, n, h, w], filters dY[k, n, p, q] and strides as dilations.
    Traffic: each operand and the result once.
    Source:  arXiv:1603.07285 section 4; torch.utils.flop_counter, conv_backward_flop.
    """

    mnemonic = "conv_weight_grad"
    onnx: ClassVar[tuple[str, ...]] = (f"{DOMAIN}::ConvWeightGrad",)
    operands: ClassVar[tuple[str, ...]] = ("X", "dY")
    kind = Kind.CONV

    kernel_shape: tuple[int, ...] = (1, 1)
    strides: tuple[int, ...] = (1, 1)
    pads: tuple[int, ...] = (0, 0, 0, 0)

    def as_conv(self, ins: Inputs) -> tuple[Conv, Inputs]:
        """The convolution that does it; rows that the stride never reaches are not read."""
        x, dy = ins[0], ins[1]
        assert x is not None
        assert dy is not None
        out = tensor(ins, 1).shape
        assert out is not None
        pads = [self.pads[i] + self.pads[i + 2] for i in range(2)]
        rows = tuple(
            (p - 1) * s + k - pad
            for p, s, k, pad in zip(out[2:], self.strides, self.kernel_shape, pads, strict=True)
        )
        conv = Conv(dilations=self.strides, pads=self.pads)
        return conv, (exchanged(x, rows), exchanged(dy, out[2:]))

    def infer(self, ins: Inputs) -> Types:
        conv, operands = self.as_conv(ins)
        (out, *_) = conv.infer(operands)
        assert isinstance(out, TensorType)
        assert out.shape is not None
        c, k, *window = out.shape
        return (TensorType(out.dtype, (k, c, *window)),)

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        conv, operands = self.as_conv(ins)
        return conv.work(operands, conv.infer(operands))


@frozen
class BatchNormalizationGrad(Op):
    """Gradients of batch normalisation in training.

    Shapes:  dY, X[n, c, d...], scale, mean, var[c] -> dX like X, dscale, dbias[c].
    Work:    alu = 11*e: two for each of two standardisations of X, three for the two sums, four for
             dX; sfu = c.
    Traffic: each operand and each result once.
    Source:  arXiv:1502.03167 section 3.
    """

    mnemonic = "batch_norm_grad"
    onnx: ClassVar[tuple[str, ...]] = (f"{DOMAIN}::BatchNormalizationGrad",)
    operands: ClassVar[tuple[str, ...]] = ("dY", "X", "scale", "mean", "var")
    kind = Kind.NORMALIZATION
    formulas: ClassVar[Mapping[str, str]] = {"alu": "11*e", "sfu": "c"}

    def infer(self, ins: Inputs) -> Types:
        x, scale = tensor(ins, 1), tensor(ins, 2)
        return x, scale, scale

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        return Work(alu=11 * count(tensor(ins, 1)), sfu=count(tensor(ins, 2)))

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        return {"e": count(tensor(ins, 1)), "c": count(tensor(ins, 2))}


@frozen
class ReluGrad(Op):
    """Gradient where the result was positive, zero elsewhere.

    Shapes:  dY, Y -> dX, all alike.
    Work:    alu = e, one selection.
    Traffic: each operand and the result once.
    Source:  TensorFlow ReluGrad.
    """

    mnemonic = "relu_grad"
    onnx: ClassVar[tuple[str, ...]] = (f"{DOMAIN}::ReluGrad",)
    operands: ClassVar[tuple[str, ...]] = ("dY", "Y")
    formulas: ClassVar[Mapping[str, str]] = {"alu": "e"}

    def infer(self, ins: Inputs) -> Types:
        return (tensor(ins, 1),)

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        return Work(alu=count(tensor(ins, 1)))

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        return {"e": count(tensor(ins, 1))}


@frozen
class MaxPoolGrad(Op):
    """Gradient of a pooling, put where each maximum was.

    Shapes:  dY, Y[n, c, p, q], X[n, c, h, w] -> dX like X.
    Work:    alu = e with e elements of X, one comparison each.
    Traffic: each operand and the result once.
    Source:  TensorFlow MaxPoolGrad.
    """

    mnemonic = "max_pool_grad"
    onnx: ClassVar[tuple[str, ...]] = (f"{DOMAIN}::MaxPoolGrad",)
    operands: ClassVar[tuple[str, ...]] = ("dY", "Y", "X")
    kind = Kind.POOL
    formulas: ClassVar[Mapping[str, str]] = {"alu": "e"}

    def infer(self, ins: Inputs) -> Types:
        return (tensor(ins, 2),)

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        return Work(alu=count(tensor(ins, 2)))

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        return {"e": count(tensor(ins, 2))}
