"""Cross-entropy of scores: the logarithm of softmax, and its elements at the labels."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import DType, Node, TensorType, Value, element_count
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.normalization.softmax import LogSoftmax, NegativeLogLikelihoodLoss, Softmax

from ..loss import Head


def head(tape: Tape, outputs: Sequence[Value], nodes: Sequence[Node]) -> Head:
    """Return the cross-entropy of the first result, in f32 unless the model returns logarithms.

    Labels are an input of whole numbers. Classes are the last axis of results of rank 2 and 3, and
    the second axis of others. A softmax at the end of the model is part of the loss.
    """
    scores = outputs[0]
    makers = {v: n for n in nodes for v in n.results}
    last = makers.get(scores)
    is_log = last is not None and isinstance(last.op, LogSoftmax)
    # `LogSoftmax` is a `Softmax`, too
    if last is not None and isinstance(last.op, Softmax) and not is_log and last.inputs[0]:
        scores = last.inputs[0]
    shape = shape_of(scores)
    # sequences of scores are rows to the loss, whose classes are the second axis
    if len(shape) == 3:
        scores = tape.reshape(scores, (element_count(shape[:2]), shape[2]))
        shape = shape_of(scores)
    if scores.dtype.bits < DType.F32.bits and not is_log:
        scores = tape.apply(Cast(to=DType.F32), scores)
    labels = Value(tape.fresh("labels"), TensorType(DType.I64, (shape[0], *shape[2:])))
    logs = scores if is_log else tape.apply(LogSoftmax(axis=1), scores)
    return Head(tape.apply(NegativeLogLikelihoodLoss(), logs, labels), (labels,))
