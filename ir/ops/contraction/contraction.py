"""Work of products of several operands that are contracted in pairs, such as an einsum.

An operand is the set of its letters: the axes of the equation that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import combinations

from ... import Dim, Extents, Work, dim_min, element_count

Letters = frozenset[str]
NONE: Letters = frozenset()
MOST = 6
"""Maximum operands for which all orders are compared; six operands have 945 orders."""


def remaining(a: Letters, b: Letters, later: Letters) -> Letters:
    """Return the letters of the product of two operands; those not read later are summed."""
    return (a | b) & later


def pair(a: Letters, b: Letters, later: Letters, extents: Extents) -> Work:
    """Return the work of one product of two operands; ``later`` are letters that are read after it.

    A letter in only one operand that is not read later is summed before the product.
    """
    lonely_a, lonely_b = a - b - later, b - a - later
    sums = [_size(x, extents) for x, lonely in ((a, lonely_a), (b, lonely_b)) if lonely]
    return Work(mac=_size((a | b) - lonely_a - lonely_b, extents), alu=sum(sums, start=0))


def left_to_right(operands: Sequence[Letters], result: Letters) -> list[tuple[Letters, Letters]]:
    """Return for each product the letters of its first operand, and the letters read later.

    The first operand is the product of all operands before. ONNX Runtime
    (einsum_typed_compute_processor.cc) and torch.einsum without opt_einsum contract in this order.
    """
    steps, first = [], operands[0]
    for i, second in enumerate(operands[1:], 1):
        later = _union(operands[i + 1 :]) | result
        steps.append((first, later))
        first = remaining(first, second, later)
    return steps


def least_mac(operands: Sequence[Letters], result: Letters, extents: Extents) -> Dim:
    """Return the multiply-accumulates of the best order of pairwise products.

    For more than ``MOST`` operands it is a lower bound: one per element of the result.
    """
    if len(operands) > MOST:
        return _size(result, extents)
    indices = range(len(operands))
    # best order of each group of operands, from the best orders of its two parts
    least: dict[frozenset[int], Dim] = {frozenset((i,)): 0 for i in indices}
    letters = {frozenset((i,)): operands[i] for i in indices}
    for size in range(2, len(operands) + 1):
        for group in map(frozenset, combinations(indices, size)):
            later = _union(operands[i] for i in indices if i not in group) | result
            letters[group] = _union(operands[i] for i in group) & later
            # each division of the group into two parts once, by the part with its first operand
            first = min(group)
            halves = [
                frozenset((first, *some))
                for count in range(size - 1)
                for some in combinations(sorted(group - {first}), count)
            ]
            least[group] = dim_min(
                *(
                    least[half]
                    + least[group - half]
                    + pair(letters[half], letters[group - half], later, extents).mac
                    for half in halves
                )
            )
    return least[frozenset(indices)]


def _union(parts: Iterable[Letters]) -> Letters:
    return reduce(frozenset.union, parts, NONE)


def _size(letters: Letters, extents: Extents) -> Dim:
    return element_count(tuple(extents[x] for x in sorted(letters)))
