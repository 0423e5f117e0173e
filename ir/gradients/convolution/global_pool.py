"""Gradients of global pools."""

from __future__ import annotations

from ... import element_count
from ...ops.convolution.global_pool import GlobalAveragePool, GlobalMaxPool
from ...ops.elementwise.logic import Equal
from ..adjoint import Adjoint, Gradients


def global_average_pool(at: Adjoint) -> Gradients | None:
    """Divide the gradient equally among positions."""
    if not isinstance(at.op, GlobalAveragePool) or not at.op.is_exactly(GlobalAveragePool):
        return None
    total = element_count(at.shape()[2:])
    if isinstance(total, int):
        share = at.tape.scaled(at.dy, 1 / max(total, 1))
    else:
        # the number of positions is symbolic: a factor whose content is unknown costs the same
        share = at.tape.mul(at.dy, at.tape.constant((None,), (), at.dy.dtype))
    return {0: at.tape.expand(share, at.shape())}


def global_max_pool(at: Adjoint) -> Gradients | None:
    """Divide the gradient equally among the maxima."""
    if not isinstance(at.op, GlobalMaxPool) or not at.op.is_exactly(GlobalMaxPool):
        return None
    dtype = at.dy.dtype
    is_largest = at.tape.apply(Equal(), at.operand(0), at.result())
    hits = at.tape.where(is_largest, at.tape.number(1, dtype), at.tape.number(0, dtype))
    axes = range(2, len(at.shape()))
    share = at.tape.div(at.dy, at.tape.sum(hits, axes, keepdims=True))
    return {0: at.tape.mul(hits, share)}
