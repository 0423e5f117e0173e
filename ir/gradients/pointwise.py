"""The rule of every elementwise operator that states its derivative as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from ..ops.elementwise_grad import ElementwiseGrad
from . import derivative

if TYPE_CHECKING:
    from ..graph import Value
    from .adjoint import Adjoint, Gradients

ORDER = ("x", "b", "c", "y")


def pointwise(at: Adjoint, texts: Sequence[str]) -> Gradients:
    """Gradients by the derivative of each operand; an empty text has none."""
    found: dict[int, Value | None] = {}
    for index, text in enumerate(texts):
        if text and at.wants(index):
            found[index] = gradient(at, text, index)
    return found


def gradient(at: Adjoint, text: str, index: int, dy: Value | None = None) -> Value:
    """The gradient of operand ``index``, summed over what broadcasting repeated."""
    tape, dy = at.tape, dy or at.dy
    attributes = {f.name: getattr(at.op, f.name) for f in fields(at.op)}
    shown = derivative.stated(text, attributes)
    match shown:
        case "1":
            found = dy
        case "-1":
            found = tape.neg(dy)
        case "a" | "x" | "b" | "c" | "y":
            found = tape.mul(dy, value_of(at, shown))
        case _:
            used = derivative.letters(shown)
            ins = [value_of(at, letter) if letter in used else None for letter in ORDER]
            while ins and ins[-1] is None:
                ins.pop()
            found = tape.apply(ElementwiseGrad(at.op.mnemonic, shown), dy, *ins)
    return tape.sum_to(found, at.shape(index))


def value_of(at: Adjoint, letter: str) -> Value:
    """The operand, or the result, that a letter stands for."""
    position = derivative.LETTERS[letter]
    return at.result() if position is None else at.operand(position)
