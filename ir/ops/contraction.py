"""Work of products of several operands that are contracted two at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import combinations

from ..cost import Work
from ..dim import Dim, dim_min
from .window import product

Letters = frozenset[str]
NONE: Letters = frozenset()
MOST = 6
"""Operands whose every order is compared; there are 945 orders of six."""


def remaining(a: Letters, b: Letters, later: Letters) -> Letters:
    """Letters of the product of two operands; those that nothing reads later are summed."""
    return (a | b) & later


def pair(a: Letters, b: Letters, later: Letters, extents: Mapping[str, Dim]) -> Work:
    """Work of one product of two operands.

    A letter that only one operand has and nothing reads later is summed before the product.
    """
    lonely_a, lonely_b = a - b - later, b - a - later
    sums = [_size(x, extents) for x, lonely in ((a, lonely_a), (b, lonely_b)) if lonely]
    return Work(mac=_size((a | b) - lonely_a - lonely_b, extents), alu=sum(sums, start=0))


def left_to_right(operands: Sequence[Letters], result: Letters) -> list[tuple[Letters, Letters]]:
    """Letters of the first operand of each product, and of what is read after it.

    The first operand is the product so far. ONNX Runtime (einsum_typed_compute_processor.cc) and
    torch.einsum without opt_einsum contract in this order.
    """
    steps, first = [], operands[0]
    for i, second in enumerate(operands[1:], 1):
        later = _union(operands[i + 1 :]) | result
        steps.append((first, later))
        first = remaining(first, second, later)
    return steps


def least_mac(operands: Sequence[Letters], result: Letters, extents: Mapping[str, Dim]) -> Dim:
    """Multiply-accumulates of the best order of products of two operands.

    Of more than ``MOST`` operands it is a bound: each element of the result takes one.
    """
    if len(operands) > MOST:
        return _size(result, extents)
    indices = range(len(operands))
    least: dict[frozenset[int], Dim] = {frozenset((i,)): 0 for i in indices}
    letters = {frozenset((i,)): operands[i] for i in indices}
    for size in range(2, len(operands) + 1):
        for group in map(frozenset, combinations(indices, size)):
            later = _union(operands[i] for i in indices if i not in group) | result
            letters[group] = _union(operands[i] for i in group) & later
            first = min(group)
            halves = [
                frozenset((first, *some))
                for count in range(size - 1)
                for some in combinations(sorted(group - {first}), count)
            ]
            least[group] = dim_min(*(
                least[half] + least[group - half]
                + pair(letters[half], letters[group - half], later, extents).mac
                for half in halves
            ))  # fmt: skip
    return least[frozenset(indices)]


def _union(parts: Iterable[Letters]) -> Letters:
    return reduce(frozenset.union, parts, NONE)


def _size(letters: Letters, extents: Mapping[str, Dim]) -> Dim:
    return product(tuple(extents[x] for x in sorted(letters)))
