"""Gradients of rotary position embeddings."""

from __future__ import annotations

from ...op import exactly, with_attributes
from ...ops.attention.rotary import RotaryEmbedding
from ...ops.attention.rotary_grad import RotaryEmbeddingGrad
from ..adjoint import Adjoint, Gradients


def rotary_embedding(at: Adjoint) -> Gradients | None:
    """Return the gradient rotated back; of the operands only the angles are needed."""
    op = at.op
    # operators with other operands, which are subclasses, have no rule
    if not exactly(op, RotaryEmbedding):
        return None
    grad_op = with_attributes(RotaryEmbeddingGrad, op)
    # operands 1 to 3: cos_cache, sin_cache, position_ids
    return {0: at.tape.apply(grad_op, at.dy, *at.node.inputs[1:])}
