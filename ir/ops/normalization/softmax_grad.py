"""Gradients of softmax, its logarithm, and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import (
    Extents,
    Inputs,
    Results,
    TensorType,
    Types,
    count,
    frozen,
    normal_axis,
    single,
    tensor,
)
from ...op import given
from ...problem import Rows
from ..elementwise.rounding import Exp
from ..movement.gather_grad import one_hot
from .softmax import Softmax

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class SoftmaxGrad(Softmax):
    """``Y * (dY - sum(dY * Y))`` along ``axis``.

    Shapes:  dY, Y -> same shape; r rows of the axis.
    Work:    product, addition, difference and product per element: {alu}.
    Traffic: both operands once, the result once.
    Source:  ONNX Runtime training, com.microsoft SoftmaxGrad_13.
    """

    mnemonic = "softmax_grad"
    onnx = "com.microsoft::SoftmaxGrad_13"
    operands = "dY Y"
    formulas = {"alu": "4*e"}

    def axes(self, rank: int) -> tuple[int, ...]:
        """Return the axes that are normalized together."""
        axis = normal_axis(self.axis, rank + self.flatten)
        return tuple(range(axis, rank)) if self.flatten else (axis,)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, y = given(ins, 0, 1)
        weighted = tape.mul(dy, y)
        total = tape.sum(weighted, self.axes(len(tensor(ins, 1).shape or ())), keepdims=True)
        return (tape.mul(y, tape.sub(dy, total)),)


@frozen
class LogSoftmaxGrad(SoftmaxGrad):
    """``dY - exp(Y) * sum(dY)`` along ``axis``.

    Shapes:  dY, Y -> same shape.
    Work:    addition, product and difference per element: {alu}; an exponential: {sfu}.
    Traffic: both operands once, the result once.
    Source:  ONNX Runtime training, com.microsoft LogSoftmaxGrad_13.
    """

    mnemonic = "log_softmax_grad"
    onnx = "com.microsoft::LogSoftmaxGrad_13"
    formulas = {"alu": "3*e", "sfu": "e"}

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, y = given(ins, 0, 1)
        total = tape.sum(dy, self.axes(len(tensor(ins, 1).shape or ())), keepdims=True)
        return (tape.sub(dy, tape.mul(tape.apply(Exp(), y), total)),)


@frozen
class NegativeLogLikelihoodLossGrad(Softmax):
    """Gradient of the loss at the labels, zero elsewhere.

    Shapes:  dY of the loss, input[n, c, d...], target[n, d...], weight[c] -> like input.
    Work:    a product for each of the t labels: {alu}.
    Traffic: dY, target and weight once, the result once; of input only the shape is used.
    Source:  PyTorch, nll_loss_backward.
    """

    mnemonic = "nll_loss_grad"
    onnx = ""  # ONNX has no operator for it: without this, that of the base class would count
    operands = "dY shape target weight?"
    formulas = {"alu": "t"}
    reduction: str = "mean"
    ignore_index: int | None = None

    def infer(self, ins: Inputs) -> Types:
        from ..convolution.conv_grad import declared_shape

        return single(tensor(ins, 0).dtype, declared_shape(ins, 1))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"t": count(tensor(ins, 2))}

    def problem(self, ins: Inputs, outs: Types) -> Rows:
        return Rows(count(tensor(ins, 2)), count(outs[0]))

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, target = given(ins, 0, 2)
        assert isinstance(outs[0], TensorType)
        shape = outs[0].shape or ()
        hot = one_hot(tape, target, shape, 1, self.ignore_index, outs[0].dtype)
        weight = ins[3] if len(ins) > 3 else None
        if weight is not None:
            # a weight per class, which is axis 1
            columns = (1, shape[1], *(1 for _ in shape[2:]))
            hot = tape.mul(hot, tape.reshape(weight, columns))
        if self.reduction == "none":
            dy_column = tape.reshape(dy, (shape[0], 1, *shape[2:]))
            return (tape.neg(tape.mul(hot, dy_column)),)
        scaled = tape.neg(tape.mul(hot, dy))
        if self.reduction == "sum":
            return (scaled,)
        # a mean divides by the sum of the weights of all labels
        total = tape.sum(hot, range(len(shape)))
        return (tape.div(scaled, total),)


@frozen
class SoftmaxCrossEntropyLossGrad(NegativeLogLikelihoodLossGrad):
    """``softmax - one_hot`` of the scores, scaled.

    Shapes:  dY of the loss, log_prob[n, c, d...], labels[n, d...], weights[c] -> like log_prob.
    Work:    an exponential, a difference and a product per element: {alu}, {sfu}.
    Traffic: each operand once, the result once.
    Source:  ONNX Runtime training, com.microsoft SoftmaxCrossEntropyLossGrad.
    """

    mnemonic = "softmax_cross_entropy_loss_grad"
    onnx = "com.microsoft::SoftmaxCrossEntropyLossGrad"
    operands = "dY log_prob labels weights?"
    formulas = {"alu": "2*e", "sfu": "e"}

    def infer(self, ins: Inputs) -> Types:
        return (tensor(ins, 1),)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"e": count(tensor(ins, 1))}

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        log_prob = ins[1]
        assert log_prob is not None
        # first through the loss, then through the logarithm of softmax
        (of_log_prob,) = super().expand(tape, ins, outs)
        op = LogSoftmaxGrad(axis=1)
        return op.expand(tape, (of_log_prob, log_prob), outs)
