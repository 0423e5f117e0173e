"""Gradients of attention over packed sequences."""

from __future__ import annotations

from ...op import with_attributes
from ...ops.attention.ragged_attention import DECODE_KEY, RaggedAttention
from ...ops.attention.ragged_attention_grad import RESULTS, RaggedAttentionGrad
from ..adjoint import Adjoint, Gradients


def ragged_attention(at: Adjoint) -> Gradients:
    """Return the gradients of queries, keys, values and bias from operands and result.

    Scores are recomputed, as in FlashAttention (arXiv:2205.14135).
    """
    assert isinstance(at.op, RaggedAttention)
    if at.has(DECODE_KEY):
        raise at.error("caches of single tokens")
    if any(at.wants(i) for i in range(len(at.node.inputs)) if i not in RESULTS):
        raise at.error("caches are trained")
    ins = (at.dy, at.result(), *at.node.inputs)
    # results up to the last that is wanted, as the operator gives them by position
    count = 1 + max([n for n, i in enumerate(RESULTS) if at.has(i) and at.wants(i)], default=0)
    results = at.tape.several(with_attributes(RaggedAttentionGrad, at.op), ins, count)
    gradients = {i: results[n] for n, i in enumerate(RESULTS) if n < count}
    return {i: v for i, v in gradients.items() if at.wants(i)}
