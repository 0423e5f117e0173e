"""Bound the time of fused attention by its operators, in types without measured fused kernels.

The operators are the product of queries and keys (scores), scaling, mask, softmax, and the product
with the values; kernels of these classes were measured in the type. A framework fuses attention to
save the traffic of its scores, so that the fused kernel takes no longer than its operators one by
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add

from perfc.ir import bits_of

from ..estimate.interval import Interval
from ..features.lowering import Lowered

FUSED = frozenset({"attention_prefill", "attention_decode"})
"""Classes of attention whose operators are kernels of other classes."""


def parts(row: Lowered) -> Iterator[Lowered]:
    """Yield the rows of the operators of an attention: scores, scaling, mask, softmax, context.

    No pair of query and key is skipped, as operators compute scores that a mask then hides.

    >>> heads = {"batch": 2.0, "heads": 12.0, "query_len": 8.0, "kv_len": 9.0, "head_dim": 64.0}
    >>> [part.class_name for part in parts(Lowered("attention_prefill", "f32", heads))]
    ['matmul', 'elementwise', 'elementwise', 'softmax', 'matmul']
    """
    given = row.parameters
    count = given["batch"] * given["heads"]
    # a decode row has no "query_len", as it has one query, and counts tokens before the new one
    queries = given.get("query_len", 1.0)
    keys = given.get("kv_len", given.get("cached_len", 0.0) + 1)
    value_dim = given.get("value_dim") or given["head_dim"]
    yield product(row.dtype, queries, keys, given["head_dim"], count)
    rows = count * queries
    for operands in (1, 2):  # scaling, then adding the mask
        yield pointwise(row.dtype, rows * keys, operands)
    yield Lowered("softmax", row.dtype, {"rows": rows, "cols": keys})
    yield product(row.dtype, queries, value_dim, keys, count)


def product(dtype: str, m: float, n: float, k: float, batch: float) -> Lowered:
    """Return the row of a batched matrix product."""
    return Lowered("matmul", dtype, {"m": m, "n": n, "k": k, "batch": batch})


def pointwise(dtype: str, elements: float, operands: int) -> Lowered:
    """Return an elementwise kernel of one operation per element.

    Its operands are as large as its result.
    """
    nbytes = elements * bits_of(dtype) / 8
    parameters = {
        "operands": float(operands),
        "tensor_operands": float(operands),
        "elements": elements,
        "read_bytes": operands * nbytes,
        "write_bytes": nbytes,
        "alu": elements,
    }
    return Lowered("elementwise", dtype, parameters)


def bounded(time: Interval, others: Iterable[Interval]) -> Interval:
    """Return an interval whose upper end is at most the sum of the upper ends of others.

    It is never below the interval's middle.

    >>> bounded(Interval(1, 4, 16), [Interval(1, 2, 4), Interval(1, 3, 6)])
    Interval(low=1, mid=4, high=10)
    """
    summed = reduce(add, others)
    return Interval(time.low, time.mid, max(min(time.high, summed.high), time.mid))
