"""Gradients of gated normalizations."""

from __future__ import annotations

from ...op import with_attributes
from ...ops.elementwise.gated_grad import GatedRMSNormGrad
from ..adjoint import Adjoint, Gradients


def gated_rms_norm(at: Adjoint) -> Gradients:
    """Return the gradients by one operator, which recomputes statistics from operand and gate."""
    return at.in_one_kernel(with_attributes(GatedRMSNormGrad, at.op))
