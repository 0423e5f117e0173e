"""Sums of products by an index equation."""

from __future__ import annotations

from ..graph import Value
from ..ops.einsum import ELLIPSIS, Einsum, parse
from .adjoint import Adjoint, Gradients
from .tape import shape_of


def einsum(at: Adjoint) -> Gradients:
    """The equation with the operand and the result exchanged."""
    assert isinstance(at.op, Einsum)
    ins = [at.operand(i) for i in range(len(at.node.inputs))]
    terms, result = parse(at.op.equation, len(ins))
    if any(len(set(t)) < len(t) for t in (x.replace(ELLIPSIS, "") for x in terms)):
        raise at.error("a letter twice in a term")
    return {i: _of(at, ins, terms, result, i) for i in range(len(ins)) if at.wants(i)}


def _of(at: Adjoint, ins: list[Value], terms: tuple[str, ...], result: str, index: int) -> Value:
    tape, term = at.tape, terms[index]
    others = [i for i in range(len(ins)) if i != index]
    there = set("".join([result, *(terms[i] for i in others)]))
    plain = term.replace(ELLIPSIS, "...") if ELLIPSIS in result else term.replace(ELLIPSIS, "")
    kept = "".join(c for c in plain if c == "." or c in there)
    equation = ",".join([result, *(terms[i] for i in others)]) + "->" + kept
    operands = (at.dy, *(ins[i] for i in others))
    found = at.dy if equation == f"{result}->{result}" else tape.apply(Einsum(equation), *operands)
    if kept != plain:
        # a letter that only this term has was summed: its gradient is the same along it
        own = shape_of(ins[index])
        extents = dict(zip(term, own, strict=True))
        found = tape.reshape(found, tuple(extents[c] if c in there else 1 for c in term))
        return tape.expand(found, own)
    return tape.sum_to(found, shape_of(ins[index]))
