"""Operators of ONNX Runtime that are rows of data."""

from __future__ import annotations

import pytest

from perfc.ir.dim import Poly
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops import operator_for
from perfc.ir.types import DType, TensorType


def value(*shape: int) -> Value:
    return Value("x", TensorType(DType.F16, shape))


def operator(name: str, **attributes: float) -> Op:
    cls = operator_for("com.microsoft", name)
    assert cls is not None
    return cls(**attributes)


HALVES = [(2, 3, 8), (2, 3, 8)]
EXPERTS = [(2, 3, 8), (6, 4), (4, 16, 4), (4, 16, 4), (4, 8, 8)]


@pytest.mark.parametrize(
    ("op", "shapes", "result", "mac"),
    [
        (operator("SwiGLU"), HALVES[:1], "f16[2, 3, 4]", 0),
        (operator("SwiGLU"), HALVES, "f16[2, 3, 8]", 0),
        (operator("MatMulPacked"), [(2, 3, 8), (5, 4)], "f16[2, 3, 5]", 2 * 3 * 5 * 8),
        (operator("MoEPacked", k=2), EXPERTS, "f16[2, 3, 8]", 6 * 2 * 8 * 16 * 3),
        (operator("RouterGateUpProj", router_size=4), [(2, 8), (8, 20)], "f16[2, 4]", 320),
        (operator("RestorePadding"), [(5, 8), (2, 3)], "f16[2, 3, 8]", 0),
        (operator("TorchEmbedding"), [(9, 8), (2, 3)], "f16[2, 3, 8]", 0),
    ],
)
def test_shapes_and_products(op: Op, shapes: list[tuple[int, ...]], result: str, mac: int) -> None:
    ins = tuple(value(*s) for s in shapes)
    outs = op.infer(ins)
    work = op.work(ins, outs)
    assert str(outs[0]) == result
    assert work is not None
    assert work.mac == mac


def test_experts_are_read_as_one_token_touches_them() -> None:
    ins = tuple(value(*s) for s in EXPERTS)
    op = operator("MoEPacked", k=2)
    weights = 2 * (4 * 16 * 4 * 2 + 4 * 8 * 8) // 2
    assert op.traffic(ins, op.infer(ins)).read_bytes == 2 * (48 + 24) + weights


def test_tokens_without_padding_are_given_by_the_data() -> None:
    outs = operator("RemovePadding").infer((value(2, 3, 8), value(2)))
    first = outs[0]
    assert isinstance(first, TensorType)
    assert first.shape is not None
    assert isinstance(first.shape[0], Poly)
    assert [str(t) for t in outs[1:]] == ["i32[2, 3]", "i32[3]", "i32[1]"]


def test_what_no_operand_says_is_unknown_and_not_zero() -> None:
    op = operator("MatMulPacked")
    ins = (Value("a", TensorType(DType.F16, None)), value(5, 4))
    outs = op.infer(ins)
    assert str(outs[0]) == "f16[*]"
    assert op.work(ins, outs) is None
