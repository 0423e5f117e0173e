"""Normalizations of the default domain."""

from __future__ import annotations

from collections.abc import Sequence

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Op,
    Positive,
    Shape,
    TensorType,
    Types,
    count,
    element_count,
    first_dtype,
    frozen,
    has,
    normal_axis,
    shape_at,
    single,
    tensor,
)
from ...problem import Rows, Span
from ...symbolic.fresh import data_extent
from ...tensors.types import dtype_of

STATISTICS_ALU = 4
"""Operations per element for mean and variance: addition; difference, product, addition."""


def rows_before(shape: Shape | None, axis: int) -> Dim:
    """Return the number of separately normalized rows: the product of the extents before ``axis``.

    0 if the rank is unknown.
    """
    if not shape:
        return 0 if shape is None else 1
    return element_count(shape[: normal_axis(axis, len(shape))])


def channels_of(_op: object, shape: Shape | None) -> Dim:
    """Return the extent of the second axis, 1 without one; 0 if the rank is unknown.

    It is the method ``rows`` of operators with statistics per channel.
    """
    return 0 if shape is None else shape[1] if len(shape) > 1 else 1


def rows_without(shape: Shape | None, axes: Sequence[int]) -> Dim:
    """Return the product of the extents that are not in ``axes``."""
    if shape is None:
        return 0
    # axes counted from the front
    inside = {a + len(shape) if a < 0 else a for a in axes}
    return element_count(tuple(d for i, d in enumerate(shape) if i not in inside))


@frozen
class Normalization(Op):
    """Elements centered and scaled by statistics of their row.

    Shapes:  X -> same shape; r rows have separate statistics.
    Work:    {alu} with a operations per element, {sfu}: one reciprocal root per row. The
             divisions by the row's length and the additions of epsilon are left out.
    Traffic: each operand and each result once.
    """

    kind = Kind.NORMALIZATION
    formulas = {"alu": "a*e", "sfu": "r"}
    span = Span.AXES
    """Part of the tensor that forms a row."""

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = shape_at(ins, 0)
        return {"e": count(tensor(ins, 0)), "a": self.alu(ins), "r": self.rows(shape)}

    def problem(self, ins: Inputs, outs: Types) -> Rows:
        e = self.extents(ins, outs)
        return Rows(e["r"], e["e"], self.span)

    def alu(self, ins: Inputs) -> int:
        """Return vector operations per element."""
        raise NotImplementedError(f"{type(self).__name__}.alu")

    def rows(self, shape: Shape | None) -> Dim:
        """Return the number of rows with separate statistics, those of the last axis by default."""
        return rows_before(shape, -1)


@frozen
class LayerNormalization(Normalization):
    """``(x - mean) / sqrt(var + epsilon) * Scale + B`` over the axes from ``axis`` on.

    Shapes:  X[r..., n...], Scale, B broadcast to X -> Y like X; Mean and InvStdDev[r..., 1...].
    Work:    a = 4 for the statistics, a product with the root, one with Scale, one addition of
             B if given (the difference is that of the variance); {sfu}.
    Traffic: each operand and each result once.
    Source:  ONNX LayerNormalization-17; arXiv:1607.06450.
    """

    mnemonic = "layer_norm"
    onnx = "LayerNormalization"
    operands = "X Scale B?"
    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        # statistics are f32 by default (stash_type 1), whatever the type of x
        statistics = TensorType(dtype_of(self.stash_type), self._statistics_shape(x.shape))
        return (TensorType(x.dtype, x.shape), statistics, statistics)

    def _statistics_shape(self, shape: Shape | None) -> Shape | None:
        """Return the shape of one statistic per row: normalized axes have extent 1."""
        if not shape:
            return shape
        axis = normal_axis(self.axis, len(shape))
        return (*shape[:axis], *((1,) * (len(shape) - axis)))

    def alu(self, ins: Inputs) -> int:
        return STATISTICS_ALU + 2 + has(ins, 2)

    def rows(self, shape: Shape | None) -> Dim:
        return rows_before(shape, self.axis)


@frozen
class RMSNormalization(LayerNormalization):
    """``x / sqrt(mean(x**2) + epsilon) * scale`` over the axes from ``axis`` on.

    Shapes:  X[r..., n...], scale broadcast to X -> Y like X; inv_std_var[r..., 1...].
    Work:    a = 4: square and addition, product with the root, product with scale; {sfu}.
    Traffic: each operand and each result once.
    Source:  ONNX RMSNormalization-23, ONNX Runtime SimplifiedLayerNormalization-1;
             arXiv:1910.07467.
    """

    mnemonic = "rms_norm"
    onnx = (
        "RMSNormalization SimplifiedLayerNormalization com.microsoft::SimplifiedLayerNormalization"
    )
    operands = "X scale"

    def infer(self, ins: Inputs) -> Types:
        return super().infer(ins)[:2]

    def alu(self, ins: Inputs) -> int:
        return 4


