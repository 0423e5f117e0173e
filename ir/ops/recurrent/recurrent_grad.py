"""Gradients of recurrent cells over all steps."""

from __future__ import annotations

from ... import ABSENT, Extents, Inputs, Kind, Op, Positive, Types, frozen, has, tensor
from ...problem import Recurrence

PARTS = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")
"""Operands of the forward pass, in order."""


@frozen
class RecurrentGrad(Op):
    """Gradients of a recurrent cell with ``gates`` gates for each operand, backward in time.

    Shapes:  dY, dY_h, dY_c and Y like the results, then the operands of the cell -> the gradient
             of each operand; letters as Recurrent.
    Work:    {mac}: each product of the forward pass twice, for its operand and for its weights;
             {alu} for the gates.
    Traffic: each operand once, each result once.
    Source:  cuDNN, cudnnRNNBackwardData and cudnnRNNBackwardWeights.
    """

    mnemonic = "recurrent_grad"
    operands = "dY? dY_h? dY_c? Y X W R B? sequence_lens? initial_h? initial_c? P?"
    kind = Kind.RECURRENT
    least_results = 0
    formulas = {
        "mac": "2*t*b*r*g*h*(i + h)",
        # about six per gate: the derivative of its activation, and the products and sums around it
        "alu": "t*b*r*g*h*6",
    }
    gates: Positive = 1
    layout: int = 0

    def infer(self, ins: Inputs) -> Types:
        return tuple(tensor(ins, i) if has(ins, i) else ABSENT for i in range(4, 4 + len(PARTS)))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        # the operands of the cell follow the three gradients and Y
        x, w = tensor(ins, 4).shape, tensor(ins, 5).shape
        if x is None or w is None:
            return {}
        # layout 0 has the steps first, layout 1 the batch
        t, b = (x[1], x[0]) if self.layout else (x[0], x[1])
        g = self.gates
        return {"t": t, "b": b, "r": w[0], "g": g, "h": w[1] // g, "i": x[2]}

    def problem(self, ins: Inputs, outs: Types) -> Recurrence | None:
        e = self.extents(ins, outs)
        return Recurrence(e["t"]) if e else None
