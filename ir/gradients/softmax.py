"""Softmax, its logarithm, and losses."""

from __future__ import annotations

from ..ops.softmax import LogSoftmax, Softmax
from ..ops.softmax_grad import (
    LogSoftmaxGrad,
    NegativeLogLikelihoodLossGrad,
    SoftmaxCrossEntropyLossGrad,
    SoftmaxGrad,
)
from .adjoint import Adjoint, Gradients


def softmax(at: Adjoint) -> Gradients | None:
    """From the result, which is kept."""
    op = at.op
    if not isinstance(op, Softmax) or not op.is_exactly(Softmax, LogSoftmax):
        return None
    made = LogSoftmaxGrad if isinstance(op, LogSoftmax) else SoftmaxGrad
    return {0: at.tape.apply(made(op.axis, op.flatten), at.dy, at.result())}


log_softmax = softmax


def hardmax(at: Adjoint) -> Gradients:
    """None: it is constant wherever it has a derivative."""
    return {}


def nll_loss(at: Adjoint) -> Gradients:
    """One kernel; of the scores only their shape is used."""
    reduction, ignored = getattr(at.op, "reduction", "mean"), getattr(at.op, "ignore_index", None)
    op = NegativeLogLikelihoodLossGrad(reduction=reduction, ignore_index=ignored)
    weight = (at.operand(2),) if at.has(2) else ()
    extents = at.tape.ints(at.shape(0))
    return {0: at.tape.apply(op, at.dy, extents, at.operand(1), *weight)}


def softmax_cross_entropy_loss(at: Adjoint) -> Gradients:
    """From the logarithms of probabilities, which are kept."""
    reduction, ignored = getattr(at.op, "reduction", "mean"), getattr(at.op, "ignore_index", None)
    op = SoftmaxCrossEntropyLossGrad(reduction=reduction, ignore_index=ignored)
    weight = (at.operand(2),) if at.has(2) else ()
    return {0: at.tape.apply(op, at.dy, at.result(1), at.operand(1), *weight)}
