"""Work that follows from a length which only running tells: a bound, never an overcount."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import onnx
import pytest
from onnx import TensorProto, helper

import perfc
from perfc.ir import Dim, Known, Value, symbol
from perfc.ir.op import ABSENT, Op
from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.attention.contrib_attention import (
    DecoderMaskedMultiHeadAttention,
    DecoderMaskedSelfAttention,
    MultiHeadAttention,
    ProjectedAttention,
)
from perfc.ir.ops.attention.grouped_attention import (
    DynamicSparseAttention,
    GroupQueryAttention,
    PagedAttention,
    SparseAttention,
)
from perfc.ir.ops.attention.packed_attention import LongformerAttention
from perfc.ir.ops.recurrent.recurrent import GRU, LSTM
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType, TensorType
from perfc.view.report import render

B = symbol("B")
CACHE = 64
Operands = tuple[Value | None, ...]


def value(*shape: Dim, dtype: DType = DType.F16) -> Value:
    return Value("x", TensorType(dtype, shape))


def length(n: int | None, shape: tuple[int, ...] = (1,), dtype: DType = DType.I32) -> Value:
    """A length of ``n``, or one that is not known."""
    known = None if n is None else Known(shape, (n,) * (1 if not shape else shape[0]))
    return Value("n", TensorType(dtype, shape), known)


@dataclass(frozen=True)
class Case:
    """An operator, its operands at a length of which None is not known, and lengths it can have."""

    op: Op
    operands: Callable[[int | None], Operands]
    lengths: range


def grouped(n: int | None) -> Operands:
    q, kv, cache = value(1, 2, 64), value(1, 2, 32), value(1, 2, CACHE, 16)
    return (q, kv, kv, cache, value(1, 2, CACHE, 16), length(None), length(n))


def sparse(n: int | None) -> Operands:
    blocks = value(1, 5, dtype=DType.I32), value(1, 9, dtype=DType.I32)
    return (*grouped(None)[:5], *blocks, length(n), length(None))


def dynamic_sparse(n: int | None) -> Operands:
    chosen = value(2, 8, dtype=DType.I32), value(2, dtype=DType.I32)
    return (*grouped(None)[:5], None, None, *chosen, length(None), length(n))


def multi_head(n: int | None) -> Operands:
    q, cache = value(1, 2, 64), value(1, 4, CACHE, 16)
    return (q, q, q, None, None, None, cache, value(1, 4, CACHE, 16), length(n))


def decoder(n: int | None) -> Operands:
    q, cache = value(1, 1, 64), value(1, 4, CACHE, 16)
    return (q, q, q, None, None, cache, value(1, 4, CACHE, 16), length(n))


def projected(n: int | None) -> Operands:
    weights, past = (value(64, 192), value(192)), value(2, 1, 4, CACHE, 16)
    return (value(1, 2, 64), *weights, None, past, None, length(n))


def padded(n: int | None) -> Operands:
    cache = value(1, 4, CACHE, 16)
    lengths = length(n, dtype=DType.I64)
    return (value(1, 4, 2, 16), cache, value(1, 4, CACHE, 16), None, None, None, lengths)


def recurrent(n: int | None) -> Operands:
    def weights(gates: int) -> Operands:
        return value(1, gates * 8, 4), value(1, gates * 8, 8)

    return (value(20, 1, 4), *weights(4), None, length(n))


CASES = {
    "grouped": Case(GroupQueryAttention(num_heads=4, kv_num_heads=2), grouped, range(2, CACHE)),
    "window": Case(
        GroupQueryAttention(num_heads=4, kv_num_heads=2, local_window_size=5),
        grouped,
        range(2, CACHE),
    ),
    "multi_head": Case(MultiHeadAttention(num_heads=4), multi_head, range(CACHE)),
    "causal": Case(MultiHeadAttention(num_heads=4, unidirectional=1), multi_head, range(CACHE)),
    "decoder": Case(
        DecoderMaskedMultiHeadAttention(num_heads=4, past_present_share_buffer=1),
        decoder,
        range(CACHE),
    ),
    "projected": Case(
        ProjectedAttention(num_heads=4, past_present_share_buffer=1), projected, range(CACHE)
    ),
    "decoder_self": Case(
        DecoderMaskedSelfAttention(num_heads=4, past_present_share_buffer=1),
        projected,
        range(CACHE),
    ),
    "padded": Case(Attention(), padded, range(1, CACHE + 1)),
    "padded_causal": Case(Attention(is_causal=1), padded, range(2, CACHE + 1)),
    "lstm": Case(LSTM(hidden_size=8), recurrent, range(1, 21)),
    "gru": Case(GRU(hidden_size=8), recurrent, range(1, 21)),
}


def counts(op: Op, ins: Operands) -> tuple[list[float], bool]:
    """Return the counts of an application that uses the first result, and True for a bound."""
    first, *others = op.infer(ins)
    outs = (first, *[ABSENT] * len(others))
    work, traffic = op.work(ins, outs), op.traffic(ins, outs)
    assert work is not None
    formulas = work.mac, work.floor_mac, work.alu, work.sfu, traffic.nbytes
    return [evaluate(f, {}) for f in formulas], work.is_bound


@pytest.mark.parametrize("name", CASES)
def test_an_unknown_length_gives_a_bound_below_every_length(name: str) -> None:
    case = CASES[name]
    least, is_bound = counts(case.op, case.operands(None))
    assert is_bound
    assert least[0] > 0
    for n in case.lengths:
        truth, told_is_bound = counts(case.op, case.operands(n))
        assert not told_is_bound
        assert all(a <= b for a, b in zip(least, truth, strict=True)), (n, least, truth)
    longest, _ = counts(case.op, case.operands(case.lengths[-1]))
    assert longest[1] > least[1]


@pytest.mark.parametrize(
    ("op", "ins"),
    [
        (SparseAttention(num_heads=4, kv_num_heads=2), sparse(16)),
        (DynamicSparseAttention(num_heads=4, kv_num_heads=2), dynamic_sparse(16)),
        (
            PagedAttention(num_heads=4, kv_num_heads=2),
            (
                *(
                    value(8, 64),
                    value(8, 32),
                    value(8, 32),
                    value(4, 16, 2, 16),
                    value(4, 16, 2, 16),
                ),
                *(
                    value(3, dtype=DType.I32),
                    value(2, dtype=DType.I32),
                    value(2, 4, dtype=DType.I32),
                ),
            ),
        ),
        (
            LongformerAttention(num_heads=4, window=4),
            (value(1, 32, 64), value(64, 192), value(192), value(1, 32), None, None, value(1, 32)),
        ),
    ],
    ids=["sparse", "dynamic_sparse", "paged", "longformer"],
)
def test_what_an_operand_selects_is_a_bound(op: Op, ins: Operands) -> None:
    found, is_bound = counts(op, ins)
    assert is_bound
    assert found[0] > 0


def test_without_a_cache_the_new_keys_are_all() -> None:
    q, kv = value(B, 4, 64), value(B, 4, 32)
    ins = (q, kv, kv, None, None, length(None), length(None, ()))
    op = GroupQueryAttention(num_heads=4, kv_num_heads=2)
    found = op.work(ins, op.infer(ins))
    assert found is not None
    assert (found.mac, found.is_bound) == (B * 4 * 4 * 4 * 32, False)
    assert str(op.infer(ins)[1]) == "f16[B, 2, 4, 16]"


def test_of_a_shared_buffer_only_the_keys_that_are_there_are_read() -> None:
    op = MultiHeadAttention(num_heads=4)
    ins = multi_head(10)
    found = op.traffic(ins, op.infer(ins)[:3])
    row = 4 * 16 * 2
    assert found.read_bytes == 2 * 64 * 2 + 4 + 2 * 10 * row
    assert found.write_bytes == 2 * 64 * 2 + 2 * 2 * row
    assert not found.is_bound
    assert op.traffic(multi_head(None), op.infer(ins)[:3]).is_bound


def test_of_a_padded_cache_only_the_valid_keys_are_read() -> None:
    ins = padded(10)
    found = Attention().traffic(ins, Attention().infer(ins)[:1])
    assert found.read_bytes == 4 * 2 * 16 * 2 + 8 + 2 * 10 * 4 * 16 * 2
    assert Attention().traffic(padded(None), Attention().infer(ins)[:1]).is_bound


def decoder_model() -> onnx.ModelProto:
    """Eight heads on a cache of 4096 keys, of which the caller says how many are used."""
    half, i32 = TensorProto.FLOAT16, TensorProto.INT32
    inputs = [helper.make_tensor_value_info(n, half, [1, 1, 512]) for n in ("q", "k", "v")]
    inputs += [helper.make_tensor_value_info(n, half, [1, 8, 4096, 64]) for n in ("pk", "pv")]
    inputs += [helper.make_tensor_value_info("lengths", i32, [1])]
    inputs += [helper.make_tensor_value_info("total", i32, [])]
    names = [i.name for i in inputs]
    outputs = [onnx.ValueInfoProto(name=n) for n in ("y", "ok", "ov")]
    node = helper.make_node(
        "GroupQueryAttention",
        names,
        ["y", "ok", "ov"],
        domain="com.microsoft",
        num_heads=8,
        kv_num_heads=8,
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        helper.make_graph([node], "g", inputs, outputs), opset_imports=opsets, ir_version=9
    )


def test_a_total_given_when_running_is_a_bound_in_the_report() -> None:
    open_, told = (perfc.analyze(decoder_model(), values=v) for v in ({}, {"total": 16}))
    assert (open_.cost.work.mac, open_.cost.is_bound) == (8 * 128, True)
    assert (told.cost.work.mac, told.cost.is_bound) == (16384, False)
    assert "work         ≥ 2.61 kflop  ≥ 1.02 kmac" in render(open_, predict=False)
