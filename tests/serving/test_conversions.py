"""Conversions around products, attention that is written out, and weights widened for prompts."""

from __future__ import annotations

import pytest

from perfc.analyzers.features.power_limit import matrix_flop_per_s
from perfc.analyzers.features.sheet import EffectiveSheet, Sheet
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.ir.problem import Attention
from perfc.machine import load_machine
from perfc.serving import llm
from perfc.serving.cost.conversions import as_run, between_s, saved_s, sooner, widening_s
from perfc.serving.cost.program import KernelCost, Program, passes_of
from perfc.serving.engine import Engine
from perfc.serving.simulation.scheduler import Chunk

HIDDEN, CACHED, INNER, LAYERS, HEADS = 4096, 1024, 14336, 32, 32
V100 = load_machine("v100")
COPIED = 637_459_028_268.75
"""Bytes a second that copies of a V100 are told to reach; its sheet states 900e9."""
PROMPT = {"batch": 1, "seq": 512, "past": 0}


def engine(weights: str, runtime: str = "llamacpp") -> Engine:
    model = read_config("llama-3-8b")
    precision = precision_of(model.dtype, None, weights)
    return Engine.of(model, load_machine("rtx3090"), precision, Parallel(), runtime)


def prompts(weights: str = "f16") -> Program:
    precision = precision_of("float16", None, weights)
    return passes_of(read_config("llama-3-8b"), precision, Parallel(), "llamacpp").prefill


def test_operands_and_results_of_products_are_converted() -> None:
    program, tokens = prompts(), 8192
    wanted = [
        i
        for i, k in enumerate(program.table.kernels)
        if k.work.mac and program.counts[i] == LAYERS and not isinstance(k.problem, Attention)
    ]
    taken_s = between_s(program, wanted, {"batch": 1, "seq": tokens, "past": 0}, V100)
    operands = HIDDEN + HIDDEN + HIDDEN + INNER
    results = HIDDEN + 2 * CACHED + HIDDEN + 2 * INNER + HIDDEN
    nbytes = 6 * LAYERS * tokens * (operands + results)
    assert taken_s == pytest.approx(nbytes / COPIED)


def test_attention_writes_all_its_scores() -> None:
    program, tokens = prompts(), 4096
    wanted = [i for i, k in enumerate(program.table.kernels) if isinstance(k.problem, Attention)]
    near, far = (
        between_s(program, wanted, {"batch": 1, "seq": tokens, "past": past}, V100)
        for past in (0, 1000)
    )
    nbytes = 24 * LAYERS * HEADS * tokens * 1000
    assert far - near == pytest.approx(nbytes / COPIED)


def test_a_last_cache_makes_no_conversion_faster() -> None:
    """A board with 72 MB keeps 512 tokens between products, one with 6 MB does not."""
    program, env = prompts(), PROMPT
    every = range(len(program.counts))
    kept, moved = (load_machine(name) for name in ("rtx4090", "rtx3090"))
    rates = [EffectiveSheet(machine).device_bytes_per_s for machine in (kept, moved)]
    taken_s = [between_s(program, every, env, machine) for machine in (kept, moved)]
    assert taken_s[0] * rates[0] == pytest.approx(taken_s[1] * rates[1])


def test_packed_weights_are_read_and_written_wide() -> None:
    linear = LAYERS * HIDDEN * (2 * HIDDEN + 2 * CACHED + 3 * INNER)
    # four bits, and sixteen and four more for each group of 128
    nbytes = linear * (4 + (16 + 4) / 128 + 16) / 8
    taken_s = widening_s(prompts("i4"), prompts(), V100)
    assert taken_s == pytest.approx(nbytes / COPIED, rel=1e-3)
    assert widening_s(prompts(), prompts(), V100) == 0


