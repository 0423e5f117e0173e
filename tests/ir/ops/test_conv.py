"""Convolutions and pools: extents, layouts, work, and bytes that no window reads."""

from __future__ import annotations

import pytest

from perfc.errors import ShapeError
from perfc.ir.cost import Work
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.convolution.conv import Conv, DeformConv, FusedConv, NhwcConv
from perfc.ir.ops.convolution.conv_transpose import ConvTranspose
from perfc.ir.ops.convolution.global_pool import GlobalAveragePool, QLinearGlobalAveragePool
from perfc.ir.ops.convolution.pool import AveragePool, LpPool, MaxPool, MaxUnpool
from perfc.ir.ops.quantized.quantized_conv import ConvInteger, QLinearConv
from perfc.ir.ops.recurrent.causal_conv import CausalConvWithState
from perfc.ir.symbolic.dim import Dim, interval, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType

N, H, W = symbol("N"), symbol("H"), symbol("W")


def value(*shape: Dim, dtype: DType = DType.F32) -> Value:
    return Value("x", TensorType(dtype, shape))


def shape(op: Op, *ins: Value | None) -> str:
    return str(op.infer(ins)[0])


def work(op: Op, *ins: Value | None) -> Work:
    found = op.work(ins, op.infer(ins))
    assert found is not None
    return found


def test_the_stem_of_resnet() -> None:
    op = Conv(strides=(2, 2), pads=(3, 3, 3, 3))
    x, w = value(N, 3, 224, 224), value(64, 3, 7, 7)
    assert shape(op, x, w) == "f32[N, 64, 112, 112]"
    assert work(op, x, w) == Work(mac=N * (64 * 112 * 112 * 3 * 7 * 7))
    assert work(op, x, w, value(64)).alu == N * (64 * 112 * 112)


def test_symbolic_extents_stay_formulas() -> None:
    op = Conv(strides=(2, 1), pads=(1, 1, 1, 1), dilations=(1, 2))
    assert shape(op, value(1, 3, H, W), value(8, 3, 3, 3)) == "f32[1, 8, ((H + 1)//2), W - 2]"


def test_groups_divide_the_macs_and_depthwise_ones_are_macs() -> None:
    x, w = value(1, 32, 8, 8), value(32, 1, 3, 3)
    op = Conv(group=32, auto_pad="SAME_UPPER")
    assert work(op, x, w).mac == 32 * 8 * 8 * 9


def test_one_axis_and_three() -> None:
    assert shape(Conv(), value(1, 4, W), value(8, 4, 3)) == "f32[1, 8, W - 2]"
    x, w = value(1, 4, 5, 6, 7), value(8, 2, 1, 2, 3)
    assert shape(Conv(group=2), x, w) == "f32[1, 8, 5, 5, 5]"
    assert work(Conv(group=2), x, w).mac == 8 * 5 * 5 * 5 * 2 * 1 * 2 * 3


def test_an_unknown_input_still_has_the_rank_of_its_filters() -> None:
    x = Value("x", TensorType(DType.F32, None))
    (out,) = Conv().infer((x, value(8, 3, 3, 3)))
    assert isinstance(out, TensorType)
    assert out.shape is not None
    assert (len(out.shape), out.shape[1]) == (4, 8)


def test_a_strided_pointwise_convolution_reads_a_quarter() -> None:
    op, ins = Conv(strides=(2, 2)), (value(1, 64, 56, 56), value(128, 64, 1, 1))
    traffic = op.traffic(ins, op.infer(ins))
    assert traffic.read_bytes == 4 * (64 * 28 * 28 + 128 * 64)
    assert traffic.write_bytes == 4 * 128 * 28 * 28


def test_fused_additions_and_activations_are_counted() -> None:
    ins = (value(1, 3, 8, 8), value(4, 3, 1, 1), value(4), value(1, 4, 8, 8))
    assert work(FusedConv(activation="Relu"), *ins).alu == 3 * 4 * 8 * 8


def test_channels_last() -> None:
    x, w = value(1, 9, 8, 3), value(4, 3, 3, 3)
    assert shape(NhwcConv(), x, w) == "f32[1, 7, 6, 4]"
    assert work(NhwcConv(), x, w).mac == 7 * 6 * 4 * 3 * 9


def test_quantised_convolutions() -> None:
    x, w = value(1, 3, 8, 8, dtype=DType.U8), value(4, 3, 3, 3, dtype=DType.I8)
    f, z = value(), value(dtype=DType.U8)
    assert shape(ConvInteger(), x, w) == "i32[1, 4, 6, 6]"
    assert work(ConvInteger(), x, w) == Work(mac=4 * 36 * 27, dtype=DType.I8)
    assert shape(QLinearConv(), x, f, z, w, f, z, f, z) == "u8[1, 4, 6, 6]"


