"""Gradients of recurrent cells."""

from __future__ import annotations

from ...ops.recurrent.recurrent import GRU, LSTM, RNN, Recurrent
from ...ops.recurrent.recurrent_grad import RecurrentGrad
from ..adjoint import Adjoint, Gradients


def lstm(at: Adjoint) -> Gradients | None:
    """Return the gradients of all operands from operands and result, by one operator.

    The operator is for all time steps together, as kernels of cuDNN are.
    """
    op = at.op
    # subclasses, such as cells of ONNX Runtime, have other operands
    if not isinstance(op, Recurrent) or not op.is_exactly(LSTM, GRU, RNN):
        return None
    # gradients of all states, of the last hidden state and of the last cell state, None if unused
    incoming = (*at.of_results, None, None, None)[:3]
    ins = (*incoming, at.result(), *at.node.inputs)
    return at.in_one_kernel(RecurrentGrad(op.gates, op.layout), ins)


gru = rnn = lstm  # rules are looked up by the mnemonic of the operator
