"""Sequences, optionals, and joins of types."""

from __future__ import annotations

import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.control.container import (
    SequenceAt,
    SequenceConstruct,
    SequenceEmpty,
    SequenceErase,
    SequenceInsert,
    SequenceLength,
)
from perfc.ir.ops.control.optional import Optional, OptionalGetElement, OptionalHasElement
from perfc.ir.ops.control.sequence_parts import ConcatFromSequence, SplitToSequence
from perfc.ir.symbolic.dim import Poly, interval, symbol
from perfc.ir.symbolic.fresh import data_extent
from perfc.ir.tensors.join import join
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import UNKNOWN, DType, OptionalType, SequenceType, TensorType, Type

N, M = symbol("N"), symbol("M")


def f32(*shape: int | Poly) -> TensorType:
    return TensorType(DType.F32, shape)


def value(type_: Type) -> Value:
    return Value("x", type_)


def test_join_keeps_what_is_equal_and_bounds_the_rest() -> None:
    joined = join(f32(N, 3, 5), f32(N, 4, 5))
    assert isinstance(joined, TensorType)
    assert joined.shape is not None
    assert joined.shape[0] == N
    assert joined.shape[2] == 5
    assert interval(joined.shape[1]) == (3, 4)


def test_join_with_an_unbounded_extent_is_unbounded() -> None:
    joined = join(f32(data_extent()), f32(4))
    assert isinstance(joined, TensorType)
    assert joined.shape is not None
    assert interval(joined.shape[0]) == (0, None)


def test_join_of_ranks_or_element_types_that_differ() -> None:
    assert join(f32(2), f32(2, 2)) == TensorType(DType.F32, None)
    assert join(f32(2), TensorType(DType.I64, (2,))) is UNKNOWN
    assert join(f32(2), SequenceType(f32(2), 1)) is UNKNOWN
    assert join(TensorType(DType.UNKNOWN, (2,)), f32(2)) == f32(2)


def test_join_of_sequences_forgets_an_empty_ones_elements() -> None:
    empty = SequenceType(TensorType(DType.F32, None), 0)
    joined = join(empty, SequenceType(f32(2), 3))
    assert isinstance(joined, SequenceType)
    assert joined.elem == f32(2)
    assert joined.length is not None
    assert interval(joined.length) == (0, 3)


def test_sequences_count_their_elements() -> None:
    (built,) = SequenceConstruct().infer((value(f32(2)), value(f32(2))))
    assert built == SequenceType(f32(2), 2)
    (longer,) = SequenceInsert().infer((value(built), value(f32(2))))
    assert longer == SequenceType(f32(2), 3)
    (shorter,) = SequenceErase().infer((value(longer),))
    assert shorter == SequenceType(f32(2), 2)
    ins = (value(longer),)
    assert SequenceLength().fold(ins, SequenceLength().infer(ins)) == (Known.scalar(3),)


def test_the_first_insert_decides_the_element_type() -> None:
    (empty,) = SequenceEmpty().infer(())
    assert SequenceInsert().infer((value(empty), value(f32(2, N)))) == (SequenceType(f32(2, N), 1),)


def test_elements_of_a_mixed_sequence_differ_from_each_other() -> None:
    (mixed,) = SequenceConstruct().infer((value(f32(2)), value(f32(5))))
    (one,), (other,) = (SequenceAt().infer((value(mixed), None)) for _ in range(2))
    assert isinstance(one, TensorType)
    assert isinstance(other, TensorType)
    assert one.shape != other.shape
    assert one.shape is not None
    assert interval(one.shape[0]) == (2, 5)


def position(at: int) -> Value:
    return Value("p", TensorType(DType.I64, ()), Known.scalar(at))


def test_a_mixed_sequence_knows_the_element_at_a_position() -> None:
    (mixed,) = SequenceConstruct().infer((value(f32(2)), value(f32(5)), value(f32(N, 3))))
    for at, expected in ((0, f32(2)), (1, f32(5)), (-1, f32(N, 3))):
        assert SequenceAt().infer((value(mixed), position(at))) == (expected,)


