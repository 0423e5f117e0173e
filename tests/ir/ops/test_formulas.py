"""Work follows from formulas: what they count of samples, and how a class states them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import pytest

from perfc.ir.cost import Work
from perfc.ir.graph import Inputs, Value
from perfc.ir.op import Op, Types
from perfc.ir.ops import load_all
from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.attention.contrib_attention import MultiHeadAttention, ProjectedAttention
from perfc.ir.ops.attention.rotary import RotaryEmbedding
from perfc.ir.ops.contraction.einsum import Einsum
from perfc.ir.ops.contraction.matmul import FusedGemm, FusedMatMul, Gemm, GemmFastGelu, MatMul
from perfc.ir.ops.contraction.moe import MoE
from perfc.ir.ops.convolution.conv import Conv, DeformConv, FusedConv
from perfc.ir.ops.convolution.conv_transpose import ConvTranspose
from perfc.ir.ops.convolution.global_pool import GlobalAveragePool, GlobalLpPool
from perfc.ir.ops.convolution.pool import AveragePool, LpPool, MaxPool
from perfc.ir.ops.quantized.weight_only_matmul import MatMulNBits, MatMulNBitsMlp, MatMulNBitsQkv
from perfc.ir.ops.recurrent.causal_conv import CausalConvWithState
from perfc.ir.ops.recurrent.linear_attention import LinearAttention
from perfc.ir.ops.recurrent.recurrent import GRU, LSTM
from perfc.ir.record import frozen
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.types import DType, TensorType
from perfc.view.pages.catalogue import documentation

X, W = (2, 4, 6, 7), (8, 2, 3, 2)
HEADS = ((1, 4, 3, 8), (1, 2, 5, 8), (1, 2, 5, 6))
CASES: list[tuple[Op, list[tuple[Dim, ...]], tuple[int, int, int]]] = [
    (MatMul(), [(2, 3, 4), (4, 5)], (120, 0, 0)),
    (FusedMatMul(alpha=0.5, transA=1), [(4, 3), (4, 5)], (60, 15, 0)),
    (GemmFastGelu(), [(2, 3, 4), (4, 5), (5,)], (120, 240, 30)),
    (Gemm(beta=0.5, transB=1), [(3, 4), (5, 4), (5,)], (60, 30, 0)),
    (FusedGemm(activation="Tanh"), [(3, 4), (4, 5)], (60, 0, 15)),
    (MatMulNBits(K=32, N=5), [(3, 32), (5, 1, 16), (5,), (5,), (32,), (5,)], (480, 335, 0)),
    (MatMulNBitsMlp(K=32, N=5, activation="silu"), [(3, 32), (3, 32), (32,)], (960, 1180, 30)),
    (MatMulNBitsQkv(K=32, Nq=8, Nkv=4), [(3, 32), (3, 32), (32,)], (1536, 1504, 0)),
    (Einsum(equation="ij,jk,kl->il"), [(2, 3), (3, 4), (4, 5)], (64, 0, 0)),
    (Einsum(equation="ij->j"), [(2, 3)], (0, 6, 0)),
    (Conv(group=2), [X, W, (8,)], (4608, 384, 0)),
    (FusedConv(group=2, activation="Sigmoid"), [X, W], (4608, 768, 768)),
    (DeformConv(group=2), [X, W, (2, 12, 4, 6), (8,)], (4608, 13056, 0)),
    (ConvTranspose(group=2, strides=(2, 1)), [X, (4, 3, 3, 2), (6,)], (6048, 1248, 0)),
    (CausalConvWithState(activation="swish"), [(2, 4, 9), (4, 1, 3), (4,)], (216, 288, 144)),
    (MaxPool(kernel_shape=(2, 3)), [X], (0, 1000, 0)),
    (AveragePool(kernel_shape=(2, 3)), [X], (0, 1200, 0)),
    (LpPool(kernel_shape=(2, 3), p=3), [X], (0, 2400, 1400)),
    (GlobalAveragePool(), [X], (0, 336, 0)),
    (GlobalLpPool(p=1), [X], (0, 672, 0)),
    (Attention(softcap=30.0, is_causal=1), [*HEADS, (3, 5)], (840, 240, 60)),
    (
        ProjectedAttention(num_heads=2, unidirectional=1),
        [(1, 3, 8), (8, 24), (24,)],
        (720, 144, 18),
    ),
    (MultiHeadAttention(num_heads=2), [(1, 3, 8), (1, 5, 8), (1, 5, 8)], (240, 144, 36)),
    (
        LinearAttention(q_num_heads=2),
        [(1, 3, 8), (1, 3, 4), (1, 3, 6), (1, 1, 4, 6), (1, 3, 4)],
        (288, 144, 12),
    ),
    (RotaryEmbedding(), [(1, 4, 3, 8), (1, 3, 2), (1, 3, 2)], (0, 144, 0)),
    (
        MoE(k=2, activation_type="silu"),
        [(5, 4), (5, 3), (3, 6, 4), (3, 6), (3, 4, 6)],
        (480, 320, 135),
    ),
    (
        LSTM(direction="bidirectional", clip=1.0),
        [(3, 2, 5), (2, 16, 5), (2, 16, 4), (2, 32)],
        (1728, 1248, 384),
    ),
    (GRU(), [(3, 2, 5), (1, 12, 5), (1, 12, 4)], (648, 288, 120)),
]


@pytest.mark.parametrize(
    ("op", "shapes", "counts"), CASES, ids=lambda x: getattr(x, "mnemonic", "")
)
def test_formulas_count_the_work(
    op: Op, shapes: list[tuple[Dim, ...]], counts: tuple[int, int, int]
) -> None:
    ins = tuple(Value(f"x{i}", TensorType(DType.F32, s)) for i, s in enumerate(shapes))
    work = op.work(ins, op.infer(ins))
    assert work is not None
    assert (work.mac, work.alu, work.sfu, work.integer) == (*counts, 0)


@frozen
class Blend(Op):
    """A product and its blend.

    Work:    {mac}; {alu} of them blended.
    """

    formulas: ClassVar[Mapping[str, str]] = {"mac": "m*k", "alu": "m//2", "read_bytes": "4*m"}
    is_known: bool = True

    def mac_dtype(self, ins: Inputs) -> DType | None:
        return DType.I8

    def extents(self, ins: Inputs, outs: Types) -> Mapping[str, Dim]:
        return {"m": 5, "k": symbol("k")} if self.is_known else {}


class Blended(Blend):
    """The blend alone.

    Work:    {alu}.
    """

    formulas: ClassVar[Mapping[str, str]] = {"alu": "3*m"}


def test_work_is_the_formulas_at_the_extents() -> None:
    k = symbol("k")
    assert Blend().work((), ()) == Work(mac=k * 5, alu=2, dtype=DType.I8)
    assert Blended().work((), ()) == Work(alu=15)
    assert Blend(is_known=False).work((), ()) is None


def test_no_docstring_names_a_formula_that_its_class_has_not() -> None:
    unfilled = re.compile(r"\{(mac|alu|sfu|integer|read_bytes|write_bytes)\}")
    assert [c.__name__ for c in load_all().values() if unfilled.search(c.__doc__ or "")] == []


def test_a_docstring_names_formulas_and_says_them() -> None:
    assert documentation(Blend).sections["Work"] == "mac = m*k; alu = m//2 of them blended."
    assert documentation(Blended).sections["Work"] == "alu = 3*m."
