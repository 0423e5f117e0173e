"""Gradients of gates: an activation of one tensor times another tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import (
    Extents,
    Inputs,
    Op,
    Results,
    Types,
    count,
    frozen,
    shape_at,
    single,
    tensor,
)
from ..contraction.epilogue import activation_cost
from ..normalization.normalization_grad import NormalizationGrad, combined, inverse_root

if TYPE_CHECKING:
    from ...gradients.tape import Tape


@frozen
class GatedActivationGrad(Op):
    """Gradients of ``activation(gate) * up``, in halves like the operand.

    Shapes:  dY[..., h], X[..., 2*h] -> dX like X.
    Work:    {alu}, {sfu}: the activation again, its derivative, and three products for each of e
             elements of dY.
    Traffic: each operand and the result once.
    Source:  arXiv:2002.05202; Megatron-LM, fused_bias_swiglu.py, ``swiglu_back``.
    """

    mnemonic = "gated_activation_grad"
    operands = "dY X"
    formulas = {"alu": "e*(x + 3)", "sfu": "e*y"}

    activation: str = "silu"

    def infer(self, ins: Inputs) -> Types:
        return single(tensor(ins, 0).dtype, shape_at(ins, 1))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        from ...gradients.derivative import operations
        from ...gradients.elementwise.activation import slope

        # the activation again, for dUp, and its derivative (slope), for dGate
        alu, sfu = activation_cost(self.activation)
        slope_alu, slope_sfu = operations(slope(self.activation))
        return {"e": count(tensor(ins, 0)), "x": alu + slope_alu, "y": sfu + slope_sfu}

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        from ...gradients.derivative import written
        from ...gradients.elementwise.activation import activated, slope

        dy, x = (v for v in ins if v is not None)
        shape = shape_at(ins, 1) or ()
        last, width = len(shape) - 1, shape[-1] // 2
        gate = tape.part(x, {last: (0, width)})
        up = tape.part(x, {last: (width, shape[-1])})
        of_gate = written(slope(self.activation), tape, tape.mul(dy, up), {"x": gate})
        return (tape.concat((of_gate, tape.mul(dy, activated(tape, gate, self.activation))), -1),)


@frozen
class GatedRMSNormGrad(NormalizationGrad):
    """Gradients of RMSNormalization times an activation of a gate; statistics are recomputed.

    Shapes:  dY, X[r..., h], scale[h], gate like X -> dX like X, dScale, dGate like X.
    Work:    {alu} with a = 20: the roots 2, the normalized element 2, its gradient 7, the gate's
             swish 3 and its derivative 6; {sfu}.
    Traffic: each operand and each result once.
    Source:  mamba_ssm/ops/triton/layernorm_gated.py, ``_layer_norm_bwd_kernel``.
    """

    mnemonic = "gated_rms_norm_grad"
    operands = "dY X scale gate"
    formulas = {"alu": "a*e", "sfu": "r + 2*e"}
    epsilon: float = 1e-5
    activation: str = "silu"

    def alu(self, ins: Inputs) -> int:
        # 2 + 2 + 7 + 3 + 6, as the docstring has them
        return 20

    def infer(self, ins: Inputs) -> Types:
        dx, scale, _ = super().infer(ins)
        return dx, scale, tensor(ins, 3)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        from ...gradients.derivative import written
        from ...gradients.elementwise.activation import activated, slope

        dy, x, scale, gate = (v for v in ins if v is not None)
        axes = (len(shape_at(ins, 1) or ()) - 1,)
        squares = tape.mean(tape.mul(x, x), axes)
        inverse = inverse_root(tape, squares, self.epsilon, tensor(ins, 1).dtype)
        x_hat = tape.mul(x, inverse)
        # Y = norm * activation(gate): each factor times the gradient gives that of the other
        of_norm = tape.mul(dy, activated(tape, gate, self.activation))
        dx = combined(tape, tape.mul(of_norm, scale), x_hat, inverse, axes, centered=False)
        of_scale = tape.sum_to(tape.mul(of_norm, x_hat), shape_at(ins, 2) or ())
        of_activated = tape.mul(dy, tape.mul(x_hat, scale))
        return (dx, of_scale, written(slope(self.activation), tape, of_activated, {"x": gate}))
