"""Quantisation, random tensors, dropout, signals and strings."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.errors import ShapeError
from perfc.frontend.lowering.attributes import build
from perfc.ir.cost import NO_TRAFFIC, Work
from perfc.ir.graph import Value
from perfc.ir.op import ABSENT, Op
from perfc.ir.ops import operator_for
from perfc.ir.ops.classical.signal import DFT, STFT, HannWindow, MelWeightMatrix, log2_floor
from perfc.ir.ops.classical.string import StringNormalizer, StringSplit, TfIdfVectorizer
from perfc.ir.ops.elementwise.random import Dropout, EyeLike, RandomNormalLike
from perfc.ir.ops.quantized.qlinear import QLinearAdd, QLinearConcat, QLinearReduceMean
from perfc.ir.ops.quantized.quantize import DequantizeLinear, DynamicQuantizeLinear, QuantizeLinear
from perfc.ir.ops.quantized.quantized_gather import GatherBlockQuantized
from perfc.ir.symbolic.dim import Dim, interval, symbol
from perfc.ir.tensors.known import Item, Known
from perfc.ir.tensors.types import DType, TensorType

N = symbol("N")


def of(dtype: DType, *shape: Dim) -> Value:
    return Value("x", TensorType(dtype, shape))


def scalar(item: Item, dtype: DType = DType.I64) -> Value:
    return Value("s", TensorType(dtype, ()), Known.scalar(item))


def make(name: str, version: int, **attrs: Any) -> Op:
    cls = operator_for("", name)
    assert cls is not None
    return build(cls, attrs, version, 1).op


def test_quantisation_takes_its_type_from_zero_point_or_attribute() -> None:
    x, scale = of(DType.F32, N, 4), of(DType.F32)
    assert QuantizeLinear().infer((x, scale))[0] == TensorType(DType.U8, (N, 4))
    assert QuantizeLinear().infer((x, scale, of(DType.I4)))[0] == TensorType(DType.I4, (N, 4))
    told = make("QuantizeLinear", 21, output_dtype=3)
    assert told.infer((x, scale))[0] == TensorType(DType.I8, (N, 4))
    unknown = QuantizeLinear().infer((x, scale, of(DType.UNKNOWN)))[0]
    assert unknown == TensorType(DType.UNKNOWN, (N, 4))


def test_dequantisation_takes_its_type_from_the_scale() -> None:
    ins = (of(DType.I8, 6), of(DType.F16))
    outs = DequantizeLinear().infer(ins)
    assert outs == (TensorType(DType.F16, (6,)),)
    assert DequantizeLinear().work(ins, outs) == Work(alu=6)
    assert DequantizeLinear().traffic(ins, outs).nbytes == 6 + 2 + 12


def test_packed_elements_take_half_a_byte() -> None:
    ins = (of(DType.U4, 7), of(DType.F32))
    assert DequantizeLinear().traffic(ins, DequantizeLinear().infer(ins)).read_bytes == 4 + 4


def test_dynamic_quantisation_yields_scale_and_zero_point() -> None:
    assert DynamicQuantizeLinear().infer((of(DType.F32, N),)) == (
        TensorType(DType.U8, (N,)),
        TensorType(DType.F32, ()),
        TensorType(DType.U8, ()),
    )


def test_qlinear_operators_broadcast_and_join() -> None:
    s, z = of(DType.F32), of(DType.I8)
    ins = (of(DType.I8, N, 4), s, z, of(DType.I8, 4), s, z, s, z)
    assert QLinearAdd().infer(ins)[0] == TensorType(DType.I8, (N, 4))
    parts = (s, z, of(DType.I8, 2, 3), s, z, of(DType.I8, 2, N), s, z)
    assert QLinearConcat(axis=1).infer(parts)[0] == TensorType(DType.I8, (2, N + 3))
    mean = QLinearReduceMean(axes=(1,), keepdims=0).infer((of(DType.U8, N, 4), s, z, s, z))
    assert mean[0] == TensorType(DType.I8, (N,))


def test_dropout_is_a_view_in_inference() -> None:
    x = of(DType.F32, N, 8)
    outs = (x.type, ABSENT)
    assert Dropout().infer((x,)) == (x.type, TensorType(DType.BOOL, (N, 8)))
    assert Dropout().traffic((x,), outs) == NO_TRAFFIC
    assert Dropout().traffic((x,), Dropout().infer((x,))).write_bytes == N * 8
    training = (x, scalar(0.5, DType.F32), scalar(True, DType.BOOL))
    assert Dropout().work(training, outs) == Work(alu=N * 16, integer=N * 8)


def test_dropout_passes_contents_only_where_it_cannot_drop() -> None:
    x = Value("x", TensorType(DType.F32, (1,)), Known((1,), (3.0,)))
    outs = Dropout().infer((x,))
    assert Dropout().fold((x,), outs) == (x.known,)
    assert Dropout().fold((x, None, scalar(False, DType.BOOL)), outs) == (x.known,)
    assert Dropout().fold((x, None, of(DType.BOOL)), outs) == ()


def test_the_mask_of_old_dropout_has_the_type_of_the_data() -> None:
    assert make("Dropout", 7).infer((of(DType.F16, 2),))[1] == TensorType(DType.F16, (2,))
    assert make("Dropout", 10).infer((of(DType.F16, 2),))[1] == TensorType(DType.BOOL, (2,))


def test_random_tensors_are_only_written() -> None:
    x = of(DType.F16, 10)
    outs = RandomNormalLike().infer((x,))
    assert outs == (x.type,)
    assert RandomNormalLike().traffic((x,), outs).read_bytes == 0
    assert make("RandomUniform", 22, shape=(2, 3), dtype=11).infer(())[0] == (
        TensorType(DType.F64, (2, 3))
    )
    assert make("Multinomial", 22, sample_size=4).infer((of(DType.F32, N, 9),))[0] == (
        TensorType(DType.I32, (N, 4))
    )


def test_eye_like_has_ones_on_its_diagonal() -> None:
    x = of(DType.I32, 2, 3)
    assert EyeLike(k=1).fold((x,), EyeLike().infer((x,))) == (Known((2, 3), (0, 1, 0, 0, 0, 1)),)


def test_fourier_transforms_know_their_bins() -> None:
    x = of(DType.F32, N, 160, 1)
    assert DFT(onesided=1).infer((x,))[0] == TensorType(DType.F32, (N, 81, 2))
    assert DFT().infer((x, scalar(64)))[0] == TensorType(DType.F32, (N, 64, 2))
    half = of(DType.F32, N, 81, 2)
    assert DFT(onesided=1, inverse=1).infer((half,))[0] == TensorType(DType.F32, (N, 160, 1))
    with pytest.raises(ShapeError):
        DFT().infer((x, None, scalar(-1)))
    old = build(DFT, {}, 17, 1)
    assert [c.known for _, c in old.extra_inputs] == [Known.scalar(1)]


def test_a_transform_of_length_1024_is_ten_stages() -> None:
    ins = (of(DType.F32, 3, 1024, 2),)
    assert DFT().work(ins, DFT().infer(ins)) == Work(alu=3 * 5 * 1024 * 10)
    assert log2_floor(N) == 0
    assert log2_floor(symbol("L", 512)) == 9


def test_short_time_transforms_slide_over_the_signal() -> None:
    signal = of(DType.F32, 1, 16000, 1)
    ins = (signal, scalar(160), of(DType.F32, 400))
    assert STFT().infer(ins)[0] == TensorType(DType.F32, (1, 98, 201, 2))
    unknown = STFT().infer((signal, of(DType.I64), None, scalar(256)))[0]
    assert isinstance(unknown, TensorType)
    assert unknown.shape is not None
    assert unknown.shape[2:] == (129, 2)


def test_windows_and_filter_banks_have_the_extents_they_are_given() -> None:
    assert HannWindow().infer((scalar(N),))[0] == TensorType(DType.F32, (N,))
    mel = MelWeightMatrix().infer((scalar(80), scalar(400)))[0]
    assert mel == TensorType(DType.F32, (201, 80))


def test_strings_bound_what_depends_on_their_text() -> None:
    split, pieces = StringSplit(maxsplit=2).infer((of(DType.STR, N),))
    assert pieces == TensorType(DType.I64, (N,))
    assert isinstance(split, TensorType)
    assert split.shape is not None
    assert interval(split.shape[1]) == (0, 3)
    stay = StringNormalizer(stopwords=("a",)).infer((of(DType.STR, 1, 5),))[0]
    assert isinstance(stay, TensorType)
    assert stay.shape is not None
    assert interval(stay.shape[1]) == (1, 5)
    grams = TfIdfVectorizer(ngram_indexes=(0, 4, 2)).infer((of(DType.I64, N, 9),))[0]
    assert grams == TensorType(DType.F32, (N, 5))


def test_a_quantised_look_up_unpacks_and_reads_only_rows() -> None:
    table, scales = of(DType.U8, 50000, 64), of(DType.F16, 50000, 8)
    ins = (table, of(DType.I64, 1, N), scales)
    op = GatherBlockQuantized(block_size=16)
    outs = op.infer(ins)
    assert outs == (TensorType(DType.F16, (1, N, 128)),)
    four = (table, of(DType.I64, 4), scales)
    assert op.traffic(four, op.infer(four)).read_bytes == 4 * 8 + 4 * 64 + 4 * 8 * 2
