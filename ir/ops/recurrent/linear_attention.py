"""Attention with a recurrent state instead of scores: linear, gated and delta rules."""

from __future__ import annotations

from ... import (
    Dim,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Positive,
    TensorType,
    Types,
    count,
    dim_max,
    first_dtype,
    frozen,
    has,
    shape_at,
    tensor,
)
from ...problem import LinearAttention as Problem
from ..attention.attention import axis, either, ranked

# letters as in the docstring of `LinearAttention`
FORMULAS = {
    "mac": "b*t*d*v*(g*r + h)",
    "alu": "b*t*(g*(d*v*x + v*y) + h*v)",
    "sfu": "b*t*g*z",
}


@frozen
class LinearAttention(Op):
    """``S = decay * S + k (x) update``, ``o = scale * q @ S`` for each token and head.

    Shapes:  query[b, t, q*d], key[b, t, g*d], value[b, t, g*v], past_state[b, g, d, v] ->
             output[b, t, h*v], present_state[b, g, d, v] with h the larger of q and g;
             [w, b, g, d, v] where ``state_window`` w keeps the last w states.
    Work:    {mac}: r = 1 outer product, 2 with a delta rule, which first reads
             the state, and one read by each query head; {alu}:
             x = 1 for the decay of the state, y = 2 for the delta; {sfu} exponentials of
             the decay. The recurrence token by token; a chunked kernel does more macs.
    Traffic: each operand once, each result once; the state stays on chip between tokens.
    Source:  ONNX LinearAttention-27; arXiv:2006.16236, arXiv:2412.06464.
    """

    mnemonic = "linear_attention"
    onnx = "LinearAttention com.microsoft::LinearAttention"
    operands = "query key value past_state? decay? beta?"
    kind = Kind.ATTENTION
    formulas = FORMULAS

    chunk_size: Positive = 64
    kv_num_heads: Positive = 1
    q_num_heads: Positive = 1
    scale: float = 0.0
    state_window: Natural = 0
    update_rule: str = "gated_delta"

    def infer(self, ins: Inputs) -> Types:
        # operand 3 is the past state, 4 the decay
        q, k, v = (ranked(ins, i, 3) for i in range(3))
        past = ranked(ins, 3, 5 if self.state_window else 4) if has(ins, 3) else None
        b = either(axis(q, 0), axis(k, 0), axis(v, 0))
        t = either(axis(q, 1), axis(k, 1), axis(v, 1))
        # widths over all heads
        of_q, of_k, of_v = axis(q, 2), axis(k, 2), axis(v, 2)
        d = either(
            None if of_k is None else of_k // self.kv_num_heads,
            None if of_q is None else of_q // self.q_num_heads,
            axis(past, -2),
        )
        width = either(None if of_v is None else of_v // self.kv_num_heads, axis(past, -1))
        dtype = first_dtype(ins, 0, 1, 2)
        state: tuple[Dim, ...] = (b, self.kv_num_heads, d, width)
        if self.state_window:
            state = (self.state_window, *state)
        state_dtype = tensor(ins, 3).dtype if has(ins, 3) else dtype
        heads = max(self.q_num_heads, self.kv_num_heads)
        return TensorType(dtype, (b, t, heads * width)), TensorType(state_dtype, state)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        q, k, v = (shape_at(ins, i) for i in range(3))
        if q is None or v is None or k is None:
            return {}
        decay = axis(shape_at(ins, 4), 2)
        delta = int("delta" in self.update_rule)
        gated = int("gated" in self.update_rule)
        heads = max(self.q_num_heads, self.kv_num_heads)
        g = self.kv_num_heads
        # exponentials of the decay per head: one, or one per row of the state
        per_head = 0 if decay is None or not gated else decay // g
        return {
            "b": q[0],
            "t": q[1],
            "d": k[2] // g,
            "v": v[2] // g,
            "g": g,
            "h": heads,
            # a delta rule reads the state once more, and subtracts and scales what it read
            "r": 1 + delta,
            "x": gated,
            "y": 2 * delta,
            "z": per_head,
        }

    def problem(self, ins: Inputs, outs: Types) -> Problem | None:
        n = self.extents(ins, outs)
        if not n:
            return None
        return Problem(
            sequences=n["b"],
            tokens=n["b"] * n["t"],
            heads=n["g"],
            key_heads=n["g"],
            key_dim=n["d"],
            value_dim=n["v"],
            is_delta="delta" in self.update_rule,
        )


@frozen
class GatedDeltaNet(Op):
    """LinearAttention over packed tokens with heads as a separate axis.

    Shapes:  query[n, q, d], key[n, k, d], value[n, g, v], initial_state[b, g, v, d] ->
             output[n, h, v] with h the larger of q and g, final_state like initial_state,
             state_update[b, capacity*(g + k*d + g*v)]; or [b, t] in place of n.
    Work:    as LinearAttention with b = 1 and t = n.
    Traffic: each operand once, each result once.
    Source:  ONNX Runtime ContribOperators, GatedDeltaNet; arXiv:2412.06464.
    """

    mnemonic = "gated_delta_net"
    onnx = "com.microsoft::GatedDeltaNet"
    operands = (
        "query key? value? cu_seqlens? decay? beta? initial_state? a_log? dt_bias? "
        "capture_count? state_update_active?"
    )
    kind = Kind.ATTENTION
    formulas = FORMULAS

    beta_activation: str = "none"
    chunk_size: Positive = 64
    gate_activation: str = "none"
    qk_l2_norm: int = 0
    scale: float = 0.0
    state_update_capacity: Natural = 0
    update_rule: str = "gated_delta"

    def infer(self, ins: Inputs) -> Types:
        q, k, v, state = (shape_at(ins, i) for i in (0, 1, 2, 6))
        # without an initial state (6) results have the type of the decay (4) or of beta (5)
        dtype, state_dtype = first_dtype(ins, 0, 1), first_dtype(ins, 6, 4, 5)
        if q is None or k is None or v is None or len(q) < 3:
            # packed queries: the division of the width into heads is unknown here
            return TensorType(dtype, None), tensor(ins, 6), TensorType(state_dtype, None)
        heads = dim_max(q[-2], v[-2])
        batch = either(axis(state, 0), q[0] if len(q) == 4 else None)
        update = (batch, self.state_update_capacity * (v[-2] + k[-2] * k[-1] + v[-2] * v[-1]))
        return (
            TensorType(dtype, (*q[:-2], heads, v[-1])),
            TensorType(state_dtype, (batch, v[-2], v[-1], q[-1])),
            TensorType(state_dtype, update),
        )

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        q, v = shape_at(ins, 0), shape_at(ins, 2)
        if q is None or v is None or len(q) < 3 or len(v) < 3:
            return {}
        tokens: Dim = 1
        for extent in q[:-2]:
            tokens = tokens * extent
        delta, gated = int("delta" in self.update_rule), int("gated" in self.update_rule)
        decay = shape_at(ins, 4)
        # a decay with as many axes as queries has one per row of the state, any other one per head
        per_head = q[-1] if decay is not None and len(decay) == len(q) else 1
        # letters as in `LinearAttention`; all tokens count as one sequence
        return {
            "b": 1,
            "t": tokens,
            "d": q[-1],
            "v": v[-1],
            "g": v[-2],
            "h": dim_max(q[-2], v[-2]),
            "r": 1 + delta,
            "x": gated,
            "y": 2 * delta,
            "z": per_head * gated,
        }

    def problem(self, ins: Inputs, outs: Types) -> Problem | None:
        n, k, state = self.extents(ins, outs), shape_at(ins, 1), shape_at(ins, 6)
        sequences = axis(state, 0)
        if not n or k is None or len(k) < 3 or sequences is None:
            return None
        return Problem(
            sequences=sequences,
            tokens=n["t"],
            heads=n["g"],
            key_heads=k[-2],  # keys may have fewer heads than there are states
            key_dim=n["d"],
            value_dim=n["v"],
            is_delta="delta" in self.update_rule,
        )


class LinearAttentionGate(Op):
    """``decay = scale * softplus(a + bias)`` and ``beta = sigmoid(b)``.

    Shapes:  a[b, t, h], dt_bias[h], decay_scale[h], b[b, t, h] -> decay and beta like a.
    Work:    {alu}, {sfu} for e elements of decay and f of beta.
    Traffic: each operand once, each result once.
    Source:  ONNX Runtime ContribOperators, LinearAttentionGate.
    """

    mnemonic = "linear_attention_gate"
    onnx = "com.microsoft::LinearAttentionGate"
    operands = "a dt_bias decay_scale b?"
    # decay: sums with the bias and with 1, product with the scale, exponential and logarithm;
    # beta: a sigmoid
    formulas = {"alu": "3*e + 2*f", "sfu": "2*e + 2*f"}

    def infer(self, ins: Inputs) -> Types:
        a = tensor(ins, 0)
        return a, TensorType(tensor(ins, 3).dtype if has(ins, 3) else a.dtype, a.shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        if shape_at(ins, 0) is None:
            return {}
        return {"e": count(tensor(ins, 0)), "f": count(tensor(ins, 0)) if has(ins, 3) else 0}