def test_inserting_and_erasing_keeps_track_of_where() -> None:
    (mixed,) = SequenceConstruct().infer((value(f32(2)), value(f32(5))))
    (grown,) = SequenceInsert().infer((value(mixed), value(f32(7)), position(1)))
    assert isinstance(grown, SequenceType)
    assert grown.items == (f32(2), f32(7), f32(5))
    (last,) = SequenceInsert().infer((value(mixed), value(f32(7))))
    assert isinstance(last, SequenceType)
    assert last.items == (f32(2), f32(5), f32(7))
    (shrunk,) = SequenceErase().infer((value(grown), position(-1)))
    assert SequenceAt().infer((value(shrunk), position(1))) == (f32(7),)
    (alike,) = SequenceErase().infer((value(mixed),))
    assert alike == SequenceType(f32(2), 1)


def test_a_place_nobody_knows_forgets_the_order() -> None:
    (mixed,) = SequenceConstruct().infer((value(f32(2)), value(f32(5))))
    somewhere = Value("p", TensorType(DType.I64, ()))
    (grown,) = SequenceInsert().infer((value(mixed), value(f32(7)), somewhere))
    assert isinstance(grown, SequenceType)
    assert grown.items is None
    assert grown.length == 3
    (shrunk,) = SequenceErase().infer((value(mixed), somewhere))
    assert isinstance(shrunk, SequenceType)
    assert shrunk.items is None


def test_the_front_of_a_sequence_of_unknown_length_is_known() -> None:
    open_ended = SequenceType(TensorType(DType.F32, None))
    (grown,) = SequenceInsert().infer((value(open_ended), value(f32(7)), position(0)))
    assert SequenceAt().infer((value(grown), position(0))) == (f32(7),)
    assert SequenceAt().infer((value(grown), position(-1))) == (TensorType(DType.F32, None),)
    (later,) = SequenceInsert().infer((value(grown), value(f32(8))))
    assert SequenceAt().infer((value(later), position(0))) == (f32(7),)
    assert SequenceAt().infer((value(later), position(1))) == (TensorType(DType.F32, None),)
    (shorter,) = SequenceErase().infer((value(grown),))
    assert SequenceAt().infer((value(shorter), position(0))) == (TensorType(DType.F32, None),)


def test_join_keeps_the_elements_two_sequences_begin_with() -> None:
    (a,) = SequenceConstruct().infer((value(f32(2)), value(f32(5))))
    (b,) = SequenceConstruct().infer((value(f32(2)), value(f32(6)), value(f32(5))))
    joined = join(a, b)
    assert isinstance(joined, SequenceType)
    assert joined.items == (f32(2),)


def test_only_the_first_elements_are_told_apart() -> None:
    many = [value(f32(i)) for i in range(100)]
    (built,) = SequenceConstruct().infer(tuple(many))
    assert isinstance(built, SequenceType)
    assert built.length == 100
    assert built.items is not None
    assert len(built.items) == 64
    (out,) = ConcatFromSequence().infer((value(built),))
    assert isinstance(out, TensorType)
    assert out.shape is not None
    lo, hi = interval(out.shape[0])
    assert (lo or 0) <= 4950
    assert hi == 9900


def test_concatenating_a_mixed_sequence_adds_up() -> None:
    (mixed,) = SequenceConstruct().infer((value(f32(2, 3)), value(f32(N, 3))))
    assert ConcatFromSequence(axis=0).infer((value(mixed),)) == (f32(N + 2, 3),)
    with pytest.raises(ShapeError, match="2 and 5"):
        ConcatFromSequence(axis=1).infer(
            (value(SequenceType(f32(5, 3), 2, (f32(2, 3), f32(5, 3)))),)
        )


def test_concatenating_elements_nobody_tells_apart_never_multiplies_one_extent() -> None:
    mixed = SequenceType(join(f32(2), f32(5)), 2)
    (out,) = ConcatFromSequence(axis=0).infer((value(mixed),))
    assert isinstance(out, TensorType)
    assert out.shape is not None
    lo, hi = interval(out.shape[0])
    assert lo is not None
    assert lo <= 7
    assert hi == 10


def test_concatenating_and_stacking_equal_elements_is_exact() -> None:
    seq = value(SequenceType(f32(N, 3), M))
    assert ConcatFromSequence(axis=0).infer((seq,)) == (f32(N * M, 3),)
    assert ConcatFromSequence(axis=-1, new_axis=1).infer((seq,)) == (f32(N, 3, M),)


