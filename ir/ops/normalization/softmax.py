"""Softmax, its variants, and losses on its logarithm."""

from __future__ import annotations

from ... import (
    Attributes,
    Dim,
    Extents,
    Inputs,
    Kind,
    Op,
    TensorType,
    Traffic,
    Types,
    count,
    element_count,
    frozen,
    has,
    normal_axis,
    shape_at,
    single,
    tensor,
)
from ...problem import Rows
from ...traffic import moved, packed, stored

ADAPTED_FROM = 13
"""Opset version since which only the axis itself is normalized; before, all axes from the axis on
are one row."""


@frozen
class Softmax(Op):
    """Exponentials along ``axis`` divided by their sum.

    Shapes:  input -> same shape; r rows of the axis are normalized separately.
    Work:    for each of the e elements: comparison (maximum), difference, exponential, addition
             (sum), product; for each row one reciprocal: {alu}, {sfu}.
    Traffic: input and result once.
    Source:  ONNX Softmax-13; before version 13 the axes from ``axis`` on are one (``flatten``).
    """

    mnemonic = "softmax"
    onnx = "Softmax"
    operands = "input"
    kind = Kind.SOFTMAX
    formulas = {"alu": "4*e", "sfu": "e + r"}
    axis: int = -1
    flatten: bool = False

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Set the axis: before version 13 it is 1, and all axes from it on are normalized."""
        return {"axis": 1, **attrs, "flatten": True} if version < ADAPTED_FROM else attrs

    def infer(self, ins: Inputs) -> Types:
        x = tensor(ins, 0)
        if x.shape:
            # only a check: it raises a ShapeError; an axis to flatten from may equal the rank
            normal_axis(self.axis, len(x.shape) + self.flatten)
        return single(x.dtype, x.shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(outs[0]), "r": self.rows(outs)}

    def problem(self, ins: Inputs, outs: Types) -> Rows:
        return Rows(self.rows(outs), count(outs[0]))

    def rows(self, outs: Types) -> Dim:
        """Return the number of separately normalized rows."""
        shape = outs[0].shape if isinstance(outs[0], TensorType) else None
        if not shape:
            return 1 if shape == () else 0
        axis = self.axis + len(shape) if self.axis < 0 else self.axis
        # a flattened axis and all after it are one row
        return element_count(shape[:axis] if self.flatten else shape[:axis] + shape[axis + 1 :])


class LogSoftmax(Softmax):
    """Logarithm of softmax: the logarithm of each row's sum is subtracted.

    Shapes:  input -> same shape; r rows of the axis are normalized independently.
    Work:    comparison, difference, exponential, addition and difference per element, a logarithm
             a row: {alu}, {sfu}.
    Traffic: input and result once.
    Source:  ONNX LogSoftmax-13.
    """

    mnemonic = "log_softmax"
    onnx = "LogSoftmax"


class Hardmax(Softmax):
    """1 at the maximum of each row, 0 elsewhere: two comparisons per element.

    Shapes:  input -> same shape.
    Work:    {alu}.
    Traffic: input and result once.
    Source:  ONNX Hardmax-13.
    """

    mnemonic = "hardmax"
    onnx = "Hardmax"
    formulas = {"alu": "2*e"}


@frozen
class BiasSoftmax(Softmax):
    """Softmax of ``data + bias``.

    Shapes:  data, bias (broadcast to it) -> shape of data.
    Work:    as Softmax, and an addition per element: {alu}, {sfu}.
    Traffic: data, bias and result once.
    Source:  ONNX Runtime contrib BiasSoftmax-1.
    """

    mnemonic = "bias_softmax"
    onnx = "com.microsoft::BiasSoftmax"
    operands = "data bias"
    formulas = {"alu": "5*e", "sfu": "e + r"}
    axis: int = 1
    flatten: bool = True
    is_inner_broadcast: int = 0

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Return the attributes unchanged: versions do not differ."""
        return attrs


@frozen
class NegativeLogLikelihoodLoss(Op):
    """Weighted negative of the elements of ``input`` at the labels, reduced.

    Shapes:  input[n, c, d...], target[n, d...], weight[c] -> target's shape, a scalar if reduced.
    Work:    a negation for each of the t labels, a product with a weight, an addition when
             reduced: {alu}; the final division by the sum of weights is left out.
    Traffic: the labels, the elements they select, the weights, and the result.
    Source:  ONNX NegativeLogLikelihoodLoss-22.
    """

    mnemonic = "nll_loss"
    onnx = "NegativeLogLikelihoodLoss"
    operands = "input target weight?"
    kind = Kind.REDUCTION
    formulas = {"alu": "a*t"}
    reduction: str = "mean"
    ignore_index: int | None = None

    def infer(self, ins: Inputs) -> Types:
        scores = tensor(ins, 0)
        return single(scores.dtype, loss_shape(ins, self.reduction))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"t": _labels(ins), "a": 1 + has(ins, 2) + (self.reduction != "none")}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        # one element of ``input`` per label; labels and weights whole
        selected = packed(tensor(ins, 1).numel, tensor(ins, 0).dtype)
        others = (stored(v.type) for v in ins[1:] if v is not None)
        return moved([selected, *others], [stored(outs[0])])


def loss_shape(ins: Inputs, reduction: str) -> tuple[Dim, ...] | None:
    """Return the shape of a loss over labels (input 1) of scores (input 0)."""
    if reduction != "none":
        return ()
    scores, labels = shape_at(ins, 0), shape_at(ins, 1)
    if labels is None:
        return None if scores is None or len(scores) < 2 else (*scores[:1], *scores[2:])
    return labels


def _labels(ins: Inputs) -> Dim:
    """Return the number of labels, by the shape of input 1, else by that of the scores."""
    labels, scores = shape_at(ins, 1), shape_at(ins, 0)
    if labels is None and scores is not None:
        labels = (*scores[:1], *scores[2:])
    return 0 if labels is None else element_count(labels)


@frozen
class SoftmaxCrossEntropyLoss(Op):
    """Negative log-likelihood of the softmax of ``scores``.

    Shapes:  scores[n, c, d...], labels[n, d...], weights[c] -> loss as of
             NegativeLogLikelihoodLoss, and log_prob of the shape of scores.
    Work:    LogSoftmax of e scores in t rows, and the loss of t labels with a operations each:
             {alu}, {sfu}.
    Traffic: each operand and each result once.
    Source:  ONNX SoftmaxCrossEntropyLoss-13.
    """

    mnemonic = "softmax_cross_entropy_loss"
    onnx = "SoftmaxCrossEntropyLoss"
    operands = "scores labels weights?"
    kind = Kind.SOFTMAX
    formulas = {"alu": "4*e + t*a", "sfu": "e + t"}
    reduction: str = "mean"
    ignore_index: int | None = None

    def infer(self, ins: Inputs) -> Types:
        scores = tensor(ins, 0)
        loss = TensorType(scores.dtype, loss_shape(ins, self.reduction))
        return loss, TensorType(scores.dtype, scores.shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # negation, product with a weight, addition if reduced
        a = 1 + has(ins, 2) + (self.reduction != "none")
        return {"e": count(tensor(ins, 0)), "t": _labels(ins), "a": a}

    def problem(self, ins: Inputs, outs: Types) -> Rows:
        return Rows(_labels(ins), count(tensor(ins, 0)))
