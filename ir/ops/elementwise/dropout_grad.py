"""The gradient of dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import (
    Inputs,
    Kind,
    Op,
    Results,
    Types,
    frozen,
    known,
    tensor,
)
from .cast import Cast

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class DropoutGrad(Op):
    """``dY * mask / (1 - ratio)``.

    Shapes:  dY, mask -> same shape; ratio is a scalar, 0.5 where it is not given.
    Work:    a product and a selection per element: {alu}.
    Traffic: dY and mask once, the result once.
    Source:  ONNX Runtime training, com.microsoft DropoutGrad; PyTorch, native_dropout_backward.
    """

    mnemonic = "dropout_grad"
    onnx = "com.microsoft::DropoutGrad"
    operands = "dY mask ratio? training_mode?"
    kind = Kind.ELEMENTWISE
    formulas = {"alu": "2*e"}

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        content = known(ins, 2)
        # 0.5 is the default of ONNX Dropout
        ratio = content.item if content is not None else 0.5
        dy = ins[0]
        assert dy is not None
        assert isinstance(ratio, int | float)
        mask = tape.apply(Cast(to=tensor(ins, 0).dtype), ins[1])
        return (tape.scaled(tape.mul(dy, mask), 1 / (1 - ratio)),)
