"""Attention: unmasked pairs against a loop, caches, heads, projections, mixtures, recurrence."""

from __future__ import annotations

import random

from perfc.ir.cost import Work
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops.attention.attention import Attention
from perfc.ir.ops.attention.contrib_attention import (
    MultiHeadAttention,
    ProjectedAttention,
    QAttention,
)
from perfc.ir.ops.attention.grouped_attention import GroupQueryAttention, PagedAttention
from perfc.ir.ops.attention.packed_attention import PackedMultiHeadAttention
from perfc.ir.ops.attention.rotary import RotaryEmbedding
from perfc.ir.ops.attention.score_pairs import unmasked_pairs
from perfc.ir.ops.contraction.moe import MoE, QMoE
from perfc.ir.ops.recurrent.linear_attention import LinearAttention
from perfc.ir.ops.recurrent.recurrent import GRU, LSTM, RNN
from perfc.ir.symbolic.dim import Dim, substitute, symbol
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType

B, S, P, T = symbol("B"), symbol("S"), symbol("P", 0), symbol("T")


def value(*shape: Dim, dtype: DType = DType.F32) -> Value:
    return Value("x", TensorType(dtype, shape))


def number(n: Dim) -> Value:
    return Value("n", TensorType(DType.I32, ()), Known.scalar(n))


def types(op: Op, *ins: Value | None) -> list[str]:
    return [str(t) for t in op.infer(ins)]


def work(op: Op, *ins: Value | None) -> Work:
    found = op.work(ins, op.infer(ins))
    assert found is not None
    return found


def test_pairs_are_those_a_loop_leaves() -> None:
    rng = random.Random(0)
    limits = [None, 0, 1, 2, 5]
    for _ in range(3000):
        s, past, more = rng.randint(1, 6), rng.randint(0, 5), rng.randint(-2, 3)
        t = max(past + s + more, 1)
        left, right = rng.choice(limits), rng.choice(limits)
        count = sum(
            (left is None or past + i - left <= j) and (right is None or j <= past + i + right)
            for i in range(s)
            for j in range(t)
        )
        assert unmasked_pairs(s, t, past, left, right) == count
        symbolic = unmasked_pairs(S, T, P, left, right)
        assert substitute(symbolic, {"S": s, "T": t, "P": past}) == count


def test_causal_pairs_are_a_triangle_behind_the_past() -> None:
    assert unmasked_pairs(S, S, 0, None, 0) == S * (S + 1) // 2
    assert unmasked_pairs(S, P + S, P, None, 0) == S * P + S * (S + 1) // 2
    assert unmasked_pairs(1, P + 1, P, None, 0) == P + 1


