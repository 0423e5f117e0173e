"""Gradients of casts."""

from __future__ import annotations

from ...ops.elementwise.cast import Cast
from ..adjoint import Adjoint, Gradients
from ..tape import dtype_of


def cast(at: Adjoint) -> Gradients:
    """Cast the gradient to the operand's type."""
    return {0: at.tape.apply(Cast(to=dtype_of(at.operand(0))), at.dy)}


cast_like = cast
