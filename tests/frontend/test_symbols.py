"""Declared shapes become types with symbols, and every symbol has a default."""

from __future__ import annotations

import pytest

from perfc.frontend.lowering.symbols import MAX_RANK, SymbolTable
from perfc.frontend.reading.proto import TypeKind, TypeProto
from perfc.ir.tensors.types import UNKNOWN, DType, SequenceType, TensorType


def declared(*dims: int | str | None, dtype: int = 1) -> TypeProto:
    return TypeProto(TypeKind.TENSOR, dtype, dims)


def test_equal_names_are_one_symbol() -> None:
    table = SymbolTable()
    a, b = table.type(declared("N", 3), "a"), table.type(declared(4, "N"), "b")
    assert isinstance(a, TensorType)
    assert isinstance(b, TensorType)
    assert a.shape is not None
    assert b.shape is not None
    assert a.shape[0] == b.shape[1]
    assert [d.name for d in table.declarations()] == ["N"]


@pytest.mark.parametrize("dim", [None, "", -1])
def test_an_extent_without_name_is_named_after_its_value(dim: int | str | None) -> None:
    table = SymbolTable()
    assert str(table.type(declared(dim, 3), "x")) == "f32[x_d0, 3]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a+b", "a + b"), ("2*s", "2*s"), ("s//2", "(s//2)"), ("a*b - 1", "a*b - 1")],
)
def test_an_expression_is_arithmetic(text: str, expected: str) -> None:
    table = SymbolTable()
    assert str(table.extent(text, "u")) == expected


@pytest.mark.parametrize("text", ["a//0", "2*", "floor(a/2)", "a b", "名前", "`", "a" * 5000])
def test_what_is_no_expression_is_a_name(text: str) -> None:
    table = SymbolTable()
    assert len(table.declarations()) == 0
    table.extent(text, "u")
    assert len(table.declarations()) >= 1


def test_unknown_ranks_and_kinds_stay_unknown() -> None:
    table = SymbolTable()
    assert table.type(TypeProto(TypeKind.TENSOR, 1, None), "x") == TensorType(DType.F32, None)
    many = TypeProto(TypeKind.TENSOR, 1, (1,) * (MAX_RANK + 1))
    assert table.type(many, "x") == TensorType(DType.F32, None)
    assert table.type(TypeProto(TypeKind.TENSOR, 999, (2,)), "x") == TensorType(DType.UNKNOWN, (2,))
    assert table.type(None, "x") is UNKNOWN
    assert table.type(TypeProto(TypeKind.OPAQUE), "x") is UNKNOWN
    inner = TypeProto(TypeKind.SEQUENCE, elem=declared(2))
    assert table.type(inner, "x") == SequenceType(TensorType(DType.F32, (2,)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("batch_size", 1),
        ("N", 1),
        ("sequence_length", 128),
        ("past_len", 128),
        ("height", 224),
        ("whatever", 1),
    ],
)
def test_defaults_follow_the_name(name: str, expected: int) -> None:
    table = SymbolTable()
    table.extent(name, "x_d0")
    assert [d.default for d in table.declarations()] == [expected]


def test_defaults_follow_the_place_where_the_name_says_nothing() -> None:
    table = SymbolTable()
    table.type(declared("s0", "s1", dtype=7), "ids")
    table.type(declared("t0", 3, "t2", "t3"), "image")
    found = {d.name: d.default for d in table.declarations()}
    assert found == {"s0": 1, "s1": 128, "t0": 1, "t2": 224, "t3": 224}


def test_given_values_are_the_defaults() -> None:
    table = SymbolTable({"N": 8, "Z": 0})
    table.type(declared("N", "Z"), "x")
    assert [(d.name, d.default, d.lo) for d in table.declarations()] == [("N", 8, 1), ("Z", 0, 0)]


def test_a_symbol_begins_at_one_but_for_what_is_past_or_given_as_nothing() -> None:
    table = SymbolTable(given={"n": 0, "m": 3})
    lows = {
        name: next(iter(table.extent(name, "u").atoms())).lo
        for name in ("n", "m", "past_len", "Past", "other")
    }  # type: ignore[union-attr]
    assert lows == {"n": 0, "m": 1, "past_len": 0, "Past": 0, "other": 1}


def test_an_extent_is_read_once_under_its_name() -> None:
    table = SymbolTable()
    assert (table.extent(0, "u"), table.extent(7, "u")) == (0, 7)
    assert str(table.extent(-1, "x_d0")) == "x_d0"
    assert str(table.extent("", "x_d1")) == "x_d1"
    assert table.extent("n", "u") is table.extent("n", "v")
    assert str(table.extent("m + 2*n", "u")) == "m + 2*n"
    assert set(table.seen) == {"x_d0", "x_d1", "n", "m"}
