"""Sums of products written as an index equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.errors import ShapeError

from ... import (
    NO_WORK,
    Dim,
    Inputs,
    Kind,
    Op,
    Shape,
    Types,
    Work,
    dim_min,
    element_count,
    first_dtype,
    frozen,
    shape_at,
    single,
    total_work,
)
from ...problem import Product
from ...tensors.broadcast import broadcast_extent
from .contraction import least_mac, left_to_right, pair

ELLIPSIS = "..."


def parse(equation: str, operands: int) -> tuple[tuple[str, ...], str]:
    """Return terms of the operands and of the result; a missing result is derived as in ONNX.

    Raises:
        ShapeError: the number of terms differs, or a letter of the result is in no term.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = tuple(left.split(","))
    if len(terms) != operands:
        raise ShapeError(f"equation {equation!r} has {len(terms)} terms for {operands} operands")
    letters = "".join(terms).replace(ELLIPSIS, "")
    if not arrow:
        # without an arrow the result has the letters that occur once, in alphabetical order
        once = sorted(c for c in set(letters) if letters.count(c) == 1)
        right = (ELLIPSIS if ELLIPSIS in left else "") + "".join(once)
    missing = set(right.replace(ELLIPSIS, "")) - set(letters)
    if missing:
        raise ShapeError(f"equation {equation!r} has no operand with {', '.join(sorted(missing))}")
    return terms, right


def _axes(term: str, rank: int) -> list[str]:
    """Return a name for each axis: the letter, or ``.i`` for the i-th ellipsis axis from the end.

    Raises:
        ShapeError: the ranks of the term and of the operand differ.
    """
    before, dots, after = term.partition(ELLIPSIS)
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise ShapeError(f"term {term!r} does not fit an operand of rank {rank}")
    return [*before, *(f".{i}" for i in range(hidden, 0, -1)), *after]


def letter_extents(terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, Dim]:
    """Return the extent of every letter and of every axis under an ellipsis, which broadcast.

    Raises:
        ShapeError: extents of a letter differ between operands.
    """
    extents: dict[str, Dim] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for name, d in zip(_axes(term, len(shape)), shape, strict=True):
            extents[name] = broadcast_extent(extents.get(name, 1), d)
    return extents


def in_pairs(equation: str, operands: int) -> tuple[str, ...]:
    """Return the equations of pairwise products, from the left, that together compute one equation.

    Empty for an equation with an ellipsis or with a letter twice in a term.
    """
    terms, result = parse(equation, operands)
    # axes under an ellipsis have no letter to name in a pair; a repeated letter is a diagonal
    if any(ELLIPSIS in t or len(set(t)) < len(t) for t in (*terms, result)):
        return ()
    first, pairs = terms[0], []
    for i, second in enumerate(terms[1:], 1):
        later = {*result, *"".join(terms[i + 1 :])}
        is_last = i == operands - 1
        # letters of both terms, each once; those that nothing reads later are summed
        joined = "".join(dict.fromkeys(first + second))
        product = result if is_last else "".join(c for c in joined if c in later)
        pairs.append(f"{first},{second}->{product}")
        first = product
    return tuple(pairs)


@frozen
class Einsum(Op):
    """Sum of products over the letters that are not in the result.

    Shapes:  one extent per letter; letters of the result in its order; axes under an ellipsis
             broadcast.
    Work:    operands are multiplied two at a time, from the left, as ONNX Runtime and torch.einsum
             do: for each product the extents of its letters, after sums over letters that nothing
             else reads. ``effective_mac`` is that of the best order. One operand: an addition
             each where letters are summed, else a copy.
    Traffic: each operand once, the result once.
    Source:  ONNX Einsum-12, numpy.einsum.
    """

    mnemonic = "einsum"
    onnx = "Einsum"
    operands = "Inputs+"
    kind = Kind.MATMUL
    equation: str = ""

    def _resolved(self, ins: Inputs) -> tuple[dict[str, Dim], list[str]] | None:
        """Return extents by letter and the axes of the result, None if a rank is unknown."""
        terms, result = parse(self.equation, len(ins))
        shapes = [shape_at(ins, i) for i in range(len(ins))]
        ranked = [s for s in shapes if s is not None]
        if len(ranked) < len(shapes):
            return None
        extents = letter_extents(terms, ranked)
        # axes under an ellipsis are named `.1`, `.2`, …
        hidden = sum(name[0] == "." for name in extents)
        rank = len(result.replace(ELLIPSIS, "")) + (hidden if ELLIPSIS in result else 0)
        return extents, _axes(result, rank)

    def infer(self, ins: Inputs) -> Types:
        dtype = first_dtype(ins, *range(len(ins)))
        resolved = self._resolved(ins)
        if resolved is None:
            return single(dtype, None)
        extents, axes = resolved
        return single(dtype, tuple(extents[a] for a in axes))

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        resolved = self._resolved(ins)
        if resolved is None:
            return None
        extents, axes = resolved
        operands = [self._letters(ins, i) for i in range(len(ins))]
        result = frozenset(axes)
        if len(operands) == 1:
            whole = Work(alu=element_count(tuple(extents.values())))
            return whole if operands[0] - result else NO_WORK
        steps = left_to_right(operands, result)
        sequential = total_work(
            pair(a, b, later, extents) for (a, later), b in zip(steps, operands[1:], strict=True)
        )
        least = dim_min(sequential.mac, least_mac(operands, result, extents))
        return replace(sequential, effective_mac=None if least == sequential.mac else least)

    def problem(self, ins: Inputs, outs: Types) -> Product | None:
        resolved = self._resolved(ins)
        if resolved is None or len(ins) != 2:
            return None
        extents, axes = resolved
        a, b = (self._letters(ins, i) for i in range(2))
        result = frozenset(axes)
        # sums before the product, and products that sum nothing, are not a product of matrices
        if (a ^ b) - result or not (a & b) - result:
            return None
        parts = (a & b & result, a - b, b - a, (a & b) - result)
        batch, m, n, k = (element_count(tuple(extents[x] for x in sorted(p))) for p in parts)
        return Product(batch, m, n, k)

    def _letters(self, ins: Inputs, index: int) -> frozenset[str]:
        """Return letters of an operand, without those along which it is broadcast."""
        term = parse(self.equation, len(ins))[0][index]
        shape = shape_at(ins, index) or ()
        return frozenset(x for x, d in zip(_axes(term, len(shape)), shape, strict=True) if d != 1)
