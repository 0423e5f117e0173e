"""Low-rank adapters in a batch: their memory, their products, what they add to a step."""

from __future__ import annotations

import pytest

from perfc.analyzers.features.lowering import lower as row_of
from perfc.errors import ModelError, ParseError
from perfc.frontend.config import (
    Adapters,
    ForwardStep,
    Parallel,
    adapted,
    lower,
    precision_of,
    read_config,
    token_predictor,
)
from perfc.frontend.config.facts import parameters, weight_bytes
from perfc.ir.ops.contraction.grouped_matmul import GroupedGemm
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import bounds
from perfc.serving import llm
from perfc.serving.cost.program import Program

NAME = "llama-3.2-1b"
HALF = precision_of("bfloat16", None)


def products(name: str) -> int:
    """Products with adapters of a decode step."""
    module = lower(adapted(read_config(name), 16, 4), ForwardStep.DECODE, HALF)
    return sum(isinstance(node.op, GroupedGemm) for node in module.graph.nodes)


@pytest.mark.parametrize("tensor", [1, 4])
def test_adapters_hold_what_engines_keep_room_for(tensor: int) -> None:
    """Ranks that divide columns hold all of A, those that divide rows all of B: vLLM's default."""
    model, parallel = read_config(NAME), Parallel(tensor=tensor)
    with_them = weight_bytes(adapted(model, 16, 8), HALF, parallel)
    more = with_them - weight_bytes(model, HALF, parallel)
    hidden, inner, kv, layers = 2048, 8192, 512, 16
    qkv = 3 * hidden + (hidden + 2 * kv) // tensor
    out = hidden // tensor + hidden
    gate_up = 2 * hidden + 2 * inner // tensor
    down = inner // tensor + hidden
    assert more == 2 * 16 * 8 * layers * (qkv + out + gate_up + down)


def test_adapters_are_no_parameters_of_the_model() -> None:
    model = read_config(NAME)
    assert parameters(adapted(model, 16, 8)) == parameters(model)


def test_every_linear_layer_has_a_pair() -> None:
    assert products(NAME) == 2 * 4 * 16
    # latents, queries and output of attention; of 27 layers the first is dense, others have a
    # shared expert; the expansion that decoding absorbs has none
    assert products("deepseek-v2-lite") == 2 * 27 * (3 + 2)


def test_tokens_of_a_step_are_spread_over_adapters() -> None:
    program = Program.of(lower(adapted(read_config(NAME), 16, 8), ForwardStep.DECODE, HALF), "vllm")
    machine = load_machine("h100")
    for decodes, groups, rows in ((1, 1, 1.0), (4, 4, 1.0), (20, 8, 2.5), (64, 8, 8.0)):
        env = {"decodes": decodes, "context": 512}
        found = [
            row_of(bound, env)
            for bound in bounds(program.table, machine, env).kernels
            if isinstance(bound.kernel.anchor.op, GroupedGemm)
        ]
        assert len(found) >= 4
        for row in found:
            assert row is not None
            assert (row.class_name, row.dtype) == ("matmul", "bf16")
            assert (row.parameters["batch"], row.parameters["m"]) == (groups, rows)


def test_a_step_takes_longer_with_adapters_and_never_less_than_its_floor() -> None:
    options = {"isl": 128, "osl": 16, "concurrency": 8, "has_parts": True}
    plain, mixed = llm(NAME, "h100", **options), llm(NAME, "h100", lora_rank=16, loras=8, **options)  # type: ignore[arg-type]
    assert mixed.adapters == Adapters(16, 8)
    assert plain.adapters is None
    assert mixed.memory.weight_bytes > plain.memory.weight_bytes
    for with_them, without in zip(mixed.steps, plain.steps, strict=True):
        assert with_them.time_s > without.time_s > without.floor_s
        assert with_them.time_s > with_them.floor_s > without.floor_s
        named = {part.what: part.time_s for part in with_them.parts}
        assert named["adapters"] > 0.02 * with_them.time_s
    assert "adapters" not in {part.what for part in plain.steps[0].parts}
    assert any("adapters" in note for note in mixed.notes)


@pytest.mark.parametrize(
    ("rank", "count", "runtime", "says"),
    [
        (16, 0, "vllm", "both a rank and a count"),
        (0, 8, "vllm", "both a rank and a count"),
        (16, 8, "transformers", "does not mix adapters"),
        (1 << 20, 8, "vllm", "adapters of rank"),
    ],
)
def test_numbers_that_are_none_are_one_line(rank: int, count: int, runtime: str, says: str) -> None:
    with pytest.raises(ParseError, match=says):
        llm(NAME, "h100", lora_rank=rank, loras=count, runtime=runtime)


def test_a_keyword_that_is_none_is_one_line() -> None:
    with pytest.raises(ParseError, match="no 'lora'"):
        llm(NAME, "h100", lora=8)  # type: ignore[call-arg]


def test_what_cannot_have_adapters_says_so() -> None:
    with pytest.raises(ModelError, match="a decoder alone"):
        adapted(read_config("t5-small"), 16, 8)
    mixture = adapted(read_config("mixtral-8x7b"), 16, 8)
    assert any("routed experts" in part for part in mixture.left_out)
    assert token_predictor(adapted(read_config("deepseek-v3"), 16, 8)).adapters is None
