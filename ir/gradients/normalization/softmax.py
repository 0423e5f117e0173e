"""Gradients of softmax, its logarithm, and losses: rules by the mnemonics of their operators."""

from __future__ import annotations

from ... import Value
from ...ops.normalization.softmax import LogSoftmax, Softmax
from ...ops.normalization.softmax_grad import (
    LogSoftmaxGrad,
    NegativeLogLikelihoodLossGrad,
    SoftmaxCrossEntropyLossGrad,
    SoftmaxGrad,
)
from ..adjoint import Adjoint, Gradients


def softmax(at: Adjoint) -> Gradients | None:
    """Return the gradient from the saved result; None for other subclasses of softmax."""
    op = at.op
    if not isinstance(op, Softmax) or not op.is_exactly(Softmax, LogSoftmax):
        return None
    grad_op = LogSoftmaxGrad if isinstance(op, LogSoftmax) else SoftmaxGrad
    return {0: at.tape.apply(grad_op(op.axis, op.flatten), at.dy, at.result())}


log_softmax = softmax


def hardmax(at: Adjoint) -> Gradients:
    """Return no gradient: hardmax is constant wherever it has a derivative."""
    return {}


def nll_loss(at: Adjoint) -> Gradients:
    """Return the gradient by one operator, which needs only the shape of the scores."""
    return _loss(at, NegativeLogLikelihoodLossGrad, at.tape.ints(at.shape(0)))


def softmax_cross_entropy_loss(at: Adjoint) -> Gradients:
    """Return the gradient by one operator, which reads the saved logarithms of probabilities."""
    return _loss(at, SoftmaxCrossEntropyLossGrad, at.result(1))


def _loss(
    at: Adjoint,
    kind: type[NegativeLogLikelihoodLossGrad | SoftmaxCrossEntropyLossGrad],
    scores: Value,
) -> Gradients:
    """Return the gradient of a loss over classes by an operator of class ``kind``.

    ``scores`` is its second operand: the scores, or their shape.
    """
    reduction, ignored = getattr(at.op, "reduction", "mean"), getattr(at.op, "ignore_index", None)
    op = kind(reduction=reduction, ignore_index=ignored)
    weight = (at.operand(2),) if at.has(2) else ()  # weights of the classes
    return {0: at.tape.apply(op, at.dy, scores, at.operand(1), *weight)}