def test_split_to_sequence_by_one_by_parts_and_by_sizes() -> None:
    x = value(f32(N, 6))
    assert SplitToSequence().infer((x,)) == (SequenceType(f32(1, 6), N),)
    assert SplitToSequence(keepdims=0).infer((x,)) == (SequenceType(f32(6), N),)
    by_two = Value("p", TensorType(DType.I64, ()), Known.scalar(2))
    assert SplitToSequence(axis=1).infer((x, by_two)) == (SequenceType(f32(N, 2), 3),)
    sizes = Value("p", TensorType(DType.I64, (2,)), Known.vector((2, 4)))
    (mixed,) = SplitToSequence(axis=1).infer((x, sizes))
    assert isinstance(mixed, SequenceType)
    assert mixed.length == 2
    assert isinstance(mixed.elem, TensorType)
    assert mixed.elem.shape is not None
    assert interval(mixed.elem.shape[1]) == (2, 4)
    assert mixed.items == (f32(N, 2), f32(N, 4))
    by_four = Value("p", TensorType(DType.I64, ()), Known.scalar(4))
    (rest,) = SplitToSequence(axis=1).infer((x, by_four))
    assert isinstance(rest, SequenceType)
    assert rest.items == (f32(N, 4), f32(N, 2))


def test_optionals_wrap_and_unwrap() -> None:
    (wrapped,) = Optional().infer((value(f32(2)),))
    assert wrapped == OptionalType(f32(2))
    assert OptionalGetElement().infer((value(wrapped),)) == (f32(2),)
    assert OptionalGetElement().infer((value(f32(2)),)) == (f32(2),)


def test_whether_an_optional_holds_something_is_known_only_of_what_is_none() -> None:
    op = OptionalHasElement()
    for ins, expected in (((value(f32(2)),), (Known.scalar(True),)), ((), (Known.scalar(False),))):
        assert op.fold(ins, op.infer(ins)) == expected
    unsure = (value(OptionalType(f32(2))),)
    assert op.fold(unsure, op.infer(unsure)) == ()


def stored(values: list[int]) -> Value:
    return Value("v", TensorType(DType.I64, (len(values),)), Known.vector(values))


def contents_after(op: Op, *ins: Value) -> Value:
    """The operator's first result with what is known of it."""
    types = op.infer(ins)
    (content,) = op.fold(ins, types)
    return Value("y", types[0], content)


def test_contents_go_through_sequences() -> None:
    made = contents_after(SequenceConstruct(), stored([2, 3]), stored([5]))
    at = Value("at", TensorType(DType.I64, ()), Known.scalar(1))
    assert contents_after(ConcatFromSequence(axis=0), made).known == Known.vector((2, 3, 5))
    assert contents_after(SequenceAt(), made, at).known == Known.vector((5,))
    erased = contents_after(SequenceErase(), made)
    assert contents_after(ConcatFromSequence(axis=0), erased).known == Known.vector((2, 3))
    grown = contents_after(SequenceInsert(), made, stored([7]), at)
    assert contents_after(ConcatFromSequence(axis=0), grown).known == Known.vector((2, 3, 7, 5))
    same = contents_after(SequenceConstruct(), stored([2, 3]), stored([4, 5]))
    stacked = contents_after(ConcatFromSequence(axis=1, new_axis=1), same).known
    assert stacked == Known((2, 2), (2, 4, 3, 5))
    parts = contents_after(SplitToSequence(keepdims=0), stored([8, 9]))
    assert contents_after(SequenceAt(), parts, at).known == Known.scalar(9)


def test_an_element_of_a_sequence_that_is_not_known_stays_so() -> None:
    mixed = contents_after(SequenceConstruct(), stored([2]), value(TensorType(DType.I64, (1,))))
    assert contents_after(ConcatFromSequence(axis=0), mixed).known == Known.vector((2, None))
    extent = value(TensorType(DType.I64, (N,)))
    open_ = contents_after(SequenceConstruct(), stored([2]), extent)
    types = ConcatFromSequence(axis=0).infer((open_,))
    assert ConcatFromSequence(axis=0).fold((open_,), types) == ()


def test_containers_do_not_nest() -> None:
    inner = value(SequenceType(f32(2), 2))
    with pytest.raises(ShapeError, match="an element of a sequence is a tensor"):
        SequenceConstruct().infer((inner, inner))
    with pytest.raises(ShapeError, match="an element of a sequence is a tensor"):
        SequenceInsert().infer((value(SequenceType(UNKNOWN, 0)), inner))
    with pytest.raises(ShapeError, match="not another optional"):
        Optional().infer((value(OptionalType(f32(2))),))
