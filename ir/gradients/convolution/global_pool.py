"""Gradients of global pools."""

from __future__ import annotations

from ... import element_count
from ...op import exactly
from ...ops.convolution.global_pool import GlobalAveragePool, GlobalMaxPool
from ..adjoint import Adjoint, Gradients
from ..normalization.reduce import among_extrema, equal_share


def global_average_pool(at: Adjoint) -> Gradients | None:
    """Return the gradient divided equally among positions; subclasses have no rule."""
    if not exactly(at.op, GlobalAveragePool):
        return None
    share = equal_share(at, element_count(at.shape()[2:]))
    return {0: at.tape.expand(share, at.shape())}


def global_max_pool(at: Adjoint) -> Gradients | None:
    """Return the gradient divided equally among the positions of the maximum."""
    if not exactly(at.op, GlobalMaxPool):
        return None
    return among_extrema(at, at.result(), at.dy, range(2, len(at.shape())))
