"""What a type leaves open besides the values of some symbols."""

from __future__ import annotations

import pytest

from perfc.ir.dim import symbol
from perfc.ir.graph import Value
from perfc.ir.known import Known
from perfc.ir.types import DType, TensorType, Type
from perfc.passes.sizing import has_symbols, is_open_in

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
