"""Gradient rule of every elementwise operator that declares its derivative as text.

`derivative` defines the grammar: variables ``x`` (or ``a``), ``b`` and ``c`` stand for the
operands, ``y`` for the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from ..ops.elementwise.elementwise_grad import ElementwiseGrad
from . import derivative

if TYPE_CHECKING:
    from .. import Value
    from .adjoint import Adjoint, Gradients

ORDER = ("x", "b", "c", "y")
"""Variables in the order of the operands of `ElementwiseGrad`."""


def pointwise(at: Adjoint, texts: Sequence[str]) -> Gradients:
    """Return gradients from the derivative of each operand; an empty text gives none."""
    gradients: dict[int, Value | None] = {}
    for index, text in enumerate(texts):
        if text and at.wants(index):
            gradients[index] = gradient(at, text, index)
    return gradients


def gradient(at: Adjoint, text: str, index: int, dy: Value | None = None) -> Value:
    """Return the gradient of operand ``index``, summed over broadcast axes.

    Args:
        at: the elementwise operator.
        text: derivative of the result with respect to this operand.
        index: position of the operand.
        dy: gradient of the result; by default that of ``at``.
    """
    tape, dy = at.tape, dy or at.dy
    attributes = {f.name: getattr(at.op, f.name) for f in fields(at.op)}
    shown = derivative.substituted(text, attributes)
    # a derivative that is 1, -1 or one variable needs no `ElementwiseGrad`
    match shown:
        case "1":
            product = dy
        case "-1":
            product = tape.neg(dy)
        case "a" | "x" | "b" | "c" | "y":
            product = tape.mul(dy, value_of(at, shown))
        case _:
            used = derivative.letters(shown)  # with "x" for "a"
            ins = [value_of(at, letter) if letter in used else None for letter in ORDER]
            while ins and ins[-1] is None:  # operands at the end are left out, others are None
                ins.pop()
            product = tape.apply(ElementwiseGrad(at.op.mnemonic, shown), dy, *ins)
    return tape.sum_to(product, at.shape(index))


def value_of(at: Adjoint, letter: str) -> Value:
    """Return the operand or result that a variable stands for."""
    position = derivative.LETTERS[letter]
    return at.result() if position is None else at.operand(position)
