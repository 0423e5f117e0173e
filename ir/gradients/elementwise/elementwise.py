"""Gradients of elementwise operators with any number of operands.

Rules have the mnemonics of their operators as names, so that some hide built-in functions.
"""

from __future__ import annotations

from ..adjoint import Adjoint, Gradients
from ..pointwise import gradient, pointwise


def sum(at: Adjoint) -> Gradients:
    """Return the gradient itself for every operand."""
    return pointwise(at, ("1",) * len(at.node.inputs))


def mean(at: Adjoint) -> Gradients:
    """Return an equal share of the gradient for every operand."""
    count = len(at.node.inputs)
    share = at.tape.scaled(at.dy, 1 / count)
    return {i: at.tape.sum_to(share, at.shape(i)) for i in range(count) if at.wants(i)}


def max(at: Adjoint) -> Gradients:
    """Return the gradient for operands that equal the result, 0 elsewhere.

    Where several operands are equal, each gets the whole gradient.
    """
    from ...ops.elementwise.elementwise_grad import ElementwiseGrad

    # x is the operand, y the result; None stands for the variables b and c, which do not occur
    op = ElementwiseGrad(at.op.mnemonic, "where(x == y, 1, 0)")
    return {
        i: at.tape.sum_to(
            at.tape.apply(op, at.dy, at.operand(i), None, None, at.result()), at.shape(i)
        )
        for i in range(len(at.node.inputs))
        if at.wants(i)
    }


min = max


def clip(at: Adjoint) -> Gradients:
    """Return the gradient of elements between the limits, 0 elsewhere; the limits get none."""
    # letters of the operands: x, then the limits b and c
    inside = {1: "x >= b", 2: "x <= c"}
    conditions = [text for i, text in inside.items() if at.has(i)]
    match conditions:
        case [limit]:
            text = f"where({limit}, 1, 0)"
        case [low, high]:
            text = f"where({low}, where({high}, 1, 0), 0)"
        case _:
            text = "1"
    return {0: gradient(at, text, 0)}