def test_deformable_convolution_samples_each_tap_once() -> None:
    ins = (value(1, 2, 5, 5), value(4, 2, 3, 3), value(1, 18, 3, 3))
    found = work(DeformConv(), *ins)
    assert found == Work(mac=4 * 9 * 2 * 9, alu=2 * 9 * 9 * (4 + 4 + 3))


def test_transposed_convolutions() -> None:
    x, w = value(N, 8, H, 7), value(8, 4, 3, 3)
    op = ConvTranspose(strides=(2, 2), pads=(1, 1, 1, 1), output_padding=(1, 1), group=2)
    assert shape(op, x, w) == "f32[N, 8, 2*H, 14]"
    assert work(op, x, w).mac == N * H * (8 * 7 * 4 * 9)
    assert shape(ConvTranspose(strides=(2, 2), auto_pad="SAME_LOWER"), x, w) == "f32[N, 4, 2*H, 14]"
    assert shape(ConvTranspose(output_shape=(9, 9)), x, w) == "f32[N, 4, 9, 9]"
    with pytest.raises(ShapeError, match=r"output_shape states extents \[-1, 9\]"):
        shape(ConvTranspose(output_shape=(-1, 9)), x, w)


def test_causal_convolutions_hand_on_their_last_inputs() -> None:
    ins = (value(N, 6, W), value(6, 1, 4), value(6))
    op = CausalConvWithState(activation="silu")
    assert [str(t) for t in op.infer(ins)] == ["f32[N, 6, W]", "f32[N, 6, 3]"]
    assert work(op, *ins) == Work(N * W * 6 * 4, N * W * (6 * 4), N * W * (6 * 2))


def test_pools_reduce_each_window() -> None:
    op = MaxPool(kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    x = value(N, 64, 112, 112)
    assert [str(t) for t in op.infer((x,))] == ["f32[N, 64, 56, 56]", "i64[N, 64, 56, 56]"]
    assert work(op, x).alu == N * (64 * 56 * 56 * 8)
    assert work(AveragePool(kernel_shape=(2, 2)), value(1, 1, 3, 3)).alu == 4 * 4
    assert work(LpPool(kernel_shape=(2, 2)), value(1, 1, 3, 3)) == Work(alu=4 * 8, sfu=4)


def test_a_ceiling_window_may_not_start_in_the_pad() -> None:
    op = MaxPool(kernel_shape=(1,), strides=(2,), ceil_mode=1)
    assert shape(op, value(1, 1, 2)) == "f32[1, 1, 1]"
    assert shape(MaxPool(kernel_shape=(2,), strides=(2,), ceil_mode=1), value(1, 1, 5)).endswith(
        "3]"
    )


def test_dilated_same_pools_are_bounded_by_both_implementations() -> None:
    op = AveragePool(kernel_shape=(2,), dilations=(2,), auto_pad="SAME_UPPER")
    (out,) = op.infer((value(1, 1, 8),))
    assert isinstance(out, TensorType)
    assert out.shape is not None
    assert interval(out.shape[2]) == (7, 8)


def test_pools_skip_what_lies_between_their_windows() -> None:
    op, ins = AveragePool(kernel_shape=(1, 1), strides=(2, 2)), (value(1, 1, 8, 8),)
    assert op.traffic(ins, op.infer(ins)).read_bytes == 4 * 4 * 4


def test_global_pools() -> None:
    assert shape(GlobalAveragePool(), value(N, 8, H, W)) == "f32[N, 8, 1, 1]"
    assert work(GlobalAveragePool(), value(N, 8, H, W)).alu == N * 8 * H * W
    last = QLinearGlobalAveragePool(channels_last=1)
    assert shape(last, value(1, 7, 7, 8, dtype=DType.U8)) == "u8[1, 1, 1, 8]"


def test_unpooling_inverts_the_extent_or_takes_the_one_given() -> None:
    op, x = MaxUnpool(kernel_shape=(2, 2), strides=(2, 2)), value(1, 1, H, 2)
    assert shape(op, x, x) == "f32[1, 1, 2*H, 4]"
    wanted = Value("s", TensorType(DType.I64, (4,)), Known.vector([1, 1, 5, 5]))
    assert shape(op, x, x, wanted) == "f32[1, 1, 5, 5]"
