"""Classes of kernels that are equally efficient, with their quantities: a table checked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.analyzers.estimators.laws.processor_classes import (
    FAR_BYTES,
    NEAR_BYTES,
    Term,
    classify,
    padded,
    traffic,
)
from perfc.analyzers.estimators.subject import (
    LONGEST_OP,
    MOST_OPERANDS,
    KernelSubject,
    LaunchAmounts,
    Operand,
    of_texts,
    operands,
    parse_types,
    types,
)
from perfc.ir import Numbers
from perfc.ir.graph import Value
from perfc.ir.symbolic.dim import symbol
from perfc.ir.tensors.types import UNKNOWN, DType, TensorType


def subject(
    kind: str, op: str, read: str, written: str, mac: float = 0.0, **more: Any
) -> KernelSubject:
    """A kernel of one launch with five special functions; its bytes are those of its tensors."""
    read_bytes, write_bytes = (
        float(sum(o.nbytes for o in parse_types(text) if o is not None)) for text in (read, written)
    )
    amounts = LaunchAmounts(1.0, mac, 5.0, read_bytes, write_bytes)
    name = op.split()[0].title()
    return of_texts(kind, op, name, 0, more.get("dtype", "f32"), read, written, amounts)


KERNELS = [
    (
        "conv",
        "conv",
        "f32[2,32,10,10] f32[64,32,3,3]w",
        "f32[2,64,8,8]",
        2359296,
        "conv.direct",
        "byte 58368, weight_byte 73728, mac 2.3593e+06, store_byte 65536, row 32",
    ),
    (
        "conv",
        "conv",
        "f32[2,30,10,10] f32[60,30,3,3]w",
        "f32[2,60,8,8]",
        2073600,
        "conv.plain",
        "byte 54720, weight_byte 64800, mac 2.0736e+06, store_byte 138240",
    ),
    (
        "conv",
        "conv",
        "f32[2,3,10,10] f32[60,3,3,3]w",
        "f32[2,60,8,8]",
        207360,
        "conv.first",
        "byte 33120, weight_byte 6480, mac 221184, row 64",
    ),
    (
        "conv",
        "conv",
        "f32[2,32,1,1] f32[64,32,1,1]w",
        "f32[2,64,1,1]",
        4096,
        "conv.vector",
        "byte 768, weight_byte 8192, mac 4096",
    ),
    (
        "conv",
        "conv",
        "f32[2,256,8,8] f32[60,256,1,1]w",
        "f32[2,60,8,8]",
        1966080,
        "conv.pointwise",
        "byte 161792, weight_byte 61440, mac 2.09715e+06, store_byte 32768",
    ),
    (
        "conv",
        "conv strides=[2, 2]",
        "f32[2,256,8,8] f32[60,256,1,1]w",
        "f32[2,60,4,4]",
        491520,
        "conv.pointwise.strided",
        "byte 138752, weight_byte 61440, mac 524288, store_byte 8192",
    ),
    (
        "conv",
        "conv group=32",
        "f32[2,32,10,10] f32[32,1,3,3]w",
        "f32[2,32,8,8]",
        36864,
        "conv.depthwise.3",
        "byte 41984, weight_byte 1152, mac 36864, row 32",
    ),
    (
        "conv",
        "conv group=30",
        "f32[2,30,10,10] f32[30,1,3,3]w",
        "f32[2,30,8,8]",
        34560,
        "conv.depthwise.plain",
        "byte 39360, weight_byte 1080, mac 34560, row 480",
    ),
    (
        "conv",
        "conv group=2",
        "f32[2,32,10,10] f32[64,16,3,3]w",
        "f32[2,64,8,8]",
        1179648,
        "conv.grouped",
        "byte 58368, weight_byte 36864, mac 1.17965e+06, row 32, store_byte 32768",
    ),
    (
        "conv",
        "conv group=2",
        "f32[2,24,10,10] f32[20,12,3,3]w",
        "f32[2,20,8,8]",
        276480,
        "conv.narrow",
        "byte 29440, weight_byte 8640, mac 331776, row 4, store_byte 110592",
    ),
    (
        "conv",
        "conv",
        "f32[2,32,10] f32[64,32,3]w",
        "f32[2,64,8]",
        98304,
        "conv.1d",
        "byte 6656, weight_byte 24576, mac 98304",
    ),
    (
        "conv",
        "conv_transpose",
        "f32[2,32,8,8] f32[32,64,3,3]w",
        "f32[2,64,10,10]",
        2359296,
        "conv.transposed",
        "mac 2.3593e+06, byte 141312",
    ),
    ("conv", "conv", "f32[2,32,8,8]", "f32[2,64,8,8]", 100, "conv", "mac 100, byte 49152"),
    (
        "matmul",
        "matmul",
        "f32[8,64] f32[64,30]w",
        "f32[8,30]",
        15360,
        "gemm.stored",
        "mac 16384, weight_byte 7680, store_byte 960, row 1, byte 3008",
    ),
    (
        "matmul",
        "matmul",
        "f32[3,64] f32[64,30]w",
        "f32[3,30]",
        5760,
        "gemm.stored.vector",
        "mac 6144, weight_byte 7680, store_byte 360, row 1, byte 1128",
    ),
    (
        "matmul",
        "matmul",
        "f32[4,5,512] f32[4,512,32]",
        "f32[4,5,32]",
        327680,
        "gemm.dynamic",
        "mac 327680, weight_byte 262144, store_byte 5120, row 4, byte 43520",
    ),
    (
        "matmul",
        "matmul",
        "f32[4,5,512] f32[512,32]w",
        "f32[4,5,32]",
        327680,
        "gemm.stored",
        "mac 327680, weight_byte 65536, store_byte 5120, row 1, byte 43520",
    ),
    ("matmul", "matmul", "f32[8,64]", "f32[8,30]", 77, "gemm", "mac 77, byte 3008"),
    (
        "elementwise",
        "relu",
        "f32[4,8]",
        "f32[4,8]",
        0,
        "elementwise.Relu.same",
        "element 32, special 5, byte 256",
    ),
    (
        "elementwise",
        "add",
        "f32[4,8] f32[8]",
        "f32[4,8]",
        0,
        "elementwise.Add.vector",
        "element 32, special 5, row 4, byte 288",
    ),
    (
        "elementwise",
        "add",
        "f32[4,8] f32[4,1]",
        "f32[4,8]",
        0,
        "elementwise.Add.scalar",
        "element 32, special 5, row 4, byte 272",
    ),
    (
        "softmax",
        "softmax",
        "f32[4,8]",
        "f32[4,8]",
        0,
        "softmax.Softmax",
        "element 32, row 4, byte 256",
    ),
    (
        "normalization",
        "layer_norm",
        "f32[4,8] f32[8]w f32[8]w",
        "f32[4,8]",
        0,
        "normalization.Layer_Norm",
        "element 32, row 4, byte 320",
    ),
    (
        "reduction",
        "reduce_mean",
        "f32[4,8]",
        "f32[4,1]",
        0,
        "reduction.Reduce_Mean.kr",
        "element 32, row 4, byte 144",
    ),
    (
        "pool",
        "max_pool kernel_shape=[3, 3]",
        "f32[1,4,8,8]",
        "f32[1,4,6,6]",
        0,
        "pool.max_pool.plain",
        "element 1296, byte 1600, row 24, store_byte 576",
    ),
    (
        "pool",
        "max_pool kernel_shape=[3, 3]",
        "f32[1,16,8,8]",
        "f32[1,16,6,6]",
        0,
        "pool.max_pool",
        "element 5184, byte 6400, row 6, store_byte 2304",
    ),
    (
        "normalization",
        "batch_norm_grad",
        "f32[8,16,2,2] f32[8,16,2,2]",
        "f32[8,16,2,2]",
        0,
        "batch_norm_grad.normalization.Batch_Norm_Grad.short",
        "element 512, row 128, byte 6144",
    ),
    (
        "matmul",
        "gemm",
        "f32[64,128] f32[128,4194304]",
        "f32[64,4194304]",
        34359738368,
        "gemm.shared",
        "mac 3.43597e+10, weight_byte 2.14748e+09, store_byte 1.07374e+09, row 1, "
        "byte 1.07377e+09, mid_byte 1.07273e+09, far_byte 1.057e+09, mapped_byte 1.07374e+09",
    ),
    (
        "pool",
        "global_average_pool",
        "f32[1,4,8,8]",
        "f32[1,4,1,1]",
        0,
        "pool.global_average_pool.plain",
        "element 256, byte 1040, row 4, store_byte 16",
    ),
    (
        "pool",
        'resize mode="linear"',
        "f32[1,4,8,8]",
        "f32[1,4,16,16]",
        0,
        "pool.resize.linear",
        "element 1024, byte 5120",
    ),
    (
        "movement",
        "transpose perm=[0, 2, 1]",
        "f32[2,3,4]",
        "f32[2,4,3]",
        0,
        "movement.Transpose.021.rank3",
        "element 24, byte 192, row 24",
    ),
    (
        "movement",
        "transpose perm=[1, 0, 2]",
        "f32[2,3,4]",
        "f32[3,2,4]",
        0,
        "movement.Transpose.102.rank3",
        "element 24, byte 192, row 6",
    ),
    (
        "movement",
        "transpose",
        "f32[3,4]",
        "f32[4,3]",
        0,
        "movement.Transpose.10.rank2",
        "element 12, byte 96, row 12",
    ),
    (
        "movement",
        "slice",
        "f32[2,8,4]",
        "f32[2,3,4]",
        0,
        "movement.Slice",
        "element 24, byte 352, row 2",
    ),
    (
        "movement",
        "concat",
        "f32[2,3,4] f32[2,3,4]",
        "f32[2,6,4]",
        0,
        "movement.Concat",
        "element 48, byte 384, row 4",
    ),
    (
        "movement",
        "expand",
        "f32[2,1,4]",
        "f32[2,5,4]",
        0,
        "movement.Expand",
        "element 40, byte 192, row 10",
    ),
    ("movement", "pad", "f32[2,3]", "f32[2,3]", 0, "movement.Pad", "element 6, byte 48, row 1"),
    (
        "movement",
        "reshape",
        "f32[6]",
        "f32[2,3]",
        0,
        "movement.Reshape",
        "element 6, byte 48, row 2",
    ),
    (
        "gather",
        "gather",
        "f32[50,8] i64[3]",
        "f32[3,8]",
        0,
        "gather.Gather",
        "element 24, byte 1720, row 3",
    ),
    ("signal", "dft", "f32[4,8]", "f32[4,8]", 9, "signal.Dft", "element 32, mac 9, byte 256"),
]


@pytest.mark.parametrize(("kind", "op", "read", "written", "mac", "name", "quantities"), KERNELS)
def test_a_kernel_has_its_class_and_quantities(
    kind: str, op: str, read: str, written: str, mac: float, name: str, quantities: str
) -> None:
    found = classify(subject(kind, op, read, written, float(mac)))
    assert found.names[0] == name
    assert found.terms[Term.LAUNCH] == 1.0
    told = ", ".join(
        f"{t.name.lower()} {q:g}" for t, q in found.terms.items() if t is not Term.LAUNCH
    )
    assert told == quantities


def test_a_class_falls_back_on_its_wider_kin() -> None:
    made = classify(subject("matmul", "matmul", "f32[3,64] f32[64,30]w", "f32[3,30]", 5760.0))
    assert made.names == ("gemm.stored.vector", "gemm.stored", "gemm")
    half = subject("matmul", "matmul", "f16[3,64] f16[64,30]w", "f16[3,30]", 5760.0, dtype="f16")
    assert classify(half).names == made.names
    add = classify(subject("quantize", "q", "f32[4] f32[1]", "i8[4]"))
    assert add.names == (
        "elementwise.Q.same",
        "elementwise.Q",
        "elementwise.same",
        "elementwise",
        "memory",
    )
    turned = classify(subject("movement", "transpose", "f32[3,4]", "f32[4,3]"))
    assert turned.names[1:3] == ("movement.Transpose.10", "movement.Transpose.scatter")
    block = classify(subject("movement", "transpose perm=[1, 0, 2]", "f32[2,3,4]", "f32[3,2,4]"))
    assert block.names[2] == "movement.Transpose.block"


def test_bytes_beyond_the_caches_count_apart() -> None:
    assert traffic(NEAR_BYTES) == {
        Term.BYTE: NEAR_BYTES,
        Term.MID_BYTE: 0.0,
        Term.FAR_BYTE: 0.0,
    }
    assert traffic(FAR_BYTES + 3.0) == {
        Term.BYTE: FAR_BYTES + 3.0,
        Term.MID_BYTE: FAR_BYTES - NEAR_BYTES + 3.0,
        Term.FAR_BYTE: 3.0,
    }
    assert (NEAR_BYTES, FAR_BYTES) == (1 << 20, 1 << 24)
    assert [padded(n) for n in (1, 16, 17)] == [16, 16, 32]
    assert padded(7, 6) == 12


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("f32[2,3]", 24),
        ("f16[5]", 10),
        ("i8[5]", 5),
        ("i64[2]", 16),
        ("bf16[3]", 6),
        ("b1[9]", 9),
        ("f8e4m3[4]", 4),
        ("i4[4]", 4),
        ("f32[]", 4),
        ("u16[3]", 6),
        ("?[3]", 3),
    ],
)
def test_bytes_of_an_operand(text: str, nbytes: int) -> None:
    (operand,) = parse_types(text)
    assert operand is not None
    assert operand.nbytes == nbytes


def test_types_are_read_as_they_are_written() -> None:
    cell = "f32[1,64]w - i64[]"
    assert parse_types(cell) == (Operand("f32", (1, 64), True), None, Operand("i64", (), False))
    assert types(parse_types(cell)) == cell
    values = [
        Value("a", TensorType(DType.F32, (symbol("n"), 3))),
        None,
        Value("b", UNKNOWN),
        Value("c", TensorType(DType.F32, None)),
    ]
    assert types(operands(values, Numbers({"n": 7}))) == "f32[7,3] - - -"
    many = [Value("a", TensorType(DType.F32, (1,)))] * (MOST_OPERANDS + 1)
    assert len(operands(many, Numbers({}))) == 8


def test_attributes_of_a_row_are_numbers_lists_and_words() -> None:
    text = 'conv strides=[2, 1] group=4 auto_pad="SAME" ceil=true flip=false axis=-1'
    made = of_texts("conv", text, "Conv++Relu", 2, "f32", "", "", LaunchAmounts(1, 0, 0, 3, 4))
    assert made.op == "conv"
    assert made.ops == ("Conv", "Relu")
    assert made.attributes == {
        "strides": (2, 1),
        "group": (4,),
        "ceil": (1,),
        "flip": (0,),
        "axis": (-1,),
    }
    assert made.words == {"auto_pad": "SAME"}
    assert (made.nbytes, made.result, made.operand(0), made.views) == (7, None, None, 2)
    cut = of_texts("x", "a" * (LONGEST_OP + 5), "", 0, "", "", "", LaunchAmounts(1, 0, 0, 0, 0))
    assert len(cut.op) == LONGEST_OP


def test_a_window_is_read_from_operands_that_go_together() -> None:
    read, written = "f32[2,8,10,10] f32[6,4,3,3]w", "f32[2,6,5,5]"
    text = "conv group=2 strides=[2, 2] pads=[1, 0, 1, 2] dilations=[1, 2]"
    window = subject("conv", text, read, written).window
    assert window is not None
    assert (window.batch, window.in_channels, window.out_channels) == (2, 8, 6)
    assert (window.strides, window.dilations) == ((2, 2), (1, 2))
    assert window.pads == ((1, 1), (0, 2))
    assert (window.groups, window.is_transposed, window.extents) == (2, False, (3, 3))
    turned = subject("conv", "conv_transpose group=2", "f32[2,8,5,5] f32[8,3,3,3]w", "f32[2,6,7,7]")
    assert turned.window is not None
    assert (turned.window.in_channels, turned.window.out_channels) == (8, 6)
    assert turned.window.is_transposed
    for wrong in (
        subject("conv", "conv", "f32[2,8,10,10]", written),
        subject("conv", "conv", "f32[2,8] f32[6,8]w", "f32[2,6]"),
        subject("conv", "conv", "f32[2,8,10,10] f32[6,8,3]w", written),
        subject("conv", "conv strides=[2]", read, written),
        subject("conv", "conv pads=[1, 1, 1]", read, written),
        subject("conv", "conv group=0", read, written),
    ):
        assert wrong.window is None
