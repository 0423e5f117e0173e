"""Reshape, Flatten, Squeeze, Unsqueeze, Identity."""

from __future__ import annotations

import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.movement.view import Flatten, Identity, Reshape, Squeeze, Unsqueeze
from perfc.ir.symbolic.dim import Poly, interval, substitute, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, SequenceType, Shape, TensorType

N, S = symbol("N"), symbol("S")


def f32(*shape: int | Poly) -> Value:
    return Value("x", TensorType(DType.F32, shape))


def vector(*items: int | Poly | None) -> Value:
    known = None if set(items) == {None} else Known.vector(items)
    return Value("v", TensorType(DType.I64, (len(items),)), known)


def shape_of(op: Op, *ins: Value | None) -> Shape | None:
    out = op.infer(ins)[0]
    assert isinstance(out, TensorType)
    return out.shape


def test_reshape_divides_symbolic_element_counts_exactly() -> None:
    assert shape_of(Reshape(), f32(N, S, 768), vector(0, -1, 12, 64)) == (N, S, 12, 64)
    assert shape_of(Reshape(), f32(N, 12, S, 64), vector(N * 12, S, -1)) == (N * 12, S, 64)


def test_reshape_zero_copies_unless_allowzero() -> None:
    assert shape_of(Reshape(), f32(2, 3), vector(0, 3)) == (2, 3)
    assert shape_of(Reshape(allowzero=1), f32(0, 3), vector(3, 0)) == (3, 0)


def test_reshape_to_a_scalar_has_rank_zero() -> None:
    assert shape_of(Reshape(), f32(1, 1), vector()) == ()


def test_reshape_settles_the_only_unknown_extent_by_element_count() -> None:
    assert shape_of(Reshape(), f32(N, 6), vector(None, 3)) == (N * 2, 3)


def test_reshape_of_unknown_content_keeps_rank_and_bounds_extents() -> None:
    shape = shape_of(Reshape(), f32(4, 6), vector(None, None, None))
    assert shape is not None
    assert len(shape) == 3
    assert all(interval(d) == (1, 24) for d in shape)


def test_reshape_of_inexact_quotient_evaluates_to_the_truth() -> None:
    half = N // 2
    shape = shape_of(Reshape(), f32(N, 6), vector(half, -1))
    assert shape is not None
    assert substitute(shape[1], {"N": 8}) == 12


@pytest.mark.parametrize("wanted", [(5, -1), (4, 4), (-1, -1)])
def test_reshape_that_cannot_hold_the_elements_is_refused(wanted: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError):
        Reshape().infer((f32(3, 4), vector(*wanted)))


def test_reshape_of_unranked_data_knows_what_the_shape_says() -> None:
    data = Value("x", TensorType(DType.F32, None))
    shape = shape_of(Reshape(), data, vector(2, 0, -1))
    assert shape is not None
    assert shape[0] == 2
    assert len(shape) == 3


def test_flatten_multiplies_both_sides() -> None:
    assert shape_of(Flatten(), f32(N, 3, S)) == (N, S * 3)
    assert shape_of(Flatten(axis=-1), f32(2, 3, 4)) == (6, 4)
    assert shape_of(Flatten(axis=0), f32(2, 3)) == (1, 6)
    assert shape_of(Flatten(axis=0), f32()) == (1, 1)


def test_squeeze_without_axes_drops_only_what_must_be_one() -> None:
    assert shape_of(Squeeze(), f32(1, 3, 1)) == (3,)
    assert shape_of(Squeeze(), f32(1, symbol("M", 2))) == (symbol("M", 2),)
    assert shape_of(Squeeze(), f32(1, N)) is None


def test_squeeze_refuses_an_axis_that_is_not_one() -> None:
    with pytest.raises(ShapeError, match="extent 3"):
        Squeeze().infer((f32(1, 3), vector(1)))


def test_squeeze_takes_an_axis_that_is_named_twice() -> None:
    assert shape_of(Squeeze(), f32(1, 1, 3), vector(0, -3)) == (1, 3)
    at_run_time = Value("axes", TensorType(DType.I64, (2,)))
    assert shape_of(Squeeze(), f32(1, 1, 3), at_run_time) is None


def test_unsqueeze_counts_axes_in_the_result() -> None:
    assert shape_of(Unsqueeze(), f32(3, 4), vector(0, -1)) == (1, 3, 4, 1)
    with pytest.raises(ShapeError):
        Unsqueeze().infer((f32(3), vector(0, 0)))


def test_views_move_nothing_and_keep_contents() -> None:
    source = Value("s", TensorType(DType.I64, (2,)), Known.vector((N, 7)))
    ins = (source, vector(2, 1))
    outs = Reshape().infer(ins)
    assert Reshape().fold(ins, outs) == (Known((2, 1), (N, 7)),)
    assert Reshape().traffic(ins, outs).nbytes == 0


def test_identity_hands_on_any_type() -> None:
    type_ = SequenceType(TensorType(DType.F32, (2,)), 3)
    assert Identity().infer((Value("s", type_),)) == (type_,)
