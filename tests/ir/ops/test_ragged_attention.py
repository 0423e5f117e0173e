"""Attention of packed sequences: groups told by operands, pairs counted one by one."""

from __future__ import annotations

import pytest

from perfc.ir.graph import Value
from perfc.ir.op import each_once
from perfc.ir.ops.attention.ragged_attention import RaggedAttention
from perfc.ir.ops.collective import AllGather, AllReduce, ReduceScatter
from perfc.ir.ops.contraction.moe import MoE
from perfc.ir.ops.elementwise.gated import GatedActivation
from perfc.ir.ops.quantized.quantized_matmul import GemmFloat8
from perfc.ir.ops.recurrent.state_space import StateSpaceScan
from perfc.ir.problem import Attention, Collective, Exchange, Experts, MixedAttention, Product
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType, TensorType

HALF, LONG = DType.BF16, DType.I32


def value(name: str, *shape: Dim, dtype: DType = HALF) -> Value:
    return Value(name, TensorType(dtype, shape))


def pairs(queries: int, past: int, window: int, chunk: int) -> int:
    """Keys that each query sees, counted."""
    seen = 0
    for place in range(past, past + queries):
        first = max(0, place - window + 1) if window else 0
        first = max(first, place // chunk * chunk) if chunk else first
        seen += place - first + 1
    return seen


@pytest.mark.parametrize("window", [0, 5, 100])
@pytest.mark.parametrize("past", [0, 3, 9])
def test_pairs_under_a_window_are_those_counted(past: int, window: int) -> None:
    op = RaggedAttention(num_heads=4, kv_heads=2, head_dim=8, value_dim=8, window=window)
    held = min(past, window - 1) if window else past
    cache = value("past", 3, 2, held, 8)
    ins = (value("q", 21, 48), None, value("v", 21, 16), value("l", 3, dtype=LONG), cache, cache)
    work = op.work(ins, op.infer(ins))
    assert work is not None
    assert work.floor_mac == 3 * 4 * pairs(7, past, window, 0) * 16


@pytest.mark.parametrize(("queries", "past"), [(4, 0), (11, 0), (3, 6), (1, 7), (1, 8)])
def test_pairs_within_chunks_are_those_counted(queries: int, past: int) -> None:
    op = RaggedAttention(num_heads=2, kv_heads=1, head_dim=8, value_dim=4, chunk=4)
    cache = (value("k", 1, 1, past % 4, 8), value("c", 1, 1, past % 4, 4))
    q, v = value("q", queries, 24), value("v", queries, 4)
    ins = (q, None, v, value("l", 1, dtype=LONG), *cache)
    work = op.work(ins, op.infer(ins))
    assert work is not None
    assert work.floor_mac == 2 * pairs(queries, past, 0, 4) * 12


def test_prompts_have_what_decodes_leave() -> None:
    batch, seq, decodes = symbol("batch"), symbol("seq"), symbol("decodes")
    n = batch * seq + decodes * 2
    op = RaggedAttention(num_heads=4, kv_heads=2, head_dim=8, value_dim=8, decode_tokens=2)
    past = value("past", batch, 2, 30, 8, dtype=DType.F8E4M3FN)
    cache = value("cache", decodes, 2, 50, 8, dtype=DType.F8E4M3FN)
    lengths = value("l", batch, dtype=LONG)
    ins = (value("q", n, 64), None, None, lengths, past, past, cache, cache)
    outs = op.infer(ins)
    assert outs == (
        TensorType(HALF, (n, 32)),
        TensorType(DType.F8E4M3FN, (n, 16)),
        TensorType(DType.F8E4M3FN, (n, 16)),
    )
    found = op.problem(ins, outs)
    assert found == MixedAttention(
        Attention(batch, 4, 2, seq, seq + 30, 8, 8, True, 0, 8),
        Attention(decodes, 4, 2, 2, 52, 8, 8, True, 0, 8),
    )
    work, env = op.work(ins, outs), {"batch": 2, "seq": 5, "decodes": 3}
    assert work is not None
    assert evaluate(work.floor_mac, env) == 4 * 16 * (
        2 * pairs(5, 30, 0, 0) + 3 * pairs(2, 50, 0, 0)
    )


def test_attention_to_an_encoder_has_only_cached_keys_when_it_decodes() -> None:
    op = RaggedAttention(num_heads=2, kv_heads=2, head_dim=8, value_dim=8, is_causal=0)
    cache = value("cache", 3, 2, 100, 8)
    ins = (value("q", 3, 16), None, None, None, None, None, cache, cache)
    outs = op.infer(ins)
    assert op.problem(ins, outs) == Attention(3, 2, 2, 1, 100, 8, 8, False, 0, 16)
    assert each_once(ins, outs[:1]).write_bytes == 3 * 16 * 2


def test_queries_of_no_known_shape_are_left_open() -> None:
    op = RaggedAttention(num_heads=2, kv_heads=2, head_dim=8, value_dim=8)
    ins = (Value("q", TensorType(HALF, None)), None, None, value("l", 3, dtype=LONG))
    assert op.infer(ins) == (TensorType(HALF, None),)
    assert op.work(ins, op.infer(ins)) is None
    assert op.problem(ins, op.infer(ins)) is None


def test_collectives_state_the_whole_message() -> None:
    x = (value("x", 12, 8),)
    for op, exchange, shape, nbytes in (
        (AllReduce(ranks=4), Exchange.ALL_REDUCE, (12, 8), 192),
        (AllGather(ranks=4, axis=0), Exchange.ALL_GATHER, (48, 8), 768),
        (ReduceScatter(ranks=4, axis=0), Exchange.REDUCE_SCATTER, (3, 8), 192),
    ):
        outs = op.infer(x)
        assert outs == (TensorType(HALF, shape),)
        assert op.problem(x, outs) == Collective(exchange, nbytes, 4, 1)


def test_a_gate_halves_what_it_reads() -> None:
    op, x = GatedActivation(activation="silu"), (value("x", 4, 20),)
    outs = op.infer(x)
    assert outs == (TensorType(HALF, (4, 10)),)
    work = op.work(x, outs)
    assert work is not None
    assert (work.alu, work.sfu) == (4 * 10 * 4, 4 * 10 * 2)


def test_experts_of_one_rank_do_the_mean_ranks_work() -> None:
    def experts(ranks: int, held: int) -> MoE:
        op = MoE(k=2, activation_type="swiglu", swiglu_fusion=1, ranks=ranks)
        ins = (
            value("x", 64, 16),
            value("r", 64, 8),
            value("w", held, 24, 16),
            None,
            value("v", held, 16, 12),
        )
        work, problem = op.work(ins, op.infer(ins)), op.problem(ins, op.infer(ins))
        assert work is not None
        assert work.mac == 64 * 2 * 16 * 36 // ranks
        assert problem == Experts(64, 16, 12, 2, 8, ranks, 3)
        return op

    experts(1, 8)
    experts(4, 2)


def test_scales_of_blocks_are_told_by_their_shape() -> None:
    op = GemmFloat8(transB=1, dtype=HALF)
    x, w = value("x", 4, 256, dtype=DType.F8E4M3FN), value("w", 384, 256, dtype=DType.F8E4M3FN)
    one = value("s", 1, dtype=DType.F32)
    for scales, block in ((one, 0), (value("s", 3, 2, dtype=DType.F32), 128)):
        ins = (x, w, None, one, scales)
        assert op.problem(ins, op.infer(ins)) == Product(1, 4, 384, 256, scale_block=block)


def test_a_decay_for_each_element_is_no_product_of_matrices() -> None:
    state = value("s", 2, 4, 8, 16, dtype=DType.F32)
    step, both = value("dt", 6, 4), value("b", 6, 16)
    for decay, mac in ((value("A", 4), 2 * 6 * 32 * 16), (value("A", 32, 16), 0)):
        op = StateSpaceScan(heads=4)
        ins = (value("x", 6, 32), step, both, both, value("l", 2, dtype=LONG), state, decay)
        work = op.work(ins, op.infer(ins))
        assert work is not None
        assert work.mac == mac
        assert op.infer(ins)[1] == state.type
