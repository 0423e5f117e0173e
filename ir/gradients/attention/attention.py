"""Gradients of fused attention."""

from __future__ import annotations

from ...op import with_attributes
from ...ops.attention.attention import Attention
from ...ops.attention.attention_grad import AttentionGrad
from ..adjoint import Adjoint, Gradients


def attention(at: Adjoint) -> Gradients | None:
    """Return the gradients of queries, keys and values from operands and result.

    Scores are recomputed, as in FlashAttention (arXiv:2205.14135).
    """
    op = at.op
    if not isinstance(op, Attention):
        return None
    # operands 4, 5 and 6: past_key, past_value, nonpad_kv_seqlen
    if any(at.has(i) for i in (4, 5, 6)) or op.softcap or op.left_window_size >= 0:
        raise at.error("caches, windows or soft caps")
    if at.wants(3):  # attn_mask
        raise at.error("its mask is trained")
    grad_op = with_attributes(AttentionGrad, op)
    mask = (at.operand(3),) if at.has(3) else ()
    ins = (at.dy, at.result(), at.operand(0), at.operand(1), at.operand(2), *mask)
    dq, dk, dv = at.tape.several(grad_op, ins, 3)
    return {0: dq, 1: dk, 2: dv}
