"""Keys that heads of queries share: read once, or by old kernels once for each head; windows."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from perfc.analyzers.features.sheet import Sheet
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.serving.cost.context import chunks_of, lengths, within
from perfc.serving.cost.grouped import ELEMENTS_PER_CLOCK, Rereads, reread_s, rereads_of
from perfc.serving.cost.stage import StageCost
from perfc.serving.engine import Engine
from perfc.serving.host import HostModel


def engine_of(name: str, version: str, cache: str = "", target: str = "h100") -> Engine:
    model = read_config(name)
    return Engine.of(
        model,
        load_machine(target),
        precision_of("float16", None, "f16", cache),
        Parallel(),
        "trtllm",
        version,
        law=HostModel(),
    )


def stage_of(name: str, version: str, cache: str = "", target: str = "h100") -> StageCost:
    return engine_of(name, version, cache, target).cost.stages[0][0]


@pytest.mark.parametrize(
    ("name", "runtime", "version", "bits", "is_anew"),
    [
        ("llama-2-70b", "trtllm", "0.6.1", 16, True),
        ("llama-2-70b", "trtllm", "0.8.0", 16, False),
        ("llama-3-8b", "trtllm", "0.10.0", 16, True),
        ("llama-3-8b", "trtllm", "0.11.0", 16, False),
        ("llama-3-8b", "trtllm", "", 16, False),
        ("llama-3-8b", "trtllm", "0", 16, False),
        ("llama-3-8b", "vllm", "0.10.0", 16, False),
        ("llama-2-7b", "trtllm", "0.6.1", 16, False),
        ("mixtral-8x7b", "trtllm", "0.9.0", 16, True),
        ("mixtral-8x7b", "trtllm", "0.9.0", 8, True),
        ("llama-2-70b", "trtllm", "0.9.0", 16, False),
        ("llama-2-70b", "trtllm", "0.10.0", 16, True),
        ("llama-2-70b", "trtllm", "0.10.0", 8, False),
        ("llama-2-70b", "trtllm", "0.11.0", 16, True),
        ("llama-2-70b", "trtllm", "0.11.0", 8, False),
        ("llama-2-70b", "trtllm", "0.12.0", 16, False),
        ("llama-3-8b", "trtllm", "0.10.0", 8, True),
    ],
)
def test_old_kernels_share_keys_in_groups_of_some_sizes(
    name: str, runtime: str, version: str, bits: int, *, is_anew: bool
) -> None:
    model, machine = read_config(name), load_machine("h100")
    found = rereads_of(model, runtime, version, bits, machine, 0)
    assert found is (Rereads.EVERYWHERE if is_anew else Rereads.NOWHERE)


def test_keys_read_anew_take_longer_and_may_still_be_read_once() -> None:
    old, new = engine_of("llama-3-8b", "0.10.0").cost, engine_of("llama-3-8b", "0.11.0").cost
    at: tuple[tuple[()], int, float] = ((), 64, 4096.0)
    assert old.parts("time_s", *at).kernels > 1.3 * new.parts("time_s", *at).kernels
    assert old.parts("floor_s", *at) == new.parts("floor_s", *at)
    first, second = (engine_of("llama-3-8b", v) for v in ("0.10.0", "0.11.0"))
    assert first.memory(2048, 128) == second.memory(2048, 128), "they are kept once"


def test_keys_read_anew_take_what_multiplying_them_for_each_head_takes() -> None:
    at = 64, 4096
    sheet = Sheet(load_machine("h100"))
    # 32 layers, 32 heads of queries, keys and values of 128; the token's own key is met too
    elements = 64 * 32 * 32 * 2 * 128 * (4096 + 1)
    told_s = elements / (ELEMENTS_PER_CLOCK * sheet.clock_hz * sheet.sm_count)
    for target in ("h100", "h200"):
        for cache in ("", "f8e4m3"):
            stage = stage_of("llama-3-8b", "0.10.0", cache, target)
            found_s = stage.decode_context.at("time_s", *at)
            assert found_s == pytest.approx(told_s, rel=0.01), (target, cache)


@pytest.mark.parametrize(
    ("name", "version", "slower"), [("llama-2-7b", "0.10.0", False), ("llama-3-8b", "", True)]
)
def test_only_heads_that_share_keys_read_them_anew(
    name: str, version: str, *, slower: bool
) -> None:
    stage = stage_of(name, version)
    wanted = stage._of_decode[0]
    env = {"decodes": 64, "context": 4096}
    assert (reread_s(stage.passes.decode, wanted, env, stage.machine) > 0) is slower


def test_a_window_bounds_what_is_read_anew() -> None:
    stage = stage_of("mistral-7b-v0.1", "0.9.0")
    program, wanted = stage.passes.decode, stage._of_decode[0]
    at = [
        reread_s(program, wanted, {"decodes": 8, "context": n}, stage.machine)
        for n in (2047, 4095, 8191)
    ]
    assert at[1] == pytest.approx(2 * at[0])
    assert at[2] == at[1]


def test_attention_in_a_window_reads_more_until_the_window_is_full() -> None:
    windowed = read_config("mistral-7b-v0.1")
    machine = load_machine("h100")
    cost = Engine.of(
        windowed, machine, precision_of("float16", None, "f16"), Parallel(), "vllm", law=HostModel()
    ).cost

    def step_s(context: float) -> float:
        return cost.parts("time_s", (), 64, context).kernels

    assert step_s(256.0) < step_s(1024.0) < step_s(4096.0)
    assert step_s(8192.0) == pytest.approx(step_s(65536.0))


@pytest.mark.parametrize("target", ["a100", "h100", "l40s", "rtx4090"])
def test_a_window_that_holds_every_token_changes_nothing(target: str) -> None:
    """Mistral and Llama 3 have the same heads; no card but those of aic_attention has windows."""
    windowed, plain = (stage_of(n, "", "", target) for n in ("mistral-7b-v0.1", "llama-3-8b"))
    for count, context in ((8, 512), (64, 1024), (256, 2048)):
        pair = [s.decode_context.at("time_s", count, context) for s in (windowed, plain)]
        assert pair[0] == pytest.approx(pair[1])


CHUNKED, CHUNK = "llama-4-scout", 8192


@pytest.mark.parametrize(
    ("runtime", "version", "target", "longest", "rereads"),
    [
        ("trtllm", "", "h200", 0, Rereads.CHUNKS),
        ("trtllm", "1.0", "h100", CHUNK, Rereads.CHUNKS),
        ("trtllm", "1.0", "h100", CHUNK - 1, Rereads.NOWHERE),
        ("trtllm", "1.0", "b200", 0, Rereads.NOWHERE),
        ("vllm", "", "h200", 0, Rereads.NOWHERE),
    ],
)
def test_no_kernel_before_blackwell_shares_keys_in_chunks(
    runtime: str, version: str, target: str, longest: int, rereads: Rereads
) -> None:
    model, machine = read_config(CHUNKED), load_machine(target)
    assert rereads_of(model, runtime, version, 8, machine, longest) is rereads


def chunked(target: str, longest: int) -> StageCost:
    model = read_config(CHUNKED)
    return Engine.of(
        model,
        load_machine(target),
        precision_of(model.dtype, None, "f8", "f8e4m3"),
        Parallel(8, 1, 8, 1),
        "trtllm",
        "1.0",
        law=HostModel(),
        longest=longest,
    ).cost.stages[0][0]


def test_chunks_take_what_multiplying_their_keys_for_each_head_takes() -> None:
    short, long = (chunked("h200", n).decode_context for n in (CHUNK - 1, CHUNK))
    sheet = Sheet(load_machine("h200"))
    # 36 of 48 layers, five heads of queries on each of eight GPUs, keys and values of 128
    elements = 64 * 36 * 5 * 2 * 128 * 4097
    least_s = elements / (ELEMENTS_PER_CLOCK * sheet.clock_hz * sheet.sm_count)
    assert long.at("time_s", 64, 4096) > least_s > short.at("time_s", 64, 4096)
    assert long.at("floor_s", 64, 4096) == pytest.approx(short.at("floor_s", 64, 4096))


@pytest.mark.parametrize(
    ("context", "longest", "seen"),
    [
        (5000, 0, 5000),
        (9000, 0, CHUNK // 2),
        # from 1,024 to 9,216 tokens: those beyond a chunk are read again
        (5120, 9216, round((sum(range(1024, CHUNK)) + sum(range(1024))) / CHUNK)),
        (8704, 9216, 512),
        (9216, 9216, 1024),
        (4000, 8000, 4000),
    ],
)
def test_sequences_see_what_is_left_of_their_chunks(context: int, longest: int, seen: int) -> None:
    found = within({"decodes": 1, "context": context}, CHUNK, longest)
    assert found["context"] == pytest.approx(seen, abs=1)
    assert within({"decodes": 1, "context": context}, 0, longest)["context"] == context


def test_memory_keeps_chunks_that_are_over() -> None:
    stage = chunked("h200", 0)
    program = stage.passes.decode
    assert chunks_of(program) == {CHUNK}
    demands = [stage.demand(n, 8192, 64).kv_bytes for n in (1000, 9000, 40000)]
    assert demands == pytest.approx([demands[0]] * 3)
    assert [limit for limit, _ in stage.caches] == [math.inf]


def test_chunks_are_looked_at_where_they_end() -> None:
    usual = (128.0, 8192.0, 16384.0)
    chunks, plain = (chunked("b200", 0).passes.decode, stage_of("llama-3-8b", "1.0").passes.decode)
    assert lengths(chunks, usual, 0) == lengths(plain, usual, 9216) == usual
    more = lengths(chunks, usual, 9216)
    assert set(usual) < set(more)
    assert 9216.0 in more
    assert list(more) == sorted(more)
    assert max(b - a for a, b in pairwise(more) if b <= 9216) <= 9216 / 32


def test_models_without_chunks_have_one_set_of_grids() -> None:
    plain, chunks = ("llama-3-8b", CHUNKED)
    for name, is_one in ((plain, True), (chunks, False)):
        model = read_config(name)
        first, second = (
            Engine.of(
                model,
                load_machine("b200"),
                precision_of(model.dtype, None),
                Parallel(8),
                "trtllm",
                law=HostModel(),
                longest=longest,
            ).cost.stages[0][0]
            for longest in (9000, 9216)
        )
        assert (first is second) is is_one
