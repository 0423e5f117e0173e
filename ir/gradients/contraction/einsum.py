"""Gradients of Einsum."""

from __future__ import annotations

from ... import Value
from ...ops.contraction.einsum import ELLIPSIS, Einsum, parse
from ..adjoint import Adjoint, Gradients
from ..tape import shape_of


def einsum(at: Adjoint) -> Gradients:
    """Return for each operand the Einsum whose equation has this operand as its result.

    The gradient of the result takes the place of the operand.
    """
    assert isinstance(at.op, Einsum)
    ins = [at.operand(i) for i in range(len(at.node.inputs))]
    terms, result = parse(at.op.equation, len(ins))
    if any(len(set(t)) < len(t) for t in (x.replace(ELLIPSIS, "") for x in terms)):
        raise at.error("a letter twice in a term")
    return {i: _of(at, ins, terms, result, i) for i in range(len(ins)) if at.wants(i)}


def _of(at: Adjoint, ins: list[Value], terms: tuple[str, ...], result: str, index: int) -> Value:
    """Return the gradient of one operand: dY times the other operands, with the operand's letters.

    Args:
        at: the Einsum.
        ins: its operands.
        terms: letters of each operand.
        result: letters of the result.
        index: position of the operand.
    """
    tape, term = at.tape, terms[index]
    others = [i for i in range(len(ins)) if i != index]
    elsewhere_letters = set("".join([result, *(terms[i] for i in others)]))
    # axes of an ellipsis that the result lacks were summed: the gradient is broadcast along them
    wanted = term.replace(ELLIPSIS, "...") if ELLIPSIS in result else term.replace(ELLIPSIS, "")
    # letters of the operand that dY or another operand has
    available = "".join(c for c in wanted if c == "." or c in elsewhere_letters)
    equation = ",".join([result, *(terms[i] for i in others)]) + "->" + available
    operands = (at.dy, *(ins[i] for i in others))
    # an equation that changes nothing needs no operator
    gradient = (
        at.dy if equation == f"{result}->{result}" else tape.apply(Einsum(equation), *operands)
    )
    if available != wanted:
        # a letter that only this term has was summed: the gradient is constant along it
        shape = shape_of(ins[index])
        extents = dict(zip(term, shape, strict=True))
        gradient = tape.reshape(
            gradient, tuple(extents[c] if c in elsewhere_letters else 1 for c in term)
        )
        return tape.expand(gradient, shape)
    return tape.sum_to(gradient, shape_of(ins[index]))
