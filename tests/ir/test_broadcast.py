"""Extents that meet: by cases, and against NumPy at drawn values of the symbols."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.errors import ShapeError
from perfc.ir.symbolic.dim import Dim, dim_max, interval, symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.broadcast import broadcast, broadcast_extent

N, M = symbol("n"), symbol("m")
MAYBE_EMPTY = symbol("z", 0)
LARGE = symbol("large", 2)


@pytest.mark.parametrize(
    ("a", "b", "meets"),
    [
        (3, 3, 3),
        (1, 3, 3),
        (1, 0, 0),
        (1, N, N),
        (N, N, N),
        (N, 5, 5),
        (N, 0, 0),
        (N, M, dim_max(N, M)),
        (LARGE, M, LARGE),
        (2 * LARGE, M, 2 * LARGE),
        (dim_max(MAYBE_EMPTY - 2, 0), MAYBE_EMPTY - 2, MAYBE_EMPTY - 2),
    ],
    ids=str,
)
def test_extents_meet_in_either_order(a: Dim, b: Dim, meets: Dim) -> None:
    assert broadcast_extent(a, b) == meets
    assert broadcast_extent(b, a) == meets


def test_of_symbols_that_may_be_empty_only_an_end_is_known() -> None:
    found = broadcast_extent(N, MAYBE_EMPTY)
    assert found == broadcast_extent(MAYBE_EMPTY, N)
    assert found not in (N, MAYBE_EMPTY, dim_max(N, MAYBE_EMPTY))
    assert interval(found)[0] == 0


@pytest.mark.parametrize(("a", "b"), [(2, 3), (0, 2), (4, 2)])
def test_numbers_that_differ_do_not_go_together(a: int, b: int) -> None:
    for pair in ((a, b), (b, a)):
        with pytest.raises(ShapeError, match=f"extents {pair[0]} and {pair[1]} do not broadcast"):
            broadcast_extent(*pair)


SIDES = st.lists(st.sampled_from([1, 1, 2, 3, "n", "m"]), max_size=3)


@given(st.lists(SIDES, min_size=1, max_size=3), st.sampled_from([1, 2, 3]), st.sampled_from([1, 2]))
def test_shapes_are_numpys_wherever_it_takes_them(
    shapes: list[list[int | str]], n: int, m: int
) -> None:
    values = {"n": n, "m": m}
    symbols = {"n": N, "m": M}
    real = [tuple(values.get(str(d), d) for d in s) for s in shapes]
    try:
        expected = np.broadcast_shapes(*real)  # type: ignore[arg-type]
    except ValueError:
        return
    found = broadcast([tuple(symbols.get(str(d), d) for d in s) for s in shapes])  # type: ignore[misc]
    assert found is not None
    assert tuple(evaluate(d, values) for d in found) == expected


def test_an_unknown_rank_leaves_the_rank_unknown() -> None:
    assert broadcast([(2, 3), None]) is None
    assert broadcast([None]) is None