def test_grouped_heads_with_a_cache() -> None:
    ins = (
        *(value(B, 8, S, 64), value(B, 2, S, 64), value(B, 2, S, 32), None),
        *(value(B, 2, P, 64), value(B, 2, P, 32)),
    )
    assert types(Attention(), *ins) == [
        "f32[B, 8, S, 32]",
        "f32[B, 2, P + S, 64]",
        "f32[B, 2, P + S, 32]",
        "f32[B, 8, S, P + S]",
    ]
    found = work(Attention(is_causal=1), *ins)
    assert found.mac == B * 8 * S * (P + S) * 96
    assert found.effective_mac == B * 8 * (S * P + S * (S + 1) // 2) * 96
    assert work(Attention(), *ins).effective_mac is None


def test_heads_in_the_last_axis() -> None:
    ins = (value(B, S, 512), value(B, T, 128), value(B, T, 128))
    op = Attention(q_num_heads=8, kv_num_heads=2)
    assert types(op, *ins) == [
        "f32[B, S, 512]",
        "f32[B, 2, T, 64]",
        "f32[B, 2, T, 64]",
        "f32[B, 8, S, T]",
    ]
    assert work(op, *ins).mac == B * 8 * S * T * 128


def test_padded_keys_lower_the_floor() -> None:
    ins = (value(2, 4, 1, 8), value(2, 4, 100, 8), value(2, 4, 100, 8), None, None, None)
    lengths = Value("l", TensorType(DType.I64, (2,)), Known.vector([10, 10]))
    op = Attention(is_causal=1)
    found = work(op, *ins, lengths)
    assert (found.mac, found.effective_mac, found.is_bound) == (2 * 4 * 10 * 16, None, False)
    different = Value("l", TensorType(DType.I64, (2,)), Known.vector([10, 30]))
    found = work(op, *ins, different)
    assert (found.mac, found.effective_mac, found.is_bound) == (2 * 4 * 10 * 16, None, True)
    unknown = Value("l", TensorType(DType.I64, (2,)))
    found = work(op, *ins, unknown)
    assert (found.mac, found.effective_mac, found.is_bound) == (2 * 4 * 1 * 16, None, True)


def test_contrib_attention_includes_its_projection() -> None:
    ins = (value(B, S, 768), value(768, 3 * 768), value(3 * 768))
    op = ProjectedAttention(num_heads=12)
    assert types(op, *ins) == ["f32[B, S, 768]", "f32[2, B, 12, S, 64]"]
    assert work(op, *ins).mac == B * S * (768 * 3 * 768) + B * 12 * S * S * 128
    quantised = (value(B, S, 768, dtype=DType.U8), value(768, 2304, dtype=DType.I8), value(2304))
    assert types(QAttention(num_heads=12), *quantised)[0] == "f32[B, S, 768]"
    assert work(QAttention(num_heads=12), *quantised).dtype is DType.I8


def test_multi_head_attention_in_all_its_layouts() -> None:
    op = MultiHeadAttention(num_heads=4)
    q = value(B, S, 64)
    assert types(op, q, value(B, T, 64), value(B, T, 32))[0] == "f32[B, S, 32]"
    assert types(op, value(B, S, 4, 3, 16))[0] == "f32[B, S, 64]"
    assert types(op, q, value(B, T, 4, 2, 16))[3] == "f32[B, 4, S, T]"
    assert types(op, q, value(B, 4, T, 16), value(B, 4, T, 16))[1] == "f32[B, 4, T, 16]"


def test_a_shared_cache_keeps_its_extent_and_moves_only_what_is_new() -> None:
    f16 = DType.F16
    cache = value(1, 8, 2048, 128, dtype=f16)
    ins = (
        *(value(1, 1, 4096, dtype=f16), value(1, 1, 1024, dtype=f16), value(1, 1, 1024, dtype=f16)),
        *(cache, value(1, 8, 2048, 128, dtype=f16), value(1, dtype=DType.I32), number(100)),
    )
    op = GroupQueryAttention(num_heads=32, kv_num_heads=8)
    assert types(op, *ins)[1] == "f16[1, 8, 2048, 128]"
    found = work(op, *ins)
    assert found.mac == 32 * 100 * 256
    traffic = op.traffic(ins, op.infer(ins)[:3])
    assert traffic.read_bytes == 2 * (4096 + 1024 + 1024) + 4 + 4 + 2 * 2 * 8 * 99 * 128
    assert traffic.write_bytes == 2 * 4096 + 2 * 2 * 8 * 128


def test_a_cache_of_unknown_fill_is_bounded() -> None:
    total = Value("n", TensorType(DType.I32, ()))
    ins = (*(value(B, 1, 64), value(B, 1, 16), value(B, 1, 16)), *(value(B, 1, 9, 16),) * 2)
    op = GroupQueryAttention(num_heads=4, kv_num_heads=1)
    ins = (*ins, value(B, dtype=DType.I32), total)
    found = work(op, *ins)
    assert (found.mac, found.effective_mac, found.is_bound) == (B * 4 * 32, None, True)
    assert op.traffic(ins, op.infer(ins)[:3]).is_bound


def test_a_window_and_a_table_are_read_in_part() -> None:
    ins = (*(value(1, 1, 64), value(1, 1, 16), value(1, 1, 16)), value(1, 1, 999, 16))
    ins = (*ins, value(1, 1, 999, 16), value(1, dtype=DType.I32), number(1000))
    ins = (*ins, value(5000, 8), value(5000, 8))
    for attributes, old, rows in (
        ({}, 999, 0),
        ({"local_window_size": 100, "do_rotary": 1}, 99, 1),
    ):
        op = GroupQueryAttention(num_heads=4, kv_num_heads=1, **attributes)
        read = 4 * (64 + 16 + 16) + 4 + 4 + 2 * 4 * 16 * old + 2 * 4 * 8 * rows
        assert op.traffic(ins, op.infer(ins)[:3]).read_bytes == read
        assert sum(op.read_parts(ins).values()) == read
    # of packed sequences the longest has at least the mean of the tokens
    pages, ends = value(9, 16, 1, 16), value(4, dtype=DType.I32)
    packed = (value(10, 64), value(10, 16), value(10, 16), pages, value(9, 16, 1, 16), ends)
    packed = (*packed, ends, value(3, 2, dtype=DType.I32), value(5000, 8), value(5000, 8))
    paged = PagedAttention(num_heads=4, kv_num_heads=1, do_rotary=1)
    read = 4 * 10 * (64 + 16 + 16) + 4 * 4 + 4 * 6 + 2 * 4 * 8 * 4
    assert paged.traffic(packed, paged.infer(packed)).read_bytes == read


def test_attention_reads_the_keys_that_some_query_sees() -> None:
    rng = random.Random(5)
    for _ in range(300):
        s, new, past = rng.randint(1, 5), rng.randint(1, 6), rng.randint(0, 6)
        left, right, causal = rng.randint(-1, 4), rng.randint(-1, 3), rng.randint(0, 1)
        caches = (value(1, 2, past, 8), value(1, 2, past, 8))
        ins = (value(1, 2, s, 8), value(1, 2, new, 8), value(1, 2, new, 8), None, *caches)
        op = Attention(is_causal=causal, left_window_size=left, right_window_size=right)
        ahead = 0 if causal else right
        seen = {
            k
            for q in range(past, past + s)
            for k in range(past + new)
            if (left < 0 or k >= q - left) and (ahead < 0 or k <= q + ahead)
        }
        y, *states = op.infer(ins)
        assert op.traffic(ins, (y,)).read_bytes == 64 * s + len(seen) * 128
        # a present state holds all keys
        whole = 64 * s + (past + new) * 128
        assert op.traffic(ins, (y, *states[:2])).read_bytes == whole


def test_packed_sequences_cost_least_when_they_are_equally_long() -> None:
    offsets, lengths = value(2, 8, dtype=DType.I32), value(3, dtype=DType.I32)
    ins = (*(value(10, 32),) * 3, None, offsets, lengths)
    found = work(PackedMultiHeadAttention(num_heads=4), *ins)
    assert (found.mac, found.effective_mac, found.is_bound) == (4 * (10 * 10 // 2) * 16, None, True)
    alone = (*(value(10, 32),) * 3, None, value(1, 10, dtype=DType.I32), value(2, dtype=DType.I32))
    found = work(PackedMultiHeadAttention(num_heads=4), *alone)
    assert (found.mac, found.is_bound) == (4 * 10 * 10 * 16, False)


def test_linear_attention_is_linear_in_the_sequence() -> None:
    ins = (value(B, S, 64), value(B, S, 32), value(B, S, 32), None, value(B, S, 2), value(B, S, 2))
    op = LinearAttention(q_num_heads=4, kv_num_heads=2)
    assert types(op, *ins) == ["f32[B, S, 64]", "f32[B, 2, 16, 16]"]
    assert work(op, *ins).mac == B * S * (16 * 16 * (2 * 2 + 4))


def test_rotation_reads_a_row_of_the_caches_for_each_position() -> None:
    ins = (value(1, 8, 5, 64), value(4096, 32), value(4096, 32), value(1, 5, dtype=DType.I64))
    op = RotaryEmbedding()
    assert work(op, *ins).alu == 3 * 8 * 5 * 64
    assert op.traffic(ins, op.infer(ins)).read_bytes == 4 * 8 * 5 * 64 + 2 * 4 * 5 * 32 + 8 * 5


def test_experts_work_for_every_token_but_only_a_tokens_are_surely_read() -> None:
    ins = (value(S, 16), value(S, 8), value(8, 64, 16), None, value(8, 16, 64))
    op = MoE(k=2)
    assert types(op, *ins) == ["f32[S, 16]"]
    assert work(op, *ins).mac == S * 2 * 2 * 64 * 16
    assert op.traffic(ins, op.infer(ins)).read_bytes == 4 * (S * 24 + 2 * 2 * 64 * 16)


def test_packed_experts_keep_their_logical_width() -> None:
    fc1, fc2 = value(8, 128, 8, dtype=DType.U8), value(8, 16, 32, dtype=DType.U8)
    ins = (value(S, 16), value(S, 8), fc1, value(8, 128), None, fc2, value(8, 16))
    op = QMoE(k=1, activation_type="swiglu", swiglu_fusion=1)
    assert work(op, *ins).mac == S * 16 * (128 + 64)


def test_recurrent_cells_multiply_input_and_state_at_every_step() -> None:
    x, w, r = value(T, B, 5), value(2, 4 * 7, 5), value(2, 4 * 7, 7)
    op = LSTM(hidden_size=7, direction="bidirectional")
    assert types(op, x, w, r) == ["f32[T, 2, B, 7]", "f32[2, B, 7]", "f32[2, B, 7]"]
    assert work(op, x, w, r).mac == T * B * (2 * 4 * 7 * (5 + 7))
    assert work(op, x, w, r).sfu == T * B * (2 * 7 * (3 * 2 + 1 + 1))
    assert types(GRU(hidden_size=7, layout=1), value(B, T, 5))[0] == "f32[B, T, 1, 7]"


def test_given_lengths_bound_the_steps() -> None:
    lengths = Value("l", TensorType(DType.I32, (2,)), Known.vector([1, 3]))
    ins = (value(4, 2, 5), value(1, 7, 5), value(1, 7, 7), None, lengths)
    found = work(RNN(hidden_size=7), *ins)
    assert (found.mac, found.effective_mac) == (4 * 2 * 7 * 12, 4 * 7 * 12)
