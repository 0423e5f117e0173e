"""Sums of products written as an index equation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import ShapeError
from ..broadcast import broadcast_extent
from ..dim import Dim
from ..graph import Inputs
from ..op import Kind, Op, Types, first_dtype, tensor
from ..record import frozen
from ..types import Shape, TensorType
from .window import product

ELLIPSIS = "..."


def parse(equation: str, operands: int) -> tuple[tuple[str, ...], str]:
    """Terms of the operands and of the result; an absent result is derived as ONNX says.

    Raises:
        ShapeError: the equation has another number of terms, or a result letter no term has.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = tuple(left.split(","))
    if len(terms) != operands:
        raise ShapeError(f"equation {equation!r} has {len(terms)} terms for {operands} operands")
    letters = "".join(terms).replace(ELLIPSIS, "")
    if not arrow:
        once = sorted(c for c in set(letters) if letters.count(c) == 1)
        right = (ELLIPSIS if ELLIPSIS in left else "") + "".join(once)
    missing = set(right.replace(ELLIPSIS, "")) - set(letters)
    if missing:
        raise ShapeError(f"equation {equation!r} has no operand with {', '.join(sorted(missing))}")
    return terms, right


def _axes(term: str, rank: int) -> list[str]:
    """A name for each axis: the letter, or ``.i`` for the i-th axis of the ellipsis from the end.

    Raises:
        ShapeError: the term has another rank than the operand.
    """
    before, dots, after = term.partition(ELLIPSIS)
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise ShapeError(f"term {term!r} does not fit an operand of rank {rank}")
    return [*before, *(f".{i}" for i in range(hidden, 0, -1)), *after]


def letter_extents(terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, Dim]:
    """Extent of every letter and of every axis under an ellipsis, which broadcast.

    Raises:
        ShapeError: operands disagree about a letter.
    """
    extents: dict[str, Dim] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for name, d in zip(_axes(term, len(shape)), shape, strict=True):
            extents[name] = broadcast_extent(extents.get(name, 1), d)
    return extents


@frozen
class Einsum(Op):
    """Sum of products over the letters that the result does not have.

    Shapes:  one extent a letter; letters of the result in its order; axes under an ellipsis
             broadcast.
    Work:    {mac}, e the product of all letters' extents, t the number of operands: one
             loop nest over all letters. A contraction path may need fewer with three operands or
             more. One operand: e additions where letters are summed, else a copy.
    Traffic: each operand once, the result once.
    Source:  ONNX Einsum-12, numpy.einsum.
    """

    mnemonic = "einsum"
    onnx = ("Einsum",)
    operands = ("Inputs+",)
    kind = Kind.MATMUL
    formulas = {"mac": "e*(t - 1)", "alu": "e*x"}

    equation: str = ""

    def _resolved(self, ins: Inputs) -> tuple[dict[str, Dim], list[str]] | None:
        terms, result = parse(self.equation, len(ins))
        shapes = [tensor(ins, i).shape for i in range(len(ins))]
        ranked = [s for s in shapes if s is not None]
        if len(ranked) < len(shapes):
            return None
        extents = letter_extents(terms, ranked)
        hidden = sum(name[0] == "." for name in extents)
        rank = len(result.replace(ELLIPSIS, "")) + (hidden if ELLIPSIS in result else 0)
        return extents, _axes(result, rank)

    def infer(self, ins: Inputs) -> Types:
        dtype = first_dtype(ins, *range(len(ins)))
        resolved = self._resolved(ins)
        if resolved is None:
            return (TensorType(dtype, None),)
        extents, axes = resolved
        return (TensorType(dtype, tuple(extents[a] for a in axes)),)

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        resolved = self._resolved(ins)
        if resolved is None:
            return {}
        extents, axes = resolved
        sums = len(ins) == 1 and len(extents) > len(axes)
        return {"e": product(tuple(extents.values())), "t": len(ins), "x": int(sums)}