def test_products_that_add_up_in_halves_take_the_higher_rate() -> None:
    """GeForce boards add up in 32 bits at half the rate, their power leaves more of that."""
    program, board = prompts(), load_machine("rtx3070")
    products = [
        i
        for i, k in enumerate(program.table.kernels)
        if k.work.mac and program.counts[i] == LAYERS and not isinstance(k.problem, Attention)
    ]
    mac = 512 * LAYERS * HIDDEN * (2 * HIDDEN + 2 * CACHED + 3 * INNER)
    half, wide = (matrix_flop_per_s(code, Sheet(board)) for code in ("f16", "bf16"))
    assert 1.5 * wide < half < 2 * wide
    saved = saved_s(program, products, PROMPT, board)
    assert saved == pytest.approx(2 * mac / wide - 2 * mac / half)
    every = range(len(program.counts))
    assert saved_s(program, every, PROMPT, board) == pytest.approx(saved, rel=0.02)


@pytest.mark.parametrize("board", ["v100", "rtx-a6000", "h100"])
def test_other_boards_add_up_in_32_bits_as_fast(board: str) -> None:
    program = prompts()
    every = range(len(program.counts))
    assert saved_s(program, every, PROMPT, load_machine(board)) == 0


def test_packed_weights_that_are_read_as_they_are_save_nothing() -> None:
    packed, board = prompts("i4"), load_machine("rtx3070")
    products = [i for i, n in enumerate(packed.counts) if n == LAYERS]
    assert saved_s(packed, products, PROMPT, board) == 0


def test_a_kernel_that_is_over_sooner_keeps_its_floor() -> None:
    cost = KernelCost(time_s=4.0, low_s=3.0, high_s=6.0, floor_s=2.5, energy_j=100.0)
    assert sooner(cost, 1.0) == KernelCost(3.0, 2.5, 4.5, 2.5, 75.0)
    assert sooner(cost, 2.0).time_s == 2.5
    assert sooner(cost, 0.0) is cost


def test_quantised_weights_make_tokens_faster_and_prompts_slower() -> None:
    packed, half = engine("i4").cost, engine("f16").cost
    assert packed.step_s((), 1, 512) < 0.6 * half.step_s((), 1, 512)
    chunk = (Chunk(512, 0),)
    assert half.step_s(chunk, 0, 0) < packed.step_s(chunk, 0, 0)
    # products of up to 32 tokens read them as they are
    few = (Chunk(32, 0),)
    assert packed.step_s(few, 0, 0) < half.step_s(few, 0, 0)


def test_nothing_obliges_an_engine_to_widen_its_weights() -> None:
    packed, half = engine("i4").cost, engine("f16").cost
    floors = [cost.parts("floor_s", (Chunk(128, 0),), 0, 0).kernels for cost in (packed, half)]
    assert floors[0] < floors[1]
    low, time, high, floor = (
        packed.parts(q, (Chunk(512, 0),), 0, 0).kernels
        for q in ("low_s", "time_s", "high_s", "floor_s")
    )
    assert floor < low < time < high


def test_llama_cpp_computes_in_f16_whatever_a_model_is_published_in() -> None:
    assert engine("i4").precision.half.code == "f16"
    assert engine("i4", "vllm").precision.half.code == "bf16"


def test_other_engines_convert_nothing() -> None:
    stage = engine("i4", "vllm").cost.stages[0][0]
    every = range(len(stage.passes.prefill.counts))
    cost = KernelCost(4.0, 3.0, 6.0, 2.5, 100.0)
    program, kind = stage.passes.prefill, stage.kind
    assert as_run(cost, program, every, PROMPT, stage.machine, kind) is cost
    assert stage.widened is None


@pytest.mark.parametrize(
    ("asked", "run"), [("fp8", "w8"), ("fp8-block", "w8"), ("i8", "w8"), ("nvfp4", "mxfp4")]
)
@pytest.mark.parametrize("model", ["llama-3-8b", "qwen3-30b-a3b"])
def test_llama_cpp_widens_formats_that_it_does_not_multiply(
    model: str, asked: str, run: str
) -> None:
    report = llm(model, "b200", runtime="llamacpp", dtype=asked, isl=512, osl=8)
    assert report.weights == run
    assert any(f"{run} weights are widened" in note for note in report.notes)
    assert "llamacpp has no bf16: computed in f16" in report.notes


def test_a_model_in_f16_lacks_no_bf16() -> None:
    report = llm("llama-2-7b", "h100", runtime="llamacpp", isl=128, osl=8)
    assert not any("bf16" in note for note in report.notes)
