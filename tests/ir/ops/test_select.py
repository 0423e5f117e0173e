"""Compress, NonZero, Unique, TopK, NonMaxSuppression."""

from __future__ import annotations

import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.ops.movement.select import Compress, NonMaxSuppression, NonZero, TopK, Unique
from perfc.ir.symbolic.dim import Poly, interval, symbol
from perfc.ir.tensors.known import Item, Known
from perfc.ir.tensors.types import DType, Shape, TensorType, Type

N = symbol("N")


def of(dtype: DType, *shape: int | Poly) -> Value:
    return Value("x", TensorType(dtype, shape))


def known(shape: tuple[int, ...], *items: Item) -> Value:
    return Value("k", TensorType(DType.I64, shape), Known(shape, items))


def shape_of(type_: Type) -> Shape:
    assert isinstance(type_, TensorType)
    assert type_.shape is not None
    return type_.shape


def test_compress_counts_a_known_condition() -> None:
    condition = Value("c", TensorType(DType.BOOL, (3,)), Known.vector((True, False, True)))
    assert shape_of(Compress(axis=1).infer((of(DType.F32, N, 4), condition))[0]) == (N, 2)
    ins = (known((2, 2), 1, 2, 3, 4), condition)
    assert Compress().fold(ins, Compress().infer(ins)) == (Known((2,), (1, 3)),)


def test_compress_of_an_unknown_condition_is_bounded_by_both() -> None:
    shape = shape_of(Compress(axis=0).infer((of(DType.F32, 9, 2), of(DType.BOOL, 5)))[0])
    assert interval(shape[0]) == (0, 5)


def test_non_zero_is_bounded_by_the_elements_and_exact_on_known_ones() -> None:
    rank, found = shape_of(NonZero().infer((of(DType.F32, 3, 4),))[0])
    assert rank == 2
    assert interval(found) == (0, 12)
    ins = (known((2, 2), 0, N, 5, 0),)
    outs = NonZero().infer(ins)
    assert NonZero().fold(ins, outs) == (Known((2, 2), (0, 1, 1, 0)),)


def test_unique_gives_values_places_inverse_and_counts() -> None:
    ins = (known((5,), 3, 1, 3, 2, 1),)
    outs = Unique().infer(ins)
    assert Unique().fold(ins, outs) == (
        Known.vector((1, 2, 3)),
        Known.vector((1, 3, 0)),
        Known.vector((2, 0, 2, 1, 0)),
        Known.vector((2, 1, 2)),
    )
    unsorted = Unique(sorted=0)
    assert unsorted.fold(ins, unsorted.infer(ins))[0] == Known.vector((3, 1, 2))


def test_unique_along_an_axis_compares_slices() -> None:
    ins = (known((3, 2), 1, 2, 0, 0, 1, 2),)
    op = Unique(axis=0)
    outs = op.infer(ins)
    assert shape_of(outs[0]) == (2, 2)
    assert op.fold(ins, outs)[0] == Known((2, 2), (0, 0, 1, 2))


def test_unique_of_unknown_elements_finds_at_least_one() -> None:
    values, _, inverse, counts = (shape_of(t) for t in Unique().infer((of(DType.F32, 4, 5),)))
    assert interval(values[0]) == (1, 20)
    assert inverse == (20,)
    assert counts == values


def test_top_k_takes_k_and_folds_ties_by_position() -> None:
    ins = (known((4,), 5, 9, 9, 1), known((1,), 3))
    outs = TopK().infer(ins)
    assert TopK().fold(ins, outs) == (Known.vector((9, 9, 5)), Known.vector((1, 2, 0)))
    values, _ = TopK(axis=0).infer((of(DType.F32, N, 4), known((1,), N)))
    assert shape_of(values) == (N, 4)


def test_top_k_of_an_unknown_k_is_bounded_and_too_large_a_k_refused() -> None:
    values, _ = TopK().infer((of(DType.F32, 2, 7), of(DType.I64, 1)))
    assert interval(shape_of(values)[1]) == (0, 7)
    with pytest.raises(ShapeError):
        TopK().infer((of(DType.F32, 2, 7), known((1,), 8)))


def test_suppression_keeps_at_most_the_limit_of_each_class() -> None:
    ins = (of(DType.F32, 2, 100, 4), of(DType.F32, 2, 3, 100), known((), 10))
    shape = shape_of(NonMaxSuppression().infer(ins)[0])
    assert interval(shape[0]) == (0, 60)
    assert shape[1] == 3
    none = NonMaxSuppression().infer(ins[:2])[0]
    assert shape_of(none) == (0, 3)


@pytest.mark.parametrize("odd", [float("nan"), None, "text"])
def test_top_k_of_what_has_no_order_is_not_folded(odd: Item) -> None:
    x = Value("x", TensorType(DType.F32, (3,)), Known((3,), (2.0, odd, 1.0)))
    ins = (x, known((1,), 2))
    assert TopK().fold(ins, TopK().infer(ins)) == ()


@pytest.mark.parametrize(("axis", "largest", "where"), [(0, 1, (1, 0, 1)), (0, 0, (0, 1, 0))])
def test_top_k_along_an_axis_takes_each_column_by_itself(
    axis: int, largest: int, where: tuple[int, ...]
) -> None:
    ins = (known((2, 3), 1, 9, 3, 4, 5, 6), known((1,), 1))
    op = TopK(axis=axis, largest=largest)
    columns = ((1, 4), (9, 5), (3, 6))
    values = tuple(column[i] for column, i in zip(columns, where, strict=True))
    assert op.fold(ins, op.infer(ins)) == (Known((1, 3), values), Known((1, 3), where))
