"""Gradients of views. A rule has the mnemonic of its operator as name."""

from __future__ import annotations

from ..adjoint import Adjoint, Gradients


def reshape(at: Adjoint) -> Gradients:
    """Return the gradient in the operand's shape."""
    return {0: at.tape.reshape(at.dy, at.shape())}


flatten = squeeze = unsqueeze = reshape


def identity(at: Adjoint) -> Gradients:
    """Return the gradient itself."""
    return {0: at.dy}


dense = clone = identity
