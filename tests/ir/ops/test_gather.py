"""Gather, GatherElements, GatherND, OneHot, and scattering."""

from __future__ import annotations

import pytest

from perfc.errors import ShapeError
from perfc.ir.graph import Value
from perfc.ir.ops.movement.gather import Gather, GatherElements, GatherND, OneHot
from perfc.ir.ops.movement.scatter import ScatterElements, ScatterND, TensorScatter
from perfc.ir.symbolic.dim import Poly, interval, symbol
from perfc.ir.tensors.known import Item, Known
from perfc.ir.tensors.types import DType, TensorType

N, S = symbol("N"), symbol("S")


def of(dtype: DType, *shape: int | Poly) -> Value:
    return Value("x", TensorType(dtype, shape))


def known(shape: tuple[int, ...], *items: Item) -> Value:
    return Value("k", TensorType(DType.I64, shape), Known(shape, items))


def test_gather_reads_rows_and_not_the_table() -> None:
    ins = (of(DType.F32, 50000, 768), of(DType.I64, 2, 16))
    outs = Gather().infer(ins)
    assert outs == (TensorType(DType.F32, (2, 16, 768)),)
    traffic = Gather().traffic(ins, outs)
    assert traffic.read_bytes == 32 * 768 * 4 + 32 * 8
    assert traffic.write_bytes == 32 * 768 * 4


def test_gather_reads_a_small_table_once() -> None:
    ins = (of(DType.F32, 4, 8), of(DType.I64, 1000))
    traffic = Gather().traffic(ins, Gather().infer(ins))
    assert traffic.read_bytes == 4 * 8 * 4 + 8000


def test_gather_of_symbolic_content_folds_with_negative_and_unknown_indices() -> None:
    ins = (known((3,), N, 4, S), known((3,), -1, None, 0))
    assert Gather().fold(ins, Gather().infer(ins)) == (Known((3,), (S, None, N)),)
    scalar = (known((3,), N, 4, S), known((), 1))
    assert Gather().fold(scalar, Gather().infer(scalar)) == (Known((), (4,)),)


def test_gather_elements_has_the_shape_of_the_indices() -> None:
    op = GatherElements(axis=1)
    assert op.infer((of(DType.F16, 3, N), of(DType.I64, 2, S))) == (TensorType(DType.F16, (2, S)),)
    with pytest.raises(ShapeError):
        op.infer((of(DType.F16, 3), of(DType.I64, 2, 2)))


def test_gather_nd_takes_slices_after_the_batch() -> None:
    op = GatherND(batch_dims=1)
    out = op.infer((of(DType.F32, N, 5, 6), of(DType.I64, N, S, 1)))[0]
    assert out == TensorType(DType.F32, (N, S, 6))
    with pytest.raises(ShapeError):
        GatherND().infer((of(DType.F32, 2), of(DType.I64, 3, 2)))


def test_one_hot_puts_the_axis_in() -> None:
    ins = (known((2,), 1, -1), known((), 3), known((2,), 0, 5))
    op = OneHot(axis=0)
    outs = op.infer(ins)
    assert outs == (TensorType(DType.I64, (3, 2)),)
    assert op.fold(ins, outs) == (Known((3, 2), (0, 0, 5, 0, 0, 5)),)


def test_one_hot_of_unknown_depth_is_data_dependent() -> None:
    out = OneHot().infer((of(DType.I64, N), of(DType.I64), of(DType.F32, 2)))[0]
    assert isinstance(out, TensorType)
    assert out.shape is not None
    assert out.shape[0] == N
    assert interval(out.shape[1]) == (0, None)


def test_scatter_folds_with_reductions() -> None:
    data, index = known((4,), 1, 2, N, 4), known((2,), -1, 0)
    op = ScatterElements(reduction="add")
    ins = (data, index, known((2,), 10, S))
    assert op.fold(ins, op.infer(ins)) == (Known((4,), (S + 1, 2, N, 14)),)
    nd = ScatterND()
    ins = (data, known((1, 1), 2), known((1,), 7))
    assert nd.fold(ins, nd.infer(ins)) == (Known((4,), (1, 2, 7, 4)),)


def test_scatter_copies_data_and_counts_reductions() -> None:
    ins = (of(DType.F32, 100), of(DType.I64, 5, 1), of(DType.F32, 5))
    op = ScatterND(reduction="add")
    outs = op.infer(ins)
    traffic = op.traffic(ins, outs)
    assert (traffic.read_bytes, traffic.write_bytes) == (400 + 40 + 20, 400)
    work = op.work(ins, outs)
    assert work is not None
    assert work.alu == 5


def test_a_cache_update_touches_only_the_update() -> None:
    ins = (of(DType.F16, N, 8, 4096, 64), of(DType.F16, N, 8, 1, 64), of(DType.I64, N))
    op = TensorScatter()
    outs = op.infer(ins)
    assert outs == (ins[0].type,)
    traffic = op.traffic(ins, outs)
    assert traffic.write_bytes == N * 8 * 64 * 2
    assert traffic.read_bytes == N * 8 * 64 * 2 + N * 8
