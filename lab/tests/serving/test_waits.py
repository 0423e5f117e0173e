"""What a request waits for beside steps, energy of steps with prompts, how published runs were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import perfc
from perfc.errors import ParseError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.serving import power
from perfc.serving.engine import Engine
from perfc.serving.host import HostModel, amounts
from perfc.serving.simulation.arrivals import drawn_workload
from perfc.serving.simulation.load import Load
from perfc.serving.simulation.metrics import latencies
from perfc.serving.simulation.simulate import simulate
from perfc.serving.simulation.steady_state import Share
from perfc_lab.serving import ServedRow, ServerSettings, ServingQuantity
from perfc_lab.serving.inferencex import ServedRun
from perfc_lab.serving.learn import USUAL_REQUEST_S, fitted, predicted
from perfc_lab.serving.replay import ReplayedNumber
from perfc_lab.serving.settings import together


@pytest.fixture(scope="module")
def engine() -> Engine:
    model = read_config("llama-3.2-1b")
    return Engine.of(
        model,
        load_machine("h100"),
        precision_of(model.dtype, None),
        Parallel(),
        "vllm",
        law=HostModel(),
    )


def test_a_server_and_its_tokenizer_delay_the_first_token_alone(engine: Engine) -> None:
    run = simulate(drawn_workload(1, 256, 16, count=1), engine.limits(256, 16), engine.cost)
    share = Share(run, 1, 0, 1, 1.0)
    before, after = (
        latencies((share,), law.before_s)
        for law in (HostModel(), HostModel(request_s=0.01, token_s=1e-5))
    )
    delay_s = 0.01 + 256e-5
    assert after.ttft.mean == pytest.approx(before.ttft.mean + delay_s)
    assert after.end_to_end.mean == pytest.approx(before.end_to_end.mean + delay_s)
    assert after.tpot == before.tpot


def test_energy_of_prompts_takes_the_factor_of_prompts(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(power, "boards", lambda: {power.ANY_BOARD: power.BoardPower(1.2, 0.0)})
    run = simulate(drawn_workload(1, 512, 1, count=2), engine.limits(512, 1), engine.cost)
    assert all(s.chunks for s in run.strides)

    def joules(**law: float) -> float:
        return power.run_energy_j(run, replace(engine, law=HostModel(**law)))

    assert joules(prompts=0.5) == pytest.approx(joules() / 2)
    assert joules(kernels=0.5) == pytest.approx(joules())


def waiting(count: int) -> list[ReplayedNumber]:
    """Rows of a server that takes 100 ms of its own."""
    found: list[ReplayedNumber] = []
    for i in range(count):
        kernels_s = 0.02 * (1 + i % 10)
        row = ServedRow(
            "t", str(i), "m", "h100", "vllm", "", "", "", 1, 1, 1, 1, 1, 2, 1, False, (), False, {}
        )
        first, step = amounts(kernels_s, 0.0, 1, 0), amounts(kernels_s / 10, 0.0, 0, 1)
        found += [
            ReplayedNumber(row, ServingQuantity.TTFT_S, first, 0.1 + kernels_s),
            ReplayedNumber(row, ServingQuantity.TPOT_S, step, kernels_s / 10),
        ]
    return found


def test_few_rows_say_little_of_a_server_and_many_do() -> None:
    usual = HostModel(request_s=USUAL_REQUEST_S)
    few, many = fitted(waiting(10), usual), fitted(waiting(2000), usual)
    assert few.request_s == USUAL_REQUEST_S
    assert many.request_s == fitted(waiting(2000)).request_s == 0.1
    assert max(abs(predicted(many, s) / s.value - 1) for s in waiting(20)) < 0.1


def test_users_of_an_engine_that_computes_prompts_first_are_not_in_step() -> None:
    load = Load(isl=64, osl=100, concurrency=4)
    lengths = [r.output_tokens for r in load.workload(1, is_staggered=True).requests]
    assert lengths[:4] == [12, 38, 62, 88]
    assert set(lengths[4:]) == {100}
    assert {r.output_tokens for r in load.workload(1).requests} == {100}


def asked_of(
    model: str, runtime: str, system: str, precision: str, isl: int, users: int, groups: int
) -> tuple[ServerSettings, str]:
    """Return the settings of a run of InferenceX, which its lists leave out."""
    run = ServedRun(system, runtime, precision, "0.19.0", "", isl, 1024, users, 8, ())
    return together(model, run, groups)


def test_servers_are_told_what_their_publisher_says() -> None:
    fp8 = asked_of("deepseek-ai/DeepSeek-R1", "sglang", "b200_sxm", "fp8", 8192, 4, 1)
    assert fp8 == (ServerSettings(32768, 256, 10, utilization=0.82), "f8e4m3")
    even = asked_of("deepseek-ai/DeepSeek-R1", "sglang", "b200_sxm", "fp8", 1024, 4, 1)
    assert even[0].max_num_seqs == 512
    many = asked_of("deepseek-ai/DeepSeek-R1", "sglang", "b200_sxm", "fp8", 8192, 16, 1)
    assert many[0].looks_every == 30
    own = asked_of("deepseek-ai/DeepSeek-R1", "sglang", "b200_sxm", "fp4", 8192, 16, 8)
    assert own[0].looks_every == 0, "ranks with sequences of their own look each step"
    whole = asked_of("deepseek-ai/DeepSeek-R1", "trtllm", "h200_sxm", "fp8", 8192, 64, 1)
    assert whole[0].token_budget == 8320
    short = asked_of("deepseek-ai/DeepSeek-R1", "trtllm", "h200_sxm", "fp8", 1024, 64, 1)
    assert short[0].token_budget == 8192
    few = asked_of("openai/gpt-oss-120b", "vllm", "h100_sxm", "fp4", 1024, 32, 1)
    assert few == (ServerSettings(8192, 32, 0, recorded_tokens=2048), "")
    many = asked_of("openai/gpt-oss-120b", "vllm", "h100_sxm", "fp4", 1024, 512, 1)
    assert many[0].max_num_seqs == 100, "its client has so many connections"
    short = asked_of("MiniMaxAI/MiniMax-M2.5", "vllm", "b200_sxm", "fp8", 1024, 64, 1)
    assert short == (ServerSettings(), "f8e4m3")
    unlisted = asked_of("Qwen/Qwen3-8B", "vllm", "h100_sxm", "fp8", 1024, 32, 1)
    assert unlisted == (ServerSettings(), "")


def test_transformers_waits_for_its_host_in_every_step() -> None:
    """Llama 2 7B, a token at a time, unrecorded, on an A100: 25.5 a second.

    Source: PyTorch, "Accelerating Generative AI with PyTorch II: GPT, Fast", 2023.
    """
    model, machine = read_config("llama-2-7b"), load_machine("a100")
    engine = Engine.of(model, machine, precision_of("float16", None), Parallel(), "transformers")
    each, ends = 2 * 8 + 10 + 5 + 3 + 6, 8 + 2
    assert engine.cost.launches((), 1) == 32 * each + ends
    # eager hosts of boards from Ampere on, 43 published runs; this host was a sixth faster
    assert engine.law.launch_s == pytest.approx(36e-6)
    step_s, published_s = engine.cost.step_s((), 1, 32.0), 1 / 25.5
    assert published_s == pytest.approx(step_s, rel=0.2)
    assert engine.law.tpot_low * step_s < published_s < engine.law.tpot_high * step_s
    busy = engine.cost.step_s((), 256, 2048.0)
    assert busy > engine.law.launch_s * engine.cost.launches((), 1), "launched meanwhile"


def test_a_host_that_was_measured_is_that_of_transformers(tmp_path: Path) -> None:
    text = load_machine("a100").path.read_text(encoding="utf-8")
    file = tmp_path / "ours.toml"
    stated = '\nhost_launch_s = { value = 12e-6, from = "assumed", note = "ours" }\n'
    file.write_text(text.replace("\n[compute.matrix", f"{stated}\n[compute.matrix", 1))
    engine = Engine.of(
        read_config("llama-2-7b"),
        load_machine(file),
        precision_of("float16", None),
        Parallel(),
        "transformers",
    )
    assert engine.law.launch_s == pytest.approx(12e-6)
    assert (engine.law.tpot_low, engine.law.tpot_high) == pytest.approx((0.7, 1.4))


def test_what_a_launch_takes_is_said_of_an_engine_that_waits_for_each() -> None:
    engine = perfc.llm("llama-2-7b", "a100", runtime="transformers", host_launch="12us")
    assert (
        engine.notes[-1]
        == "host overhead of transformers was not measured: 12.0 µs per launch is assumed"
    )
    slow = perfc.llm("llama-2-7b", "a100", runtime="transformers", host_launch=60e-6)
    assert engine.latencies is not None
    assert slow.latencies is not None
    assert slow.latencies.tpot.mean > 2 * engine.latencies.tpot.mean
    with pytest.raises(ParseError, match="does not apply to vllm"):
        perfc.llm("llama-2-7b", "a100", host_launch="12us")
    with pytest.raises(ParseError, match="no duration"):
        perfc.llm("llama-2-7b", "a100", runtime="transformers", host_launch="soon")
