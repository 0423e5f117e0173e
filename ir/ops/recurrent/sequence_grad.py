"""Gradients of layers with a state: state spaces, delta rules and their causal convolutions."""

from __future__ import annotations

from ... import ABSENT, Extents, Inputs, Op, Types, frozen, has, tensor
from ...op import with_attributes
from ...problem import Backward, LinearAttention
from .causal_conv import VarlenCausalConvWithState
from .linear_attention import GatedDeltaNet
from .state_space import StateSpaceScan

FORWARD = 1
"""Number of operands before those of the forward pass."""


def like_operands(ins: Inputs) -> Types:
    """Return the type of a gradient for each operand of the forward pass."""
    return tuple(tensor(ins, i) if has(ins, i) else ABSENT for i in range(FORWARD, len(ins)))


def backward_of(problem: object, products: float) -> Backward | None:
    """Return the backward problem of states; None if they are not matrix products."""
    return Backward(problem, products) if isinstance(problem, LinearAttention) else None


class OfOperands(Op):
    """Gradients of all operands of the forward pass, after that of its result."""

    def infer(self, ins: Inputs) -> Types:
        return like_operands(ins)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return super().extents(ins[FORWARD:], outs)


@frozen
class StateSpaceScanGrad(OfOperands, StateSpaceScan):
    """Gradients of a selective state space; states are recomputed.

    Shapes:  dY like y, then the operands of StateSpaceScan -> the gradient of each.
    Work:    {mac}: states again, then of each token the gradients of its state, of x, of B and of
             C, five outer products and reads for the forward pass's two; {alu}, {sfu} the
             same with a decay for each element.
    Traffic: each operand once, each result once.
    Source:  mamba_ssm, selective_scan_bwd_kernel.cuh; arXiv:2405.21060 section 3.
    """

    mnemonic = "state_space_scan_grad"
    operands = "dY x dt B C lengths? state A D? dt_bias?"
    formulas = {
        # m is 1 with one decay per head (products of matrices), else 0 (vector operations)
        "mac": "5*n*h*p*s*m",
        # of the forward pass: its decays (s) three times, dt and D (2) twice, its macs as vector
        # operations (4*s) 2.5 times
        "alu": "n*h*p*(3*s + 4 + 10*s*(1 - m))",
        "sfu": "n*h*(3 + 2*e)",
    }

    def problem(self, ins: Inputs, outs: Types) -> Backward | None:  # type: ignore[override]
        forward = with_attributes(StateSpaceScan, self)
        # the backward pass has five products, the forward pass two
        return backward_of(forward.problem(ins[FORWARD:], outs), 2.5)


@frozen
class GatedDeltaNetGrad(OfOperands, GatedDeltaNet):
    """Gradients of a gated delta rule; states are recomputed.

    Shapes:  dY like output, then the operands of GatedDeltaNet -> the gradient of each.
    Work:    {mac}: states again, then of each token the gradients of its state, of the query, of
             the key and of the value; {alu}, {sfu} twice those of the forward pass.
    Traffic: each operand once, each result once.
    Source:  flash-linear-attention, chunk_gated_delta_rule_bwd; arXiv:2412.06464.
    """

    mnemonic = "gated_delta_net_grad"
    onnx = ""  # not that of the forward pass
    operands = (
        "dY query key? value? cu_seqlens? decay? beta? initial_state? a_log? dt_bias? "
        "capture_count? state_update_active?"
    )
    formulas = {
        "mac": "b*t*d*v*(3*g*r + 2*h)",
        "alu": "2*b*t*(g*(d*v*x + v*y) + h*v)",
        "sfu": "2*b*t*g*z",
    }

    def problem(self, ins: Inputs, outs: Types) -> Backward | None:  # type: ignore[override]
        forward = with_attributes(GatedDeltaNet, self)
        e = self.extents(ins, outs)
        if not e:
            return None
        updates, reads = e["g"] * e["r"], e["h"]
        if not isinstance(updates, int) or not isinstance(reads, int):
            return None
        # the macs of the backward pass over those of the forward pass, per token and element
        products = (3 * updates + 2 * reads) / (updates + reads)
        return backward_of(forward.problem(ins[FORWARD:], outs), products)


@frozen
class VarlenCausalConvWithStateGrad(VarlenCausalConvWithState):
    """Gradients of a causal convolution over packed sequences, for operand and taps.

    Shapes:  dY like output, then the operands of VarlenCausalConvWithState -> the gradient of each.
    Work:    {mac}: each product again before the activation, and once more for each of the two
             gradients; {alu} and {sfu} twice those of the forward pass.
    Traffic: each operand once, each result once.
    Source:  causal_conv1d, causal_conv1d_bwd.cu, one kernel.
    """

    mnemonic = "varlen_causal_conv_with_state_grad"
    onnx = ""  # not that of the forward pass
    operands = "dY input weight cumulative_sequence_length bias? initial_state capture_count?"
    formulas = {"mac": "3*e*k", "alu": "2*e*x", "sfu": "2*e*y"}

    def infer(self, ins: Inputs) -> Types:
        return like_operands(ins)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        forward = with_attributes(VarlenCausalConvWithState, self)
        return forward.extents(ins[FORWARD:], (tensor(ins, 0),))

    def problem(self, ins: Inputs, outs: Types) -> Backward | None:  # type: ignore[override]
        forward = with_attributes(VarlenCausalConvWithState, self)
        forward_problem = forward.problem(ins[FORWARD:], (tensor(ins, 0),))
        # the product again, and one for each gradient
        return None if forward_problem is None else Backward(forward_problem, 3.0)
