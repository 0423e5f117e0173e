"""Tests of symbols that types leave open, and of the search for a size."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.api import typed
from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.symbolic.dim import Dim, dim_max, dim_min, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType, Type
from perfc.passes.inference.remedies import is_limited, least
from perfc.passes.inference.sizing import has_symbols, is_open_in

N, M = symbol("n"), symbol("m")


@pytest.mark.parametrize(
    ("type_", "is_open"),
    [
        (TensorType(DType.F32, (2, 3)), False),
        (TensorType(DType.F32, ()), False),
        (TensorType(DType.F32, (N, 3)), False),
        (TensorType(DType.F32, (N * 2 + 1, 3)), False),
        (TensorType(DType.F32, (3, M)), True),
        (TensorType(DType.F32, (N * M,)), True),
        (TensorType(DType.F32, None), True),
    ],
    ids=str,
)
def test_a_type_is_open_where_a_symbol_is_not_among_the_names(type_: Type, is_open: bool) -> None:
    assert is_open_in(type_, {"n"}) is is_open


def test_symbols_stand_in_extents_and_in_contents() -> None:
    assert has_symbols(Value("x", TensorType(DType.F32, (N,))))
    assert not has_symbols(Value("x", TensorType(DType.F32, (4,))))
    assert not has_symbols(Value("x", TensorType(DType.F32, None)))
    shape = TensorType(DType.I64, (2,))
    assert has_symbols(Value("x", shape, Known.vector((1, N))))
    assert not has_symbols(Value("x", shape, Known.vector((1, 2))))


@given(st.integers(0, 50), st.integers(1, 5000))
def test_the_least_size_that_is_enough_is_found_in_few_steps(size: int, further: int) -> None:
    enough, asked = size + further, list[int]()

    def is_enough(n: int) -> bool:
        asked.append(n)
        return n >= enough

    assert least(is_enough, size, 1 << 20) == enough
    assert len(asked) <= 2 * enough.bit_length() + 2
    assert all(n > size for n in asked)


@given(st.integers(0, 50), st.integers(1, 500))
def test_no_size_beyond_the_largest_is_tried(size: int, most: int) -> None:
    asked = list[int]()
    assert least(lambda n: asked.append(n) is not None, size, most) is None
    assert all(n <= most for n in asked)
    # up to the largest double of the size
    steps = [max(size, 1) << i for i in range(1, 20) if max(size, 1) << i <= most]
    assert asked == steps


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        (3, False),
        (N, False),
        (N * M + 2, False),
        (dim_min(N, 4), True),
        (dim_max(N - 3, 0), True),
        (2 * dim_min(N, 4) + M, True),
        ((dim_min(N, 4) + 1) // 2, True),
        ((N + 1) // 2, False),
    ],
    ids=str,
)
def test_extents_are_limited_where_a_minimum_or_maximum_occurs(extent: Dim, expected: bool) -> None:
    assert is_limited(extent) is expected


@pytest.mark.parametrize("seq", [513, 1000, 2048])
def test_a_sequence_beyond_the_table_of_positions_is_told_the_longest(seq: int) -> None:
    bert = Path(__file__).parents[2] / "examples" / "models" / "bert-base.onnx.gz"
    with pytest.raises(ShapeError) as caught:
        typed(bert, {"seq": seq})
    assert caught.value.hint == "seq = 512 would do"
    assert typed(bert, {"seq": 512}).graph.outputs
