"""Formulas say what is counted: for every sample they evaluate to the work."""

from __future__ import annotations

import pytest

from perfc.ir.dim import Dim
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.attention import Attention
from perfc.ir.ops.causal_conv import CausalConvWithState
from perfc.ir.ops.contrib_attention import MultiHeadAttention, ProjectedAttention
from perfc.ir.ops.conv import Conv, DeformConv, FusedConv
from perfc.ir.ops.conv_transpose import ConvTranspose
from perfc.ir.ops.einsum import Einsum
from perfc.ir.ops.global_pool import GlobalAveragePool, GlobalLpPool
from perfc.ir.ops.linear_attention import LinearAttention
from perfc.ir.ops.matmul import FusedGemm, FusedMatMul, Gemm, GemmFastGelu, MatMul
from perfc.ir.ops.moe import MoE
from perfc.ir.ops.pool import AveragePool, LpPool, MaxPool
from perfc.ir.ops.recurrent import GRU, LSTM
from perfc.ir.ops.rotary import RotaryEmbedding
from perfc.ir.ops.weight_only_matmul import MatMulNBits, MatMulNBitsMlp, MatMulNBitsQkv
from perfc.ir.types import DType, TensorType

X, W = (2, 4, 6, 7), (8, 2, 3, 2)
HEADS = ((1, 4, 3, 8), (1, 2, 5, 8), (1, 2, 5, 6))
CASES: list[tuple[Op, list[tuple[Dim, ...]]]] = [
    (MatMul(), [(2, 3, 4), (4, 5)]),
    (FusedMatMul(alpha=0.5, transA=1), [(4, 3), (4, 5)]),
    (GemmFastGelu(), [(2, 3, 4), (4, 5), (5,)]),
    (Gemm(beta=0.5, transB=1), [(3, 4), (5, 4), (5,)]),
    (FusedGemm(activation="Tanh"), [(3, 4), (4, 5)]),
    (MatMulNBits(K=32, N=5), [(3, 32), (5, 1, 16), (5,), (5,), (32,), (5,)]),
    (MatMulNBitsMlp(K=32, N=5, activation="silu"), [(3, 32), (3, 32), (32,)]),
    (MatMulNBitsQkv(K=32, Nq=8, Nkv=4), [(3, 32), (3, 32), (32,)]),
    (Einsum(equation="ij,jk,kl->il"), [(2, 3), (3, 4), (4, 5)]),
    (Einsum(equation="ij->j"), [(2, 3)]),
    (Conv(group=2), [X, W, (8,)]),
    (FusedConv(group=2, activation="Sigmoid"), [X, W]),
    (DeformConv(group=2), [X, W, (2, 12, 4, 6), (8,)]),
    (ConvTranspose(group=2, strides=(2, 1)), [X, (4, 3, 3, 2), (6,)]),
    (CausalConvWithState(activation="swish"), [(2, 4, 9), (4, 1, 3), (4,)]),
    (MaxPool(kernel_shape=(2, 3)), [X]),
    (AveragePool(kernel_shape=(2, 3)), [X]),
    (LpPool(kernel_shape=(2, 3), p=3), [X]),
    (GlobalAveragePool(), [X]),
    (GlobalLpPool(p=1), [X]),
    (Attention(softcap=30.0, is_causal=1), [*HEADS, (3, 5)]),
    (ProjectedAttention(num_heads=2, unidirectional=1), [(1, 3, 8), (8, 24), (24,)]),
    (MultiHeadAttention(num_heads=2), [(1, 3, 8), (1, 5, 8), (1, 5, 8)]),
    (LinearAttention(q_num_heads=2), [(1, 3, 8), (1, 3, 4), (1, 3, 6), (1, 1, 4, 6), (1, 3, 4)]),
    (RotaryEmbedding(), [(1, 4, 3, 8), (1, 3, 2), (1, 3, 2)]),
    (MoE(k=2, activation_type="silu"), [(5, 4), (5, 3), (3, 6, 4), (3, 6), (3, 4, 6)]),
    (LSTM(direction="bidirectional", clip=1.0), [(3, 2, 5), (2, 16, 5), (2, 16, 4), (2, 32)]),
    (GRU(), [(3, 2, 5), (1, 12, 5), (1, 12, 4)]),
]


@pytest.mark.parametrize(("op", "shapes"), CASES, ids=lambda x: getattr(x, "mnemonic", ""))
def test_formulas_evaluate_to_the_work(op: Op, shapes: list[tuple[Dim, ...]]) -> None:
    ins = tuple(Value(f"x{i}", TensorType(DType.F32, s)) for i, s in enumerate(shapes))
    outs = op.infer(ins)
    letters, work = dict(op.extents(ins, outs)), op.work(ins, outs)
    assert letters
    for unit in ("mac", "alu", "sfu", "integer"):
        formula = op.formulas.get(unit, "0")
        assert eval(formula, {"__builtins__": {}}, letters) == getattr(work, unit), unit
