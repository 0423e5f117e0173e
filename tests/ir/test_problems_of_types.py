"""Error messages for invalid types and contents, and compatibility of types."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.ir.graph import Value
from perfc.ir.graphs.verify import MAX_ITEMS, compatible, known_problem, type_problem
from perfc.ir.ops.control.sequence_parts import SplitToSequence
from perfc.ir.symbolic.dim import Dim, interval, symbol
from perfc.ir.symbolic.sizes import MAX_EXTENT, misfit
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    UnknownType,
)

N = symbol("N")


def t(*shape: Dim, dtype: DType = DType.F32) -> TensorType:
    return TensorType(dtype, shape)


NEGATIVE = t(2, -1)
WRONG: Any = TensorType("f32", (2,))  # type: ignore[arg-type]
HALF: Any = (2, 0.5)


@pytest.mark.parametrize(
    ("type_", "problem"),
    [
        (t(2, N, 0), ""),
        (UnknownType(), ""),
        (TensorType(DType.F32, None), ""),
        (NEGATIVE, "extent -1 is negative"),
        (WRONG, "element type 'f32' is not one"),
        (t(symbol("x", -9, -2)), "extent x is negative"),
        (TensorType(DType.F32, HALF), "extent 0.5 is not one"),
        (t(True), "extent True is not one"),
        (SequenceType(t(2), 1), ""),
        (SequenceType(NEGATIVE, 1), "extent -1 is negative"),
        (SequenceType(t(2), 2, (t(2), NEGATIVE)), "extent -1 is negative"),
        (SequenceType(t(2), 0, ()), "types of 0 elements"),
        (SequenceType(t(2), 9, (t(2),) * MAX_ITEMS), ""),
        (SequenceType(t(2), 9, (t(2),) * (MAX_ITEMS + 1)), f"types of {MAX_ITEMS + 1} elements"),
        (OptionalType(NEGATIVE), "extent -1 is negative"),
        (MapType(DType.I64, NEGATIVE), "extent -1 is negative"),
        ("f32", "'f32' is not a type"),
    ],
)
def test_types_are_right_or_their_problem_is_named(type_: Type, problem: str) -> None:
    assert type_problem(type_) == problem


def held(type_: Type, *shape: int, items: tuple[Any, ...]) -> Value:
    return Value("v", type_, Known(shape, items))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Value("v", t(2)), ""),
        (held(t(2), 2, items=(1.0, None)), ""),
        (held(t(N), 2, items=(1.0, None)), ""),
        (held(t(2, 3), 2, 3, items=(0.0,) * 5), "5 known elements do not fill [2, 3]"),
        (held(t(3), 2, items=(1.0, 2.0)), "content of shape [2] in f32[3]"),
        (held(t(2, 1), 2, items=(1.0, 2.0)), "content of shape [2] in f32[2, 1]"),
        (held(t(1), 1, items=("x",)), "string 'x' in f32[1]"),
        (held(t(1, dtype=DType.STR), 1, items=("x",)), ""),
        (held(t(1, dtype=DType.I64), 1, items=(0.5,)), "float 0.5 in i64[1]"),
        (held(t(1, dtype=DType.I64), 1, items=(N,)), ""),
        (held(t(1), 1, items=(Known((), (1,)),)), "the content of another value in f32[1]"),
        (held(SequenceType(t(1), 2), 2, items=(Known((1,), (1,)), None)), ""),
        (held(OptionalType(t(1)), 1, items=(1,)), "only tensors and sequences have known contents"),
    ],
)
def test_contents_are_right_or_their_problem_is_named(value: Value, problem: str) -> None:
    assert known_problem(value) == problem


@pytest.mark.parametrize("items", [(1, 2), (Known((1,), (1,)), 2)])
def test_a_sequence_lists_contents_of_elements_alone(items: tuple[Any, ...]) -> None:
    said = known_problem(held(SequenceType(t(1), 2), 2, items=items))
    assert said.endswith("is no list of the contents of elements")


@pytest.mark.parametrize(
    ("a", "b", "goes"),
    [
        (t(2, 3), t(2, 3), True),
        (t(2, 3), t(2, N), True),
        (t(2, 3), t(2, 4), False),
        (t(2), t(2, 1), False),
        (t(2), t(2, dtype=DType.F16), False),
        (t(2), t(2, dtype=DType.UNKNOWN), True),
        (t(2), TensorType(DType.F32, None), True),
        (t(2), TensorType(DType.F16, None), False),
        (UnknownType(), SequenceType(t(2)), True),
        (t(2), UnknownType(), True),
        (SequenceType(t(2)), SequenceType(t(3)), False),
        (SequenceType(t(2)), SequenceType(t(N)), True),
        (OptionalType(t(2)), OptionalType(t(2)), True),
        (OptionalType(t(2)), OptionalType(t(3)), False),
        (OptionalType(t(2)), t(2), False),
        (MapType(DType.I64, t(1)), MapType(DType.I64, t(1)), True),
        (MapType(DType.I64, t(1)), MapType(DType.STR, t(1)), False),
        (MapType(DType.I64, t(1)), MapType(DType.I64, t(2)), False),
        (TensorType(DType.UNKNOWN, None), SequenceType(t(2)), True),
        (SequenceType(t(2)), TensorType(DType.UNKNOWN, None), True),
        (SequenceType(t(2)), TensorType(DType.F32, None), False),
    ],
)
def test_types_go_together_where_some_value_has_both(a: Type, b: Type, goes: bool) -> None:
    assert compatible(a, b) is goes
    assert compatible(b, a) is goes


def test_a_tensor_has_a_bounded_number_of_elements() -> None:
    assert misfit(t(MAX_EXTENT)) is None
    assert misfit(t(MAX_EXTENT + 1)) == MAX_EXTENT + 1
    assert misfit(t(1 << 31, 1 << 40)) == 1 << 71
    assert misfit(t(1 << 31, 1 << 40, 0)) is None
    assert misfit(t(1 << 31, N)) is None
    assert misfit(t(-1, 0)) == -1
    assert misfit(SequenceType(NEGATIVE)) is None


def parts_of(extent: Dim, *parts: Any, scalar: bool = False) -> Type:
    shape = () if scalar else (len(parts),)
    split = Value("s", t(*shape, dtype=DType.I64), Known(shape, tuple(parts)))
    (found,) = SplitToSequence().infer((Value("x", t(extent, 4)), split))
    return found


def test_parts_of_a_sequence_are_as_long_as_the_split_says() -> None:
    assert parts_of(6, 2, scalar=True) == SequenceType(t(2, 4), 3)
    assert parts_of(6, 3, 3) == SequenceType(t(3, 4), 2)
    uneven = parts_of(5, 2, scalar=True)
    assert isinstance(uneven, SequenceType)
    assert (uneven.length, uneven.items) == (3, (t(2, 4), t(2, 4), t(1, 4)))
    mixed = parts_of(6, 1, 5)
    assert isinstance(mixed, SequenceType)
    assert (mixed.length, mixed.items) == (2, (t(1, 4), t(5, 4)))
    assert isinstance(mixed.elem, TensorType)
    assert mixed.elem.shape is not None
    assert interval(mixed.elem.shape[0]) == (1, 5)
    with_none = parts_of(6, 0, 6)
    assert isinstance(with_none, SequenceType)
    assert isinstance(with_none.elem, TensorType)
    assert with_none.elem.shape is not None
    assert interval(with_none.elem.shape[0]) == (0, 6)
