"""Sums of operations and of bytes against sums of their parts, one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perfc.ir.cost import Traffic, Work, total_traffic, total_work
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType

ENV = {"N": 3, "M": 5}
N, M = symbol("N"), symbol("M")
dims = st.sampled_from([0, 1, 2, 7, N, M, N * M, N + 4])
works = st.builds(
    Work,
    dims,
    dims,
    dims,
    dims,
    st.sampled_from([None, DType.F16]),
    st.none() | dims,
    st.booleans(),
    st.none() | dims,
)
traffics = st.builds(Traffic, dims, dims, st.booleans())


def at(d: Dim) -> int:
    return int(evaluate(d, ENV))


@given(st.lists(works, max_size=4))
def test_work_of_all_is_that_of_its_parts(parts: list[Work]) -> None:
    total = total_work(parts)
    for unit in ("mac", "alu", "sfu", "integer", "flop", "floor_mac", "floor_alu"):
        assert at(getattr(total, unit)) == sum(at(getattr(w, unit)) for w in parts), unit
    assert total.dtype is None
    assert (total.effective_mac is None) == all(w.effective_mac is None for w in parts)
    assert total.is_bound == any(w.is_bound for w in parts), "one part that may be more is enough"


@given(works, st.integers(0, 4))
def test_repeated_work_is_the_sum_of_its_repetitions(work: Work, count: int) -> None:
    merged, total = work.times(count), total_work([work] * count)
    for unit in ("mac", "alu", "sfu", "integer", "flop", "floor_mac", "floor_alu"):
        assert at(getattr(merged, unit)) == at(getattr(total, unit)), unit
    assert (merged.dtype, merged.is_bound) == (work.dtype, work.is_bound)
    assert (merged.effective_mac is None) == (work.effective_mac is None)


@given(works)
def test_work_at_sizes_is_that_of_its_formulas(work: Work) -> None:
    merged = work.at({**ENV})
    for unit in ("mac", "alu", "sfu", "integer", "flop", "floor_mac", "floor_alu"):
        assert getattr(merged, unit) == at(getattr(work, unit)), unit
    assert (merged.dtype, merged.is_bound) == (work.dtype, work.is_bound)
    assert (merged.effective_mac is None) == (work.effective_mac is None)


@given(st.lists(traffics, max_size=4), st.integers(0, 4))
def test_traffic_of_all_is_that_of_its_parts(parts: list[Traffic], count: int) -> None:
    total = total_traffic(parts)
    for what in ("read_bytes", "write_bytes", "nbytes"):
        assert at(getattr(total, what)) == sum(at(getattr(t, what)) for t in parts), what
        assert at(getattr(total.times(count), what)) == count * at(getattr(total, what)), what
    assert total.is_bound == total.times(count).is_bound == any(t.is_bound for t in parts)
