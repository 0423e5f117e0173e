"""Gradients of elementwise operators, one kernel each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import Extents, Inputs, Kind, Op, Results, Types, count, frozen

if TYPE_CHECKING:
    from ...gradients.tape import Tape

LETTERS = ("dY", "x", "b", "c", "y")
"""Names in a derivative of the operands, by position."""


@frozen
class ElementwiseGrad(Op):
    """The gradient of a result times the derivative of its elementwise operator.

    Shapes:  dY, and the operands x, b, c and the result y that the derivative reads, broadcast to
             it -> the shape of dY.
    Work:    the operations of the derivative and a product per element: {alu}, {sfu}.
    Traffic: each operand once, the result once.
    Source:  derivatives of the definitions; PyTorch derivatives.yaml, one kernel each.
    """

    mnemonic = "elementwise_grad"
    operands = "dY x? b? c? y?"
    kind = Kind.ELEMENTWISE
    formulas = {"alu": "e*a", "sfu": "e*s"}
    of: str = ""
    """Mnemonic of the forward operator."""
    derivative: str = "1"

    def __post_init__(self) -> None:
        """Check that the derivative can be parsed; the attributes have no ranges to check."""
        from ...gradients.derivative import parsed

        parsed(self.derivative)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        from ...gradients.derivative import operations

        alu, sfu = operations(self.derivative)
        # one more for the product with dY
        return {"e": count(outs[0]), "a": alu + 1, "s": sfu}

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        from ...gradients.derivative import written

        operands_by_name = {n: v for n, v in zip(LETTERS, ins, strict=False) if v is not None}
        return (written(self.derivative, tape, operands_by_name["dY"], operands_by_name),)
