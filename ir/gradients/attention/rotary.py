"""Gradients of rotary position embeddings."""

from __future__ import annotations

from ...op import exactly, with_attributes
from ...ops.attention.rotary import RotaryEmbedding
from ...ops.attention.rotary_grad import RotaryEmbeddingGrad
from ..adjoint import Adjoint, Gradients


def rotary_embedding(at: Adjoint) -> Gradients | None:
    """Rotate the gradient back; only the angles are needed, and they are inputs."""
    op = at.op
    if not exactly(op, RotaryEmbedding):
        return None
    grad_op = with_attributes(RotaryEmbeddingGrad, op)
    return {0: at.tape.apply(grad_op, at.dy, *at.node.inputs[1:])}
