"""Gradients of gated normalizations."""

from __future__ import annotations

from ...ops.elementwise.gated_grad import GatedRMSNormGrad
from ...ops.normalization.contrib_normalization import GatedRMSNorm
from ..adjoint import Adjoint, Gradients


def gated_rms_norm(at: Adjoint) -> Gradients:
    """Differentiate from operand and gate; statistics are recomputed."""
    assert isinstance(at.op, GatedRMSNorm)
    made = GatedRMSNormGrad(epsilon=at.op.epsilon, activation=at.op.activation)
    return at.in_one_kernel(made)
