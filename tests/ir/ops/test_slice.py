"""Slice, Split, Concat."""

from __future__ import annotations

import random

import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.movement.slice import Concat, Slice, Split, sliced_extent
from perfc.ir.symbolic.dim import Poly, interval, substitute, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, Shape, TensorType

N, S = symbol("N"), symbol("S")
LAST = (1 << 63) - 1


def f32(*shape: int | Poly) -> Value:
    return Value("x", TensorType(DType.F32, shape))


def vector(*items: int | Poly | None) -> Value:
    known = None if set(items) == {None} else Known.vector(items)
    return Value("v", TensorType(DType.I64, (len(items),)), known)


def shapes_of(op: Op, *ins: Value | None) -> list[Shape | None]:
    return [t.shape for t in op.infer(ins) if isinstance(t, TensorType)]


def test_forward_slices_are_pythons() -> None:
    rng = random.Random(0)
    for _ in range(2000):
        extent, step = rng.randrange(8), rng.choice([1, 1, 2, 3])
        start, end = rng.randint(-10, 10), rng.randint(-10, 10)
        expected = len(range(extent)[start:end:step])
        assert sliced_extent(extent, start, end, step) == expected


def test_backward_slices_are_pythons_or_bounded() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        extent, step = rng.randrange(8), rng.choice([-1, -2])
        start, end = rng.randint(-10, 10), rng.randint(-10, 10)
        got = sliced_extent(extent, start, end, step)
        ways = {len(range(extent)[start:end:step]), clamped(extent, start, end, step)}
        if len(ways) == 1:
            assert {got} == ways
        else:
            assert start < -extent, "only a start before the axis is open"
            assert interval(got) == (min(ways), max(ways))


def clamped(extent: int, start: int, end: int, step: int) -> int:
    """Positions a step back takes where a start before the axis becomes 0, as ONNX says."""
    if extent == 0:
        return 0
    first = min(max(start + extent if start < 0 else start, 0), extent - 1)
    last = min(max(end + extent if end < 0 else end, -1), extent)
    return len(range(first, last, step))


def test_symbolic_slices_evaluate_to_pythons() -> None:
    rng = random.Random(2)
    for _ in range(1000):
        start, end = rng.randint(-6, 6), rng.randint(-6, 6)
        step = rng.choice([1, 2, -1])
        got = sliced_extent(N, start, end, step)
        for n in range(1, 9):
            if step < 0 and start < 0 and start != -1:
                assert isinstance(got, Poly)
                continue
            assert substitute(got, {"N": n}) == len(range(n)[start:end:step])


def test_slices_to_the_end_stay_simple() -> None:
    assert sliced_extent(N, 0, LAST, 1) == N
    assert sliced_extent(N, 1, LAST, 1) == N - 1
    assert sliced_extent(N, 0, -1, 1) == N - 1
    assert sliced_extent(N, -1, LAST, 1) == 1
    assert sliced_extent(N, -1, -LAST, -1) == N
    assert sliced_extent(N * 4, 0, N, 1) == N


def test_slice_with_unknown_ends_is_bounded() -> None:
    (shape,) = shapes_of(Slice(), f32(10, 4), vector(2), vector(None), vector(0))
    assert shape is not None
    assert shape[1] == 4
    assert interval(shape[0]) == (0, 10)
    (shape,) = shapes_of(Slice(), f32(10), vector(None), vector(3))
    assert shape is not None
    assert interval(shape[0]) == (0, 3)


def test_slice_of_symbolic_content_folds() -> None:
    source = Value("s", TensorType(DType.I64, (4,)), Known.vector((N, 3, None, S)))
    ins = (source, vector(-1), vector(-LAST), vector(0), vector(-2))
    outs = Slice().infer(ins)
    assert Slice().fold(ins, outs) == (Known.vector((S, 3)),)


def test_slice_reads_what_it_yields() -> None:
    ins = (f32(1000, 8), vector(0), vector(2))
    traffic = Slice().traffic(ins, Slice().infer(ins))
    assert (traffic.read_bytes, traffic.write_bytes) == (64, 64)


def test_a_step_of_zero_is_refused() -> None:
    with pytest.raises(ShapeError, match="step"):
        Slice().infer((f32(4), vector(0), vector(1), vector(0), vector(0)))


def test_split_makes_the_last_part_smaller() -> None:
    assert shapes_of(Split(num_outputs=3), f32(7, 2)) == [(3, 2), (3, 2), (1, 2)]
    assert shapes_of(Split(num_outputs=3, axis=-1), f32(1, N * 3)) == [(1, N)] * 3


def test_split_by_sizes_settles_the_one_not_known() -> None:
    got = shapes_of(Split(num_outputs=2), f32(N), vector(2, None))
    assert got == [(2,), (N - 2,)]


def test_split_sizes_must_add_up() -> None:
    with pytest.raises(ShapeError):
        Split(num_outputs=2).infer((f32(7), vector(2, 3)))


def test_split_contents_are_split() -> None:
    source = Value("s", TensorType(DType.I64, (3,)), Known.vector((N, 2, None)))
    ins = (source, vector(1, 2))
    op = Split(num_outputs=2)
    assert op.fold(ins, op.infer(ins)) == (Known.vector((N,)), Known.vector((2, None)))


def test_concat_adds_one_axis_and_agrees_on_the_others() -> None:
    assert shapes_of(Concat(axis=1), f32(N, 3), f32(2, S)) == [(2, S + 3)]
    with pytest.raises(ShapeError):
        Concat(axis=0).infer((f32(1, 2), f32(1, 3)))
    with pytest.raises(ShapeError):
        Concat(axis=0).infer((f32(1, 2), f32(1)))


def test_concat_with_an_unranked_operand_keeps_the_rank() -> None:
    (shape,) = shapes_of(Concat(axis=0), f32(4, 2), Value("u", TensorType(DType.F32, None)))
    assert shape is not None
    assert shape[1] == 2
    assert interval(shape[0]) == (4, None)


def test_concat_keeps_known_elements_beside_unknown_ones() -> None:
    ins = (vector(N), vector(None), vector(-1))
    op = Concat(axis=0)
    assert op.fold(ins, op.infer(ins)) == (Known.vector((N, None, -1)),)
