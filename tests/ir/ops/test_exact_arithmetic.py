"""Arithmetic on known elements: NumPy's for numbers, and by hand for symbols."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.ops.elementwise import exact
from perfc.ir.ops.elementwise.logic import IsInf
from perfc.ir.ops.movement.gather import Gather, GatherElements, GatherND
from perfc.ir.ops.movement.select import TopK, _order
from perfc.ir.ops.movement.view import Reshape
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.known import Item, Known
from perfc.ir.tensors.types import DType, TensorType

N, M = symbol("N", 1), symbol("M", 0)
INTEGERS = {
    DType.I8: np.int8,
    DType.U8: np.uint8,
    DType.I16: np.int16,
    DType.U16: np.uint16,
    DType.I32: np.int32,
    DType.U32: np.uint32,
    DType.I64: np.int64,
    DType.U64: np.uint64,
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "value", [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1]
)
def test_integers_wrap_as_those_of_numpy(dtype: DType, value: int) -> None:
    expected = int(np.array([value], np.int64).astype(INTEGERS[dtype])[0])
    assert exact.wrap(value, dtype) == expected
    assert exact.fit(value, dtype) == expected


@pytest.mark.parametrize("value", [0.1, -0.1, 1 / 3, 65504.0, 65519.9, 1e-8, 2049.0, 3.4e38])
def test_floats_are_rounded_as_those_of_numpy(value: float) -> None:
    with np.errstate(over="ignore"):
        half, single = float(np.float16(value)), float(np.float32(value))
    assert exact.round_to(value, DType.F16) == half
    assert exact.round_to(value, DType.F32) == single
    assert exact.round_to(value, DType.F64) == value
    assert exact.round_to(value, DType.F8E4M3FN) is None


def test_too_large_is_infinite_and_bf16_has_eight_bits() -> None:
    assert exact.round_to(1e6, DType.F16) == math.inf
    assert exact.round_to(-1e39, DType.F32) == -math.inf
    assert exact.round_to(-1e39, DType.BF16) == -math.inf
    assert exact.round_to(256.0, DType.BF16) == 256.0
    # halfway between 256 and 258 is even below, between 258 and 260 above
    assert exact.round_to(257.0, DType.BF16) == 256.0
    assert exact.round_to(259.0, DType.BF16) == 260.0
    assert exact.round_to(257.1, DType.BF16) == 258.0
    assert math.isnan(exact.round_to(math.nan, DType.BF16) or 0.0)


@pytest.mark.parametrize(
    ("value", "dtype", "is_kept"),
    [
        (symbol("a", 0, 127), DType.I8, True),
        (symbol("a", 0, 128), DType.I8, False),
        (symbol("a", -128, 127), DType.I8, True),
        (symbol("a", -129, 127), DType.I8, False),
        (symbol("a", 0, 255), DType.U8, True),
        (symbol("a", 0, 256), DType.U8, False),
        (symbol("a", -1, 5), DType.U8, False),
        (symbol("a", -1, 5), DType.U32, False),
        (N, DType.I8, False),
        (N, DType.I32, True),
        (N, DType.U64, True),
        (symbol("a", 0, 2048), DType.F16, True),
        (symbol("a", 0, 2049), DType.F16, False),
        (symbol("a", -2048, 0), DType.F16, True),
        (symbol("a", -2049, 0), DType.F16, False),
        (symbol("a", 0, 256), DType.BF16, True),
        (symbol("a", 0, 257), DType.BF16, False),
        (N, DType.F16, False),
        (N, DType.F32, True),
        (N, DType.F64, True),
        (symbol("a", 0, 1 << 24), DType.F32, True),
        (symbol("a", 0, (1 << 24) + 1), DType.F32, False),
        (symbol("a", 0, 4), DType.F8E4M3FN, False),
        (symbol("a", 0, 4), DType.STR, False),
    ],
)
def test_a_symbol_is_an_element_where_all_its_values_are(
    value: Dim, dtype: DType, is_kept: bool
) -> None:
    assert exact.fit(value, dtype) == (value if is_kept else None)


@pytest.mark.parametrize(
    ("item", "source", "target", "expected"),
    [
        (None, DType.F32, DType.I32, None),
        ("12", DType.STR, DType.I64, 12),
        ("300", DType.STR, DType.U8, 44),
        ("0.5", DType.STR, DType.F32, 0.5),
        ("x", DType.STR, DType.STR, "x"),
        ("1", DType.STR, DType.BOOL, None),
        (N, DType.I64, DType.BOOL, True),
        (M, DType.I64, DType.BOOL, None),
        (-N, DType.I64, DType.BOOL, True),
        (2.9, DType.F32, DType.I32, 2),
        (-2.9, DType.F32, DType.I32, -2),
        (math.inf, DType.F32, DType.I32, None),
        (math.nan, DType.F32, DType.I8, None),
        (127.5, DType.F32, DType.I8, 127),
        (128.0, DType.F32, DType.I8, None),
        (-1.0, DType.F32, DType.U8, None),
        (7, DType.I64, DType.STR, "7"),
        (7.0, DType.F32, DType.STR, None),
        (True, DType.BOOL, DType.I32, 1),
        (3, DType.I32, DType.BOOL, True),
        (0, DType.I32, DType.BOOL, False),
        (3, DType.I32, DType.F16, 3.0),
        (300, DType.I32, DType.U8, 44),
    ],
)
def test_elements_are_cast_as_onnx_does(
    item: Item, source: DType, target: DType, expected: Item
) -> None:
    found = exact.convert(item, source, target)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("a", [-7, -6, -1, 0, 1, 6, 7])
@pytest.mark.parametrize("b", [-4, -3, 3, 4])
def test_integers_divide_toward_zero(a: int, b: int) -> None:
    assert exact.divide_truncated(a, b) == int(a / b)
    assert exact.modulo_truncated(a, b) == int(math.fmod(a, b))
    assert exact.modulo(a, b) == int(np.mod(a, b))


def test_symbols_divide_where_their_sign_is_known() -> None:
    assert exact.divide_truncated(6 * N, 4) == (6 * N) // 4
    assert exact.divide_truncated(-6 * N, 4) == -((6 * N) // 4)
    assert exact.divide_truncated(6 * N, -4) == -((6 * N) // 4)
    assert exact.divide_truncated(-6 * N, -4) == (6 * N) // 4
    mixed = symbol("x", -5, 5)
    assert exact.divide_truncated(4 * mixed, 2) == 2 * mixed, "it divides"
    with pytest.raises(ValueError, match="sign depends on the symbols"):
        exact.divide_truncated(mixed, 2)
    assert exact.modulo(N + 3, 5) == (N + 3) % 5
    assert exact.modulo_truncated(6 * N, 6) == 0


def test_powers_end() -> None:
    assert exact.power(2, 10) == 1024
    assert exact.power(2, 64) == 2**64
    assert exact.power(1, 1000) == 1
    assert exact.power(-1, 1001) == -1
    assert exact.power(2.0, -1) == 0.5
    assert exact.power(N, 3) == N * N * N
    assert exact.power(N, 0) == 1
    assert exact.power(N, 4) == N * N * N * N
    for base, exponent in ((2, 65), (2, -1), (N, 5), (N, -1), (N, N), (-8.0, 1 / 3)):
        with pytest.raises((ValueError, TypeError)):
            exact.power(base, exponent)


@pytest.mark.parametrize(("name", "reference"), [("minimum", np.minimum), ("maximum", np.maximum)])
def test_extrema_of_numbers(name: str, reference: Callable[..., Any]) -> None:
    function = getattr(exact, name)
    for a, b in ((1, 2), (2.5, -1.0), (3, 3), (-0.5, 4)):
        assert function(a, b) == reference(a, b)
    assert math.isnan(function(math.nan, 1.0))
    assert math.isnan(function(1.0, math.nan))
    assert not math.isnan(function(1.0, 2.0))


@pytest.mark.parametrize(
    ("a", "b", "le", "lt", "eq"),
    [
        (1, 2, True, True, False),
        (2, 2, True, False, True),
        (2.5, 2, False, False, False),
        (math.nan, 2.0, False, False, False),
        # a symbol of one or more
        (N, 0, False, False, False),
        (N, 1, None, False, None),
        (0, N, True, True, False),
        (1, N, True, None, None),
        (N, N, True, False, True),
        (N, N + 1, True, True, False),
        (N, 0.5, False, False, False),
        (N, 1.5, None, None, False),
        (0.5, N, True, True, False),
        (1.0, N, True, None, None),
        (N, math.inf, True, True, False),
        (N, -math.inf, False, False, False),
        (math.inf, N, False, False, False),
        (-math.inf, N, True, True, False),
    ],
)
def test_comparisons_are_none_where_symbols_decide(
    a: Item, b: Item, le: bool | None, lt: bool | None, eq: bool | None
) -> None:
    assert exact.less_or_equal(a, b) is le
    assert exact.greater_or_equal(b, a) is le
    assert exact.less(a, b) is lt
    assert exact.greater(b, a) is lt
    assert exact.equal(a, b) is eq


def test_what_is_no_number_is_an_error() -> None:
    for function in (exact.add, exact.subtract, exact.multiply, exact.divide):
        with pytest.raises(TypeError, match="not a number"):
            function("a", 1)
    assert exact.absolute(-3) == 3
    assert exact.negate(2.5) == -2.5
    assert exact.negate(N) == -N
    assert exact.absolute(-N) == N


def held(shape: tuple[int, ...], *items: Item, dtype: DType = DType.I64) -> Value:
    return Value("k", TensorType(dtype, shape), Known(shape, items))


def folded(op: Any, *ins: Value) -> Known | None:
    found = op.fold(ins, op.infer(ins))
    return found[0] if found else None


def test_elements_taken_by_index_are_numpys_and_none_outside() -> None:
    table = np.arange(6).reshape(2, 3)
    data = held((2, 3), *range(6))
    at = np.array([[0, 1, -1], [1, 0, -2]])
    index = held((2, 3), *at.ravel().tolist())
    found = folded(GatherElements(), data, index)
    assert found == Known((2, 3), tuple(np.take_along_axis(table, at, 0).ravel().tolist()))
    across = folded(GatherElements(1), data, held((2, 2), 2, 0, -1, 1))
    assert across == Known((2, 2), (2, 0, 5, 4))
    unknown = folded(GatherElements(), data, held((1, 3), None, 5, 1))
    assert unknown == Known((1, 3), (None, None, 5))
    # more rows of indices than rows of data go along the other axis only
    assert folded(GatherElements(), data, held((1, 4), 0, 0, 0, 0)) is None
    assert folded(Gather(1), data, held((2,), -1, 0)) == Known((2, 2), (2, 0, 5, 3))
    assert folded(Gather(0), data, held((2,), 1, 7)) == Known((2, 3), (3, 4, 5, None, None, None))
    assert folded(GatherND(), data, held((2, 2), 0, 1, 1, -1)) == Known((2,), (1, 5))
    assert folded(GatherND(), data, held((2, 1), 1, 9)) == Known(
        (2, 3), (3, 4, 5, None, None, None)
    )
    batched = folded(GatherND(1), data, held((2, 1), 2, 0))
    assert batched == Known((2,), (2, 3))


def test_infinite_elements_are_told_by_sign() -> None:
    x = held((4,), math.inf, -math.inf, 1.0, math.nan, dtype=DType.F32)
    for negative, positive in ((1, 1), (0, 1), (1, 0), (0, 0)):
        found = folded(IsInf(negative, positive), x)
        assert found == Known((4,), (bool(positive), bool(negative), False, False))


def reshaped(shape: tuple[Dim, ...], *wanted: Item) -> tuple[Dim, ...]:
    x = Value("x", TensorType(DType.F32, shape))
    (found,) = Reshape().infer((x, held((len(wanted),), *wanted)))
    assert isinstance(found, TensorType)
    assert found.shape is not None
    return found.shape


def test_what_is_left_of_a_reshape_is_exact_where_it_divides() -> None:
    assert reshaped((M, 4), M, -1) == (M, 4)
    assert reshaped((M, 6), 2, -1) == (2, 3 * M)
    assert reshaped((N, 4), -1, N) == (4, N)
    assert reshaped((2, 0, 3), 0, -1) == (2, 0)
    assert reshaped((3, 4), 0, -1, 2) == (3, 2, 2)
    assert reshaped((0, 4), 0, -1) == (0, 0), "of no elements nothing is left"
    for shape, wanted in (
        ((3, 4), (5, -1)),
        ((3, 4), (-1, -1)),
        ((3, 4), (3, 5)),
        ((3,), (3, 0)),
        ((3,), (-2, 1)),
    ):
        with pytest.raises(ShapeError):
            reshaped(shape, *wanted)


def test_symbols_are_in_order_where_it_does_not_depend_on_them() -> None:
    column = (N + 1, N, N + 1, 2 * N + 5)
    assert _order(column, largest=True) == [3, 0, 2, 1]
    assert _order(column, largest=False) == [1, 0, 2, 3]
    assert _order((N, 3), largest=True) is None
    assert _order((3, 1, 2, 3), largest=True) == [0, 3, 2, 1]
    assert _order((3, 1, 2, 3), largest=False) == [1, 2, 0, 3]
    assert _order((N, 0.5), largest=True) is None
    x, k = held((2, 3), 1, 5, 3, 9, 7, 8), held((1,), 2)
    top = TopK(axis=1)
    assert top.fold((x, k), top.infer((x, k))) == (
        Known((2, 2), (5, 3, 9, 8)),
        Known((2, 2), (1, 2, 0, 2)),
    )
    down = TopK(axis=0, largest=0)
    one = held((1,), 1)
    assert down.fold((x, one), down.infer((x, one))) == (
        Known((1, 3), (1, 5, 3)),
        Known((1, 3), (0, 0, 0)),
    )
