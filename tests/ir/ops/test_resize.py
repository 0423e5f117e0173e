"""Resize, Upsample, and sampling of images."""

from __future__ import annotations

import pytest

from perfc.ir.graph import Value
from perfc.ir.ops.resampling.resize import Resize, Upsample
from perfc.ir.ops.resampling.sample import (
    AffineGrid,
    CropAndResize,
    GridSample,
    MaxRoiPool,
    RoiAlign,
)
from perfc.ir.symbolic.dim import Poly, interval, symbol
from perfc.ir.tensors.known import Item, Known
from perfc.ir.tensors.types import DType, Shape, TensorType, Type

N, H, W = symbol("N"), symbol("H"), symbol("W")


def f32(*shape: int | Poly) -> Value:
    return Value("x", TensorType(DType.F32, shape))


def vector(dtype: DType, *items: Item) -> Value:
    return Value("v", TensorType(dtype, (len(items),)), Known.vector(items))


def shape_of(type_: Type) -> Shape:
    assert isinstance(type_, TensorType)
    assert type_.shape is not None
    return type_.shape


def single(value: float) -> float:
    import struct

    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


@pytest.mark.parametrize(
    ("extent", "scale", "expected"),
    # single precision decides: 10 * 0.7f is 7, not 6.99…; the others as onnxruntime answers
    [(10, 0.7, 7), (30, 0.7, 21), (29, 0.7, 20), (10, 0.3, 3), (10, 1.1, 11), (3, 1 / 3, 1)],
)
def test_scales_round_in_single_precision(extent: int, scale: float, expected: int) -> None:
    scales = vector(DType.F32, 1.0, single(scale))
    assert shape_of(Resize().infer((f32(1, extent), None, scales))[0]) == (1, expected)


def test_symbolic_extents_scale() -> None:
    scales = vector(DType.F32, 1.0, 1.0, 2.0, 0.5)
    assert shape_of(Upsample().infer((f32(N, 3, H, W), scales))[0]) == (N, 3, H * 2, W // 2)


def test_sizes_hold_on_axes_and_others_stay() -> None:
    op = Resize(axes=(2, 3))
    sizes = vector(DType.I64, 14, None)
    shape = shape_of(op.infer((f32(N, 3, 7, 7), None, None, sizes))[0])
    assert shape[:3] == (N, 3, 14)
    assert isinstance(shape[3], Poly)


@pytest.mark.parametrize(
    ("policy", "sizes", "expected"),
    [
        ("not_larger", (7, 5), (4, 5)),
        ("not_larger", (13, 4), (3, 4)),
        ("not_smaller", (5, 5), (5, 7)),
        ("not_smaller", (3, 9), (7, 9)),
        ("stretch", (3, 9), (3, 9)),
    ],
)
def test_aspect_ratio_policies_are_onnxruntimes(
    policy: str, sizes: tuple[int, int], expected: tuple[int, int]
) -> None:
    op = Resize(axes=(2, 3), keep_aspect_ratio_policy=policy)
    out = op.infer((f32(1, 1, 6, 8), None, None, vector(DType.I64, *sizes)))[0]
    assert shape_of(out) == (1, 1, *expected)


def test_the_first_form_of_resize_has_scales_second() -> None:
    op = Resize(**Resize.adapt({"mode": "linear"}, 10))  # type: ignore[arg-type]
    out = op.infer((f32(1, 3), vector(DType.F32, 1.0, 2.0)))[0]
    assert shape_of(out) == (1, 6)


def test_unknown_scales_leave_the_rank() -> None:
    out = Resize().infer((f32(1, 3), None, Value("s", TensorType(DType.F32, (2,)))))[0]
    assert all(interval(d) == (0, None) for d in shape_of(out))


def test_interpolation_counts_products_and_sums() -> None:
    ins = (f32(1, 2, 4, 4), None, vector(DType.F32, 1.0, 1.0, 2.0, 2.0))
    for mode, operations in (("nearest", 0), ("linear", 7), ("cubic", 31)):
        op = Resize(mode=mode)
        work = op.work(ins, op.infer(ins))
        assert work is not None
        assert work.alu == 2 * 8 * 8 * operations


def test_grid_sampling_follows_the_grid() -> None:
    ins = (f32(N, 3, H, W), f32(N, 5, 6, 2))
    outs = GridSample().infer(ins)
    assert shape_of(outs[0]) == (N, 3, 5, 6)
    work = GridSample().work(ins, outs)
    assert work is not None
    assert work.alu == N * 3 * 30 * 7


def test_affine_grids_have_a_vector_a_point() -> None:
    op = AffineGrid()
    ins = (f32(N, 2, 3), vector(DType.I64, N, 3, 4, 5))
    outs = op.infer(ins)
    assert shape_of(outs[0]) == (N, 4, 5, 2)
    work = op.work(ins, outs)
    assert work is not None
    assert work.mac == N * 20 * 2 * 3


def test_regions_give_patches() -> None:
    x, rois, batch = f32(1, 8, H, W), f32(N, 4), Value("b", TensorType(DType.I64, (N,)))
    align = RoiAlign(output_height=7, output_width=7, sampling_ratio=2)
    outs = align.infer((x, rois, batch))
    assert shape_of(outs[0]) == (N, 8, 7, 7)
    work = align.work((x, rois, batch), outs)
    assert work is not None
    assert work.alu == N * 8 * 49 * 4 * 8
    assert shape_of(MaxRoiPool(pooled_shape=(2, 3)).infer((x, f32(N, 5)))[0]) == (N, 8, 2, 3)
    crop = CropAndResize().infer((x, rois, batch, vector(DType.I64, 4, 6)))[0]
    assert shape_of(crop) == (N, 8, 4, 6)
