"""Gradients of fused attention, which recomputes the scores: operators, work, standard form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ... import (
    DType,
    Extents,
    Inputs,
    Kind,
    Op,
    Positive,
    Results,
    Types,
    Value,
    Work,
    frozen,
    has,
    tensor,
)
from ...op import given, with_attributes
from ...problem import Attention as ForwardProblem
from ...problem import Backward, Problem
from ..contraction.matmul import FusedMatMul
from ..normalization.softmax import Softmax
from ..normalization.softmax_grad import SoftmaxGrad
from .attention import Attention, Scores, work_of_scores

if TYPE_CHECKING:
    from ...gradients.tape import Tape

# letters are those of `Scores`: b sequences, h heads, s queries, t keys, head sizes d of queries
# and keys and v of values, u unmasked pairs of query and key per head, x and y vector and special
# operations of the softmax per pair
BACKWARD_SCORES: Mapping[str, str] = {
    # with d: the scores again, dQ and dK; with v: gradients of the probabilities, and dV
    "mac": "b*h*s*t*(3*d + 2*v)",
    # per pair the softmax again (x) and its gradient (5); per value the row sums of dY * Y (2)
    "alu": "b*h*(u*(x + 5) + s*v*2)",
    "sfu": "b*h*(u*y + s)",
}
EQUAL = 2.5
"""Products of the backward pass divided by those of the forward pass, for equal d and v: five
products (the scores, dQ, dK, dP, dV) over two."""
RATE = 0.87
"""Operations per second of the backward pass divided by those of the forward pass: T. Dao,
"FlashAttention-2" (arXiv:2307.08691), figures 4 and 5.
"""


def backward_work(scores: Scores, dtype: DType | None) -> Work:
    """Return the operations of the backward pass of attention with these variables."""
    dense = work_of_scores(BACKWARD_SCORES, scores, dtype)
    masked_mac = (
        scores.b * scores.h * (scores.s * scores.t - scores.u) * (scores.d * 3 + scores.v * 2)
    )
    effective_mac = dense.mac - masked_mac
    return replace(dense, effective_mac=None if effective_mac == dense.mac else effective_mac)


def backward_of(problem: Problem | None) -> Backward | None:
    """Return the backward problem of attention, None if ``problem`` is no attention.

    It has three products with d and two with v, where the forward pass has one of each.
    """
    if not isinstance(problem, ForwardProblem):
        return None
    d, v = problem.head_dim, problem.value_dim
    if not isinstance(d, int) or not isinstance(v, int) or d + v < 1:
        # symbolic or zero head sizes have no quotient
        return Backward(problem, EQUAL, RATE)
    return Backward(problem, (3 * d + 2 * v) / (d + v), RATE)


@frozen
class AttentionGrad(Op):
    """Gradients of queries, keys and values of an attention whose scores were not saved.

    Shapes:  dY and Y like the result, Q, K, V, attn_mask as Attention -> dQ, dK, dV.
    Work:    {mac}: scores again, then gradients of V, the probabilities, Q and K;
             {alu} with the softmax and its gradient, {sfu}.
    Traffic: each operand once, each result once.
    Source:  PyTorch, _scaled_dot_product_flash_attention_backward; arXiv:2205.14135, algorithm 4.
    """

    mnemonic = "attention_grad"
    operands = "dY Y Q K V attn_mask?"
    kind = Kind.ATTENTION
    formulas = BACKWARD_SCORES
    is_causal: int = 0
    kv_num_heads: Positive | None = None
    q_num_heads: Positive | None = None
    scale: float | None = None

    def forward(self) -> Attention:
        """Return the forward operator."""
        return with_attributes(Attention, self)

    def infer(self, ins: Inputs) -> Types:
        return tensor(ins, 2), tensor(ins, 3), tensor(ins, 4)

    def scores(self, ins: Inputs) -> Scores | None:
        """Return the variables of the forward pass."""
        return self.forward().scores(ins[2:])

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        scores = self.scores(ins)
        return None if scores is None else backward_work(scores, self.mac_dtype(ins))

    def problem(self, ins: Inputs, outs: Types) -> Backward | None:
        return backward_of(self.forward().problem(ins[2:], outs))

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        scores = self.scores(ins)
        return {} if scores is None else scores.letters()

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results:
        dy, q, k, v = given(ins, 0, 2, 3, 4)  # Y, operand 1, is not needed: p is computed again
        # p are probabilities, ds and dp gradients of scores and probabilities
        heads = Heads(tape, self.q_num_heads, self.kv_num_heads)
        q_heads, k_heads, v_heads = heads.split(q), heads.repeat(k, q), heads.repeat(v, q)
        *_, rows, width = q_heads.shape or ()
        assert isinstance(width, int)
        scale = width**-0.5 if self.scale is None else self.scale
        scores = tape.scaled(tape.apply(FusedMatMul(transB=1), q_heads, k_heads), scale)
        if has(ins, 5):  # attn_mask
            scores = masked(tape, scores, ins[5])
        if self.is_causal:
            scores = tape.add(scores, causal(tape, rows, (k_heads.shape or ())[-2]))
        p = tape.apply(Softmax(), scores)
        dy_heads = heads.split(dy, self.q_num_heads)
        dv = tape.apply(FusedMatMul(transA=1), p, dy_heads)
        dp = tape.apply(FusedMatMul(transB=1), dy_heads, v_heads)
        (ds,) = SoftmaxGrad().expand(tape, (dp, p), (p.type,))
        assert ds is not None
        ds = tape.scaled(ds, scale)
        dq = tape.apply(FusedMatMul(), ds, k_heads)
        dk = tape.apply(FusedMatMul(transA=1), ds, q_heads)
        return heads.merge(dq, q), heads.reduce(dk, k), heads.reduce(dv, v)


class Heads:
    """Conversions between heads as a separate axis and heads merged into the last axis.

    ``queries`` and ``keys`` are numbers of heads; None if they are an axis of the tensors.
    """

    def __init__(self, tape: Tape, queries: int | None, keys: int | None) -> None:
        self.tape, self.queries, self.keys = tape, queries, keys

    def split(self, v: Value, heads: int | None = None) -> Value:
        """Return [b, s, h*d] as [b, h, s, d], by default with the query heads."""
        shape, h = v.shape or (), heads or self.queries
        if len(shape) == 4 or h is None:
            return v
        return self.tape.transpose(
            self.tape.reshape(v, (*shape[:2], h, shape[2] // h)), (0, 2, 1, 3)
        )

    def repeat(self, v: Value, q: Value) -> Value:
        """Return keys or values repeated to as many heads as queries."""
        return self.tape.repeated(self.split(v, self.keys), self.queries or (q.shape or ())[1])

    def merge(self, v: Value, like: Value) -> Value:
        """Return a gradient per head in the shape of ``like``, the reverse of `split`."""
        if len(like.shape or ()) == 3:
            v = self.tape.transpose(v, (0, 2, 1, 3))
        return self.tape.reshape(v, (like.shape or ()))

    def reduce(self, v: Value, like: Value) -> Value:
        """Return a gradient per query head summed over the heads that share a key/value head.

        Its shape is that of ``like``, the keys or values of the forward pass.
        """
        b, h, t, d = v.shape or ()
        g = self.keys or (like.shape or ())[1]
        if h != g:
            v = self.tape.sum(self.tape.reshape(v, (b, g, h // g, t, d)), (2,))
        return self.merge(v, like)


def masked(tape: Tape, scores: Value, mask: Value | None) -> Value:
    """Return scores with a mask added, or excluded where a boolean mask is False."""
    assert mask is not None
    if mask.dtype is DType.BOOL:
        return tape.where(mask, scores, tape.number(float("-inf")))
    return tape.add(scores, mask)


def causal(tape: Tape, rows: object, columns: object) -> Value:
    """Return a mask with minus infinity above the diagonal."""
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    items = tuple(0.0 if j <= i else float("-inf") for i in range(rows) for j in range(columns))
    return tape.constant(items, (rows, columns), DType.F32)
