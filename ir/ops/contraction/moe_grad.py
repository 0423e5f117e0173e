"""Gradients of mixtures of experts: for tokens and routers, and for the experts' weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import (
    ABSENT,
    Dim,
    DType,
    Extents,
    Inputs,
    Parts,
    TensorType,
    Traffic,
    Types,
    Value,
    each_once,
    element_count,
    frozen,
    has,
    shape_at,
    tensor,
)
from ...op import with_attributes
from ...problem import Backward
from ..elementwise.logic import GreaterOrEqual
from ..movement.select import TopK
from ..normalization.softmax import Softmax
from ..normalization.softmax_grad import SoftmaxGrad
from .matmul import FusedMatMul, MatMul
from .moe import MoE

if TYPE_CHECKING:
    from ...gradients.tape import Tape

FORWARD = 1
"""Number of operands before those of the forward pass."""


@frozen
class MoEGrad(MoE):
    """Base of the two gradients of a mixture of experts.

    Shapes:  dY like the result, then the operands of MoE; letters as MoE.
    Work:    {mac}: each product of the forward pass once more; {alu}, {sfu} as MoE, with
             the derivative of the activation in x and y.
    Traffic: gradients and activations once; of the experts as MoE.
    """

    onnx = ""  # not that of the forward pass
    operands = (
        "dY input router_probs fc1_experts_weights fc1_experts_bias? fc2_experts_weights "
        "fc2_experts_bias? fc3_experts_weights? fc3_experts_bias? kept?"
    )

    def forward(self) -> MoE:
        """Return the forward operator."""
        return with_attributes(MoE, self)

    def mac_dtype(self, ins: Inputs) -> DType | None:
        return self.forward().mac_dtype(ins[FORWARD:])

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return self.forward().extents(ins[FORWARD:], outs)

    def problem(self, ins: Inputs, outs: Types) -> Backward | None:  # type: ignore[override]
        forward = self.forward().problem(ins[FORWARD:], outs)
        # each of the two gradients has as many products as the forward pass
        return None if forward is None else Backward(forward, 1.0)

    def read_parts(self, ins: Inputs) -> Parts:
        parts = self.forward().read_parts(ins[FORWARD:])
        return {0: tensor(ins, 0).nbytes or 0} | {i + FORWARD: n for i, n in parts.items()}


@frozen
class MoEInputGrad(MoEGrad):
    """Gradients of tokens and of the scores of their router.

    Shapes:  dY like the result, then the operands of MoE -> dInput, dRouter like these.
    Work:    {mac}: each product of the forward pass once more; {alu}, {sfu} as MoE.
    Traffic: gradients and activations once; of the experts as MoE.
    Source:  Megatron-LM, experts.py: grouped products for the gradient of their operand.
    """

    mnemonic = "moe_input_grad"

    def infer(self, ins: Inputs) -> Types:
        return tensor(ins, 1), tensor(ins, 2)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> tuple[Value | None, ...] | None:
        # operand 7, the weights of a third layer (fc3), has no form in standard operators here
        if has(ins, 7):
            return None
        dense = Dense(tape, self, ins)
        # summed over experts: each adds to the gradient of a token
        dx = tape.sum(tape.apply(MatMul(), dense.of_first, dense.given(3)), (0,))
        chosen = tape.sum(tape.mul(dense.dy, dense.second), (2,))
        # gradient of a share: dY times the result of its expert
        of_share = dense.turned(chosen)
        if self.normalize_routing_weights:
            # shares are s = p / sum(p): their gradient loses its part along s
            projection = tape.sum(tape.mul(of_share, dense.share), (1,), keepdims=True)
            of_share = tape.div(tape.sub(of_share, projection), dense.whole)
        of_share = tape.where(dense.is_chosen, of_share, tape.number(0.0))
        (scores,) = SoftmaxGrad().expand(
            tape, (of_share, dense.probabilities), (dense.probabilities.type,)
        )
        return dx, scores


@frozen
class MoEWeightGrad(MoEGrad):
    """Gradients of the weights of the experts.

    Shapes:  dY like the result, then the operands of MoE -> a gradient of each weight and bias, in
             their order.
    Work:    {mac}: each product of the forward pass once more; {alu}, {sfu} as MoE.
    Traffic: gradients and activations once, every gradient of a weight once.
    Source:  Megatron-LM, experts.py: grouped products for the gradient of their weights.
    """

    mnemonic = "moe_weight_grad"

    def infer(self, ins: Inputs) -> Types:
        dtype = tensor(ins, 0).dtype
        # operands 3 to 8: weights and biases of fc1, fc2 and fc3
        return tuple(
            TensorType(dtype, shape_at(ins, i)) if has(ins, i) else ABSENT for i in range(3, 9)
        )

    def read_parts(self, ins: Inputs) -> Parts:
        # dY, tokens and scores are read; of experts only gradients move, which are results
        return {i: tensor(ins, i).nbytes or 0 if i < 3 else 0 for i in range(len(ins))}

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return each_once(ins[:3], outs)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> tuple[Value | None, ...] | None:
        # as in `MoEInputGrad`
        if has(ins, 7):
            return None
        dense = Dense(tape, self, ins)
        first = tape.apply(FusedMatMul(transA=1), dense.of_first, dense.tokens)
        second = tape.apply(FusedMatMul(transA=1), dense.of_second, dense.between)
        # operands 4 and 6 are the biases of fc1 and fc2
        biases = [
            tape.sum(rows, (1,)) if has(ins, index) else None
            for index, rows in ((4, dense.of_first), (6, dense.of_second))
        ]
        return (first, biases[0], second, biases[1])


class Dense:
    """Every token through every expert in standard operators, from which gradients are derived.

    ``tokens`` are [e, n, i]; ``probabilities`` of the router, ``is_chosen`` and ``share`` (weight
    of an expert) are [n, e], and ``whole`` [n, 1] sums the chosen probabilities. ``between`` is
    the operand and ``second`` the result of the last layer; ``of_first`` and ``of_second`` are
    gradients of the results of both layers, ``dy`` [1, n, i] that of the mixture.

    Args:
        tape: collects the nodes.
        op: the gradient operator.
        ins: its operands.
    """

    def __init__(self, tape: Tape, op: MoEGrad, ins: Inputs) -> None:
        from ...gradients.derivative import written
        from ...gradients.elementwise.activation import activated, slope

        self.tape, self.op, self.ins = tape, op, ins
        name = "silu" if op.activation_type == "swiglu" else op.activation_type
        x, scores = self.given(1), self.given(2)
        n, i = _rows(shape_at(ins, 1) or ())
        tokens = tape.reshape(x, (1, n, i))
        experts = (shape_at(ins, 3) or ())[0]
        self.tokens = tape.expand(tokens, (experts, n, i))
        self.probabilities = tape.apply(Softmax(), scores)
        best, _ = tape.several(TopK(), (self.probabilities, tape.ints((op.k,))), 2)
        # chosen are the experts with at least the k-th largest probability
        least = tape.part(best, {1: (op.k - 1, op.k)})
        self.is_chosen = tape.apply(GreaterOrEqual(), self.probabilities, least)
        chosen = tape.where(self.is_chosen, self.probabilities, tape.number(0.0))
        self.whole = tape.sum(chosen, (1,), keepdims=True)
        self.share = tape.div(chosen, self.whole) if op.normalize_routing_weights else chosen
        first = self.biased(tape.apply(FusedMatMul(transB=1), self.tokens, self.given(3)), 4)
        gated = op.activation_type == "swiglu"
        gate, up = self.halves(first) if gated else (first, None)
        active = activated(tape, gate, name)
        self.between = tape.mul(active, up) if up is not None else active
        self.second = self.biased(tape.apply(FusedMatMul(transB=1), self.between, self.given(5)), 6)
        self.dy = tape.reshape(self.given(0), (1, n, i))
        share = tape.reshape(self.turned(self.share), (experts, n, 1))
        # backward through both layers; `slope` is the derivative of the activation
        self.of_second = tape.mul(self.dy, share)
        inner = tape.apply(MatMul(), self.of_second, self.given(5))
        through = tape.mul(inner, up) if up is not None else inner
        of_gate = written(slope(name), tape, through, {"x": gate})
        self.of_first = of_gate if up is None else self.joined(of_gate, tape.mul(inner, active))

    def given(self, index: int) -> Value:
        """Return an operand that the operator requires."""
        operand = self.ins[index]
        assert operand is not None
        return operand

    def biased(self, v: Value, index: int) -> Value:
        """Return a product plus the bias of each expert, if there is one."""
        if not has(self.ins, index):
            return v
        experts, columns = shape_at(self.ins, index) or ()
        return self.tape.add(v, self.tape.reshape(self.given(index), (experts, 1, columns)))

    def turned(self, v: Value) -> Value:
        """Exchange the last two axes of a matrix."""
        return self.tape.transpose(v, (1, 0))

    def halves(self, v: Value) -> tuple[Value, Value]:
        """Return gate and up projection, the parts of a result that one product computes."""
        e, n, width = v.type.shape  # type: ignore[union-attr, misc]
        half = width // 2
        # with 1 the columns of gate and up alternate; otherwise all columns of the gate come first
        if self.op.swiglu_fusion == 1:
            pairs = self.tape.reshape(v, (e, n, half, 2))
            cut = [self.tape.part(pairs, {3: (i, i + 1)}) for i in (0, 1)]
            gate, up = [self.tape.reshape(part, (e, n, half)) for part in cut]
            return gate, up
        return self.tape.part(v, {2: (0, half)}), self.tape.part(v, {2: (half, width)})

    def joined(self, gate: Value, up: Value) -> Value:
        """Return gate and up projection as one tensor, the reverse of `halves`."""
        e, n, half = gate.type.shape  # type: ignore[union-attr, misc]
        if self.op.swiglu_fusion != 1:
            return self.tape.concat((gate, up), 2)
        pair = [self.tape.reshape(part, (e, n, half, 1)) for part in (gate, up)]
        return self.tape.reshape(self.tape.concat(pair, 3), (e, n, half * 2))


def _rows(shape: tuple[Dim, ...]) -> tuple[Dim, Dim]:
    """Return the number of tokens and their width."""
    return element_count(shape[:-1]), shape[-1]
