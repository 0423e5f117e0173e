"""Gradients of dropout."""

from __future__ import annotations

from ... import known
from ...ops.elementwise.dropout_grad import DropoutGrad
from ...ops.elementwise.random import Dropout
from ..adjoint import Adjoint, Gradients


def dropout(at: Adjoint) -> Gradients:
    """Return the gradient times the mask of the forward pass, scaled by 1 / (1 - ratio).

    The mask is saved as bytes. If nothing is dropped, it is the gradient itself.
    """
    op = at.op
    assert isinstance(op, Dropout)
    if not op._trains(at.node.inputs):
        return {0: at.dy}
    ratio = at.node.inputs[1] if at.has(1) else None
    ratio_content = known(at.node.inputs, 1)
    # operands: gradient, mask (result 1), ratio. A ratio with unknown contents is left out: the
    # kernel scales by one number in any case
    ins = (at.dy, at.result(1), *(() if ratio is None or ratio_content is None else (ratio,)))
    return {0: at.tape.apply(DropoutGrad(), *ins)}
