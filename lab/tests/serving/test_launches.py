"""Which steps of an engine are recorded as graphs, and what its host launches of the others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from perfc.commands.workloads.llm import command
from perfc.errors import PerfcError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.serving import llm
from perfc.serving.cost.drafts import Speculation
from perfc.serving.engine import Engine, kind_of
from perfc.serving.host import HostModel
from perfc.serving.simulation.scheduler import Chunk
from perfc_lab.serving.inferencex import ServedRun
from perfc_lab.serving.settings import together

LAUNCH_S = 1e-3
"""So long that a host is all that a step of many launches takes."""
LAYERS = 16


def engine_of(
    model: str = "llama-3.2-1b", runtime: str = "vllm", launch_s: float = LAUNCH_S, **more: Any
) -> Engine:
    known = read_config(model)
    return Engine.of(
        known,
        load_machine("h100"),
        precision_of(known.dtype, known.quantization),
        Parallel(),
        runtime,
        law=HostModel(launch_s=launch_s),
        **more,
    )


def test_a_step_beyond_the_largest_recorded_one_is_launched_kernel_by_kernel() -> None:
    cost = engine_of().cost
    assert cost.recorded == 512, "vLLM's default"
    # nine kernels of each layer, the embedding, the last norm and the head
    singly = LAYERS * 9 + 3
    assert (cost.launches((), 512), cost.launches((), 513)) == (0, singly)
    assert cost.step_s((), 513, 64.0) == pytest.approx(singly * LAUNCH_S)
    assert cost.step_s((), 512, 64.0) < 10 * LAUNCH_S
    bare = engine_of(launch_s=0.0).cost
    assert bare.step_s((), 512, 64.0) == cost.step_s((), 512, 64.0), "recorded"


def test_a_recorded_step_with_prompts_is_launched_in_pieces_around_attention() -> None:
    cost = engine_of().cost
    few, many = (Chunk(112, 0),), (Chunk(113, 0),)
    assert cost.launches(few, 400) == 3 * LAYERS
    assert cost.launches(many, 400) == LAYERS * 9 + 4, "one more kernel takes the last tokens"
    assert cost.step_s(few, 400, 64.0) == pytest.approx(3 * LAYERS * LAUNCH_S)
    assert cost.step_s(many, 400, 64.0) == pytest.approx((LAYERS * 9 + 4) * LAUNCH_S)


def test_what_takes_longer_than_its_launches_hides_them() -> None:
    slow, bare = (engine_of(launch_s=s).cost for s in (1e-4, 0.0))
    long = (Chunk(8192, 0),)
    assert slow.step_s(long, 0, 0.0) == bare.step_s(long, 0, 0.0)


@pytest.mark.parametrize(
    ("runtime", "family", "more", "most"),
    [
        ("vllm", "llama", {}, 512),
        ("vllm", "llama", {"max_num_seqs": 8}, 16),
        ("vllm", "gpt_oss", {"max_num_seqs": 8}, 1024),
        ("vllm", "gpt_oss", {"recorded_tokens": 2048}, 2048),
        ("sglang", "llama", {}, math.inf),
        ("trtllm", "llama", {"recorded_tokens": 128}, 128),
        ("llamacpp", "llama", {}, math.inf),
        ("transformers", "llama", {}, 0),
    ],
)
def test_the_largest_recorded_step_is_by_runtime_model_and_seats(
    runtime: str, family: str, more: dict[str, int], most: float
) -> None:
    assert replace(kind_of(runtime), **more).most_recorded(family) == most  # type: ignore[arg-type]


def test_drafted_tokens_count_in_a_step() -> None:
    drafts = Speculation(3, 0.7, read_config("llama-3.2-1b"))
    cost = engine_of("llama-3.2-3b", speculation=drafts).cost
    assert cost.recorded == 512
    assert cost.launches((), 128) == 0
    assert cost.launches((), 129) > 0, "516 tokens"
    few = engine_of("llama-3.2-3b", speculation=drafts, max_num_seqs=8).cost
    assert few.recorded == 2 * 8 * 4
    assert few.launches((), 8) == 0


def test_experts_are_several_kernels_of_a_host() -> None:
    dense, experts = (
        engine_of(m).cost.stages[0][0].launches for m in ("qwen3-8b", "qwen3-30b-a3b")
    )
    # 12 kernels a layer, and of 11 with experts one is of eight launches
    assert dense.decoding == 36 * 12 + 3
    assert experts.decoding == 48 * (10 + 8) + 3


LOAD = {"isl": 8, "osl": 8, "requests": 96, "max_num_seqs": 64}
NOTE = "steps of more than {} tokens launch kernel by kernel: --recorded-tokens"


@pytest.mark.parametrize(
    ("users", "recorded", "said"), [(33, 32, True), (32, 32, False), (33, None, False)]
)
def test_a_reader_is_told_of_steps_that_are_not_recorded(
    users: int, recorded: int | None, said: bool
) -> None:
    report = llm("llama-3.2-1b", concurrency=users, recorded_tokens=recorded, **LOAD)  # type: ignore[arg-type]
    assert (NOTE.format(recorded or 128) in report.notes) is said


def test_more_recorded_steps_are_faster() -> None:
    own, more = (
        llm("qwen3-30b-a3b", "h200", concurrency=48, recorded_tokens=n, **LOAD)  # type: ignore[arg-type]
        for n in (32, 64)
    )
    assert own.throughput is not None
    assert more.throughput is not None
    assert own.throughput.output_tokens_per_s < 0.8 * more.throughput.output_tokens_per_s


def test_a_command_takes_the_largest_recorded_step() -> None:
    setting = ["llama-3.2-1b", "--isl", "8", "--osl", "8", "--concurrency", "33"]
    found = CliRunner().invoke(command, [*setting, "--recorded-tokens", "32"])
    assert found.exit_code == 0
    assert NOTE.format(32) in " ".join(found.output.split())
    none = CliRunner().invoke(command, [*setting, "--recorded-tokens", "0"])
    assert none.exit_code == 2


def test_a_runtime_that_records_nothing_is_told_no_largest_step() -> None:
    with pytest.raises(PerfcError, match="transformers does not record steps"):
        llm("llama-3.2-1b", runtime="transformers", recorded_tokens=64)


def published(
    model: str, runtime: str, system: str, precision: str, isl: int, users: int, groups: int
) -> tuple[Any, str]:
    """Return the settings of a run of InferenceX, which its lists leave out."""
    run = ServedRun(system, runtime, precision, "0.19.0", "", isl, 1024, users, 8, ())
    return together(model, run, groups)


def test_published_servers_were_told_their_largest_recorded_step() -> None:
    setting = "vllm", "b200_sxm", "fp4", 1024, 64, 1
    assert published("openai/gpt-oss-120b", *setting)[0].recorded_tokens == 2048
    assert published("openai/gpt-oss-120b", "trtllm", *setting[1:])[0].recorded_tokens == 0
