"""Gradients of cumulative sums."""

from __future__ import annotations

from ...ops.normalization.cumulative import CumSum
from ..adjoint import Adjoint, Gradients


def cumsum(at: Adjoint) -> Gradients | None:
    """Return the cumulative sum in the other direction."""
    if not isinstance(at.op, CumSum) or not at.op.is_exactly(CumSum):
        return None
    op = CumSum(exclusive=at.op.exclusive, reverse=1 - at.op.reverse)
    return {0: at.tape.apply(op, at.dy, at.operand(1))}
