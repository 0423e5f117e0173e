"""Gradients of normalizations: operand, scale and offset in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Positive,
    Results,
    Shape,
    TensorType,
    Types,
    Value,
    count,
    element_count,
    frozen,
    normal_axis,
    shape_at,
    tensor,
)
from ...problem import Span
from ..elementwise.cast import Cast
from ..elementwise.elementwise import Reciprocal, Sqrt
from .normalization import Normalization, channels_of, rows_before

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class NormalizationGrad(Normalization):
    """Base of gradients of normalizations.

    Shapes:  dY, X, scale, and what was saved -> dX like X, dScale and dB like scale.
    Work:    a = 9 operations per element: the centered and scaled element 2, its products and both
             sums 5, and the combination of a row 2; r rows: {alu}.
    Traffic: each operand and each result once.
    """

    formulas = {"alu": "a*e"}

    def alu(self, ins: Inputs) -> int:
        return 9

    def infer(self, ins: Inputs) -> Types:
        x, scale = tensor(ins, 1), tensor(ins, 2)
        return (TensorType(tensor(ins, 0).dtype, x.shape), scale, scale)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {
            "e": count(tensor(ins, 1)),
            "a": self.alu(ins),
            "r": self.rows(shape_at(ins, 1)),
        }


def combined(
    tape: Tape, dx_hat: Value, x_hat: Value, inverse: Value, axes: Sequence[int], centered: bool
) -> Value:
    """Return the gradient through the statistics of rows over ``axes``.

    ``inverse * (d - mean(d) - x_hat * mean(d * x_hat))``, the first mean where rows are centered.
    """
    projection = tape.mul(x_hat, tape.mean(tape.mul(dx_hat, x_hat), axes))
    without_mean = tape.sub(dx_hat, tape.mean(dx_hat, axes)) if centered else dx_hat
    return tape.mul(tape.sub(without_mean, projection), inverse)


@frozen
class LayerNormalizationGrad(NormalizationGrad):
    """Gradients of layer normalization.

    Shapes:  dY, X[r..., n...], scale[n...], mean, inv_std_dev[r..., 1...] -> dX, dScale, dB.
    Work:    {alu} with a = 9.
    Traffic: each operand and each result once.
    Source:  ONNX Runtime training, com.microsoft LayerNormalizationGrad.
    """

    mnemonic = "layer_norm_grad"
    onnx = "com.microsoft::LayerNormalizationGrad"
    operands = "dY X scale mean inv_std_dev"
    axis: int = -1
    centered = True

    def rows(self, shape: Shape | None) -> Dim:
        return rows_before(shape, self.axis)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, x, scale, *statistics = (v for v in ins if v is not None)
        shape = shape_at(ins, 1) or ()
        axes = range(normal_axis(self.axis, len(shape)), len(shape))
        # the statistics are the mean, only where rows are centered, and the inverse root
        centered = tape.sub(x, statistics[0]) if self.centered else x
        x_hat = tape.mul(centered, statistics[-1])
        dx_hat = tape.mul(dy, scale)
        dx = combined(tape, dx_hat, x_hat, statistics[-1], axes, centered=self.centered)
        extents = shape_at(ins, 2) or ()
        return (dx, tape.sum_to(tape.mul(dy, x_hat), extents), tape.sum_to(dy, extents))


@frozen
class SimplifiedLayerNormalizationGrad(LayerNormalizationGrad):
    """Gradients of normalization by the root of the mean square.

    Shapes:  dY, X[r..., n...], scale[n...], inv_std_var[r..., 1...] -> dX, dScale.
    Work:    {alu} with a = 7: rows are not centered.
    Traffic: each operand and each result once.
    Source:  ONNX Runtime training, com.microsoft SimplifiedLayerNormalizationGrad.
    """

    mnemonic = "rms_norm_grad"
    onnx = "com.microsoft::SimplifiedLayerNormalizationGrad"
    operands = "dY X scale inv_std_var"
    centered = False

    def alu(self, ins: Inputs) -> int:
        return 7

    def infer(self, ins: Inputs) -> Types:
        return super().infer(ins)[:2]


@frozen
class BatchNormalizationGrad(NormalizationGrad):
    """Gradients of batch normalization by the statistics of the batch.

    Shapes:  dY, X[n, c, d...], scale, saved_mean, saved_inv_std[c] -> dX, dScale, dB.
    Work:    {alu} with a = 9; 5 where statistics are fixed, through which nothing flows: the
             centered element, its product, both sums and the scaled gradient.
    Traffic: each operand and each result once.
    Source:  ONNX Runtime training, com.microsoft BatchNormalizationGrad; arXiv:1502.03167.
    """

    mnemonic = "batch_norm_grad"
    onnx = "com.microsoft::BatchNormalizationGrad"
    operands = "dY X scale saved_mean saved_inv_std"
    span = Span.CHANNEL
    epsilon: float = 1e-5
    is_fixed: bool = False
    """True for running statistics; then the last operand is a variance."""

    def alu(self, ins: Inputs) -> int:
        return 5 if self.is_fixed else 9

    rows = channels_of

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        # the last operand is an inverse deviation, or a variance if `is_fixed`
        dy, x, scale, mean, deviation = (v for v in ins if v is not None)
        shape = shape_at(ins, 1) or ()
        column = (1, shape[1], *(1 for _ in shape[2:]))
        axes = (0, *range(2, len(shape)))
        dtype = tensor(ins, 1).dtype
        inverse = inverse_root(tape, deviation, self.epsilon, dtype) if self.is_fixed else deviation
        inverse, mean = tape.reshape(inverse, column), tape.reshape(mean, column)
        x_hat = tape.mul(tape.sub(x, mean), inverse)
        scaled = tape.mul(dy, tape.reshape(scale, column))
        # running statistics do not depend on x: only the scale acts
        if self.is_fixed:
            dx = tape.mul(scaled, inverse)
        else:
            dx = combined(tape, scaled, x_hat, inverse, axes, centered=True)
        return (dx, tape.sum(tape.mul(dy, x_hat), axes), tape.sum(dy, axes))


@frozen
class GroupNormalizationGrad(NormalizationGrad):
    """Gradients of group and instance normalization; statistics are recomputed.

    Shapes:  dY, X[n, c, d...], scale[c] -> dX, dScale, dB.
    Work:    {alu} with a = 13: 4 for the statistics.
    Traffic: each operand and each result once.
    Source:  PyTorch, native_group_norm_backward; arXiv:1803.08494.
    """

    mnemonic = "group_norm_grad"
    operands = "dY X scale"
    span = Span.GROUP
    num_groups: Positive | None = None
    """Number of groups; None for one group per channel."""
    epsilon: float = 1e-5

    def alu(self, ins: Inputs) -> int:
        return 13

    def rows(self, shape: Shape | None) -> Dim:
        if not shape:
            return 0
        return shape[0] * (self.num_groups or shape[1])

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, x, scale = (v for v in ins if v is not None)
        shape = shape_at(ins, 1) or ()
        groups = self.num_groups or shape[1]
        column = (1, shape[1], *(1 for _ in shape[2:]))
        # one row per group of channels
        rows = (shape[0], groups, element_count((shape[1] // groups, *shape[2:])))
        flat = tape.reshape(x, rows)
        centered = tape.sub(flat, tape.mean(flat, (2,)))
        variance = tape.mean(tape.mul(centered, centered), (2,))
        inverse = inverse_root(tape, variance, self.epsilon, tensor(ins, 1).dtype)
        x_hat = tape.mul(centered, inverse)
        # before opset 21 the scale has an element per group, since then one per channel
        of_channels = shape_at(ins, 2) == (shape[1],)
        if of_channels:
            scaled = tape.reshape(tape.mul(dy, tape.reshape(scale, column)), rows)
        else:
            of_groups = tape.reshape(scale, (1, groups, 1))
            scaled = tape.mul(tape.reshape(dy, rows), of_groups)
        dx = tape.reshape(combined(tape, scaled, x_hat, inverse, (2,), centered=True), shape)
        if of_channels:
            axes = (0, *range(2, len(shape)))
            product = tape.mul(dy, tape.reshape(x_hat, shape))
            return (dx, tape.sum(product, axes), tape.sum(dy, axes))
        flat_dy = tape.reshape(dy, rows)
        return (dx, tape.sum(tape.mul(flat_dy, x_hat), (0, 2)), tape.sum(flat_dy, (0, 2)))


def inverse_root(tape: Tape, variance: Value, epsilon: float, dtype: DType) -> Value:
    """Return ``1 / sqrt(variance + epsilon)`` as ``dtype``, computed in the variance's type."""
    variance_dtype = variance.type.dtype if isinstance(variance.type, TensorType) else dtype
    root = tape.apply(Sqrt(), tape.add(variance, tape.number(epsilon, variance_dtype)))
    inverse = tape.apply(Reciprocal(), root)
    return inverse if variance_dtype is dtype else tape.apply(Cast(to=dtype), inverse)