@frozen
class BatchNormalization(Normalization):
    """Elements scaled and shifted by statistics of their channel.

    Shapes:  X[n, c, d...], scale, B, input_mean, input_var[c] -> Y like X; running_mean,
             running_var[c] (before version 14: mean, var, saved_mean, saved_var).
    Work:    inference: a = 2, a product and an addition with factors computed once per channel;
             training: 4 more for the statistics. {sfu} with r channels. The factors' own
             arithmetic, but the root, is left out.
    Traffic: each operand and each result once.
    Source:  ONNX BatchNormalization-15; arXiv:1502.03167.
    """

    mnemonic = "batch_norm"
    onnx = "BatchNormalization"
    operands = "X scale B input_mean input_var"
    span = Span.CHANNEL
    epsilon: float = 1e-5
    momentum: float = 0.9
    training_mode: int = 0

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        # all statistics have one shape: that of the first of mean, variance, scale and B with one
        statistics = next((s for s in (shape_at(ins, i) for i in (3, 4, 1, 2)) if s), None)
        if statistics is None:
            statistics = (data_extent(),) if x.shape is None else x.shape[1:2] or (1,)
        dtype = first_dtype(ins, 3, 4, 0)
        # versions before 14 have up to four statistics as results
        return (TensorType(x.dtype, x.shape), *(TensorType(dtype, statistics),) * 4)

    def alu(self, ins: Inputs) -> int:
        # scale and offset of a channel are computed once from its statistics
        return 2 + (STATISTICS_ALU if self.training_mode else 0)

    rows = channels_of


@frozen
class InstanceNormalization(Normalization):
    """Normalization of each channel of each instance.

    Shapes:  input[n, c, d...], scale, B[c] -> same shape; r = n*c.
    Work:    a = 7: statistics 4, product with the root, product with scale, addition of B.
    Traffic: each operand and each result once.
    Source:  ONNX InstanceNormalization-22; arXiv:1607.08022.
    """

    mnemonic = "instance_norm"
    onnx = "InstanceNormalization"
    operands = "input scale B"
    span = Span.GROUP
    epsilon: float = 1e-5

    def alu(self, ins: Inputs) -> int:
        return STATISTICS_ALU + 3

    def rows(self, shape: Shape | None) -> Dim:
        return 0 if shape is None else element_count(shape[:2])


@frozen
class GroupNormalization(Normalization):
    """Normalization of each group of channels of each instance.

    Shapes:  X[n, c, d...], scale, bias[c] ([num_groups] in version 18) -> same shape; r = n*g.
    Work:    a = 7: statistics 4, product with the root, product with scale, addition of bias.
    Traffic: each operand and each result once.
    Source:  ONNX GroupNormalization-21; arXiv:1803.08494.
    """

    mnemonic = "group_norm"
    onnx = "GroupNormalization"
    operands = "X scale bias"
    span = Span.GROUP
    num_groups: Positive = 1
    epsilon: float = 1e-5
    stash_type: int = 1

    def alu(self, ins: Inputs) -> int:
        return STATISTICS_ALU + 3

    def rows(self, shape: Shape | None) -> Dim:
        return shape[0] * self.num_groups if shape else 0


@frozen
class MeanVarianceNormalization(Normalization):
    """``(x - mean) / sqrt(var)`` over ``axes``.

    Shapes:  X -> same shape.
    Work:    a = 5: statistics 4, product with the root.
    Traffic: X and result once.
    Source:  ONNX MeanVarianceNormalization-13.
    """

    mnemonic = "mean_variance_norm"
    onnx = "MeanVarianceNormalization"
    operands = "X"
    axes: tuple[int, ...] = (0, 2, 3)

    def alu(self, ins: Inputs) -> int:
        return STATISTICS_ALU + 1

    def rows(self, shape: Shape | None) -> Dim:
        return rows_without(shape, self.axes)


@frozen
class LpNormalization(Normalization):
    """Elements divided by the 1- or 2-norm of their row.

    Shapes:  input -> same shape; r rows along ``axis``.
    Work:    a = 3: magnitude or square, addition, product with the reciprocal; {sfu}.
    Traffic: input and result once.
    Source:  ONNX LpNormalization-22.
    """

    mnemonic = "lp_norm"
    onnx = "LpNormalization"
    operands = "input"
    axis: int = -1
    p: Positive = 2

    def alu(self, ins: Inputs) -> int:
        return 3

    def rows(self, shape: Shape | None) -> Dim:
        return rows_without(shape, (self.axis,))


@frozen
class LRN(Normalization):
    """``x / (bias + alpha / size * sum(x**2))**beta`` over ``size`` neighbouring channels.

    Shapes:  X[n, c, d...] -> same shape.
    Work:    a = 6: square, addition to and subtraction from the sliding sum, product, addition,
             product with the power; {sfu} = e: one power per element.
    Traffic: X and result once.
    Source:  ONNX LRN-13; Krizhevsky et al., NeurIPS 2012, section 3.3.
    """

    mnemonic = "lrn"
    onnx = "LRN"
    operands = "X"
    size: Positive = 1
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    def alu(self, ins: Inputs) -> int:
        return 6

    def rows(self, shape: Shape | None) -> Dim:
        return 0 if shape is None else element_count(shape)

    def problem(self, ins: Inputs, outs: Types) -> Rows:
        # the power is one per element and the sums slide, so no row has statistics: the problem is
        # that of kernels that go over the rows of the last axis
        return Rows(rows_before(shape_at(ins, 0), -1), count(tensor(ins, 0)))


@frozen
class Det(Op):
    """Determinants of square matrices by elimination.

    Shapes:  X[b..., m, m] -> Y[b...].
    Work:    products and differences of the elimination, and the product of the pivots:
             {alu}; {sfu} divisions.
    Traffic: X and result once.
    Source:  ONNX Det-22; Golub and Van Loan, Matrix Computations, section 3.2.
    """

    mnemonic = "det"
    onnx = "Det"
    operands = "X"
    kind = Kind.OPAQUE
    # step k of m - 1 takes k divisions and k*k products and differences
    formulas = {"alu": "b*(m*(m - 1)*(2*m - 1)//3 + m)", "sfu": "b*(m*(m - 1)//2)"}

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        return single(x.dtype, None if x.shape is None else x.shape[:-2])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        shape = shape_at(ins, 0)
        return {"b": count(outs[0]), "m": shape[-1] if shape else 0}
