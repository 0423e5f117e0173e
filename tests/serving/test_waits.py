"""What a request waits for beside steps, energy of steps with prompts, how published runs were."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.serving.arrivals import closed_loop
from perfc.serving.engine import Engine
from perfc.serving.evidence import Quantity, ServedRow
from perfc.serving.evidence.learn import fitted, predicted
from perfc.serving.evidence.replay import Sample
from perfc.serving.evidence.settings import FILE, apart
from perfc.serving.host import HostLaw, amounts
from perfc.serving.load import Load
from perfc.serving.power import run_energy_j
from perfc.serving.service import waited
from perfc.serving.simulate import simulate


@pytest.fixture(scope="module")
def engine() -> Engine:
    model = read_config("llama-3.2-1b")
    return Engine.of(
        model, load_machine("h100"), precision_of(model.dtype, ""), Parallel(), "vllm",
        law=HostLaw(),
    )  # fmt: skip


def test_launches_of_a_prompt_delay_the_first_token_alone(engine: Engine) -> None:
    slow = replace(engine, law=HostLaw(request_s=0.01, launch_s=1e-4))
    run = simulate(closed_loop(2, 256, 16, count=4), engine.limits(256, 16), engine.cost)
    assert engine.launches == 16 * 9 + 4, "nine of each layer, four of both ends"
    for before, after in zip(run.served, waited(run, slow).served, strict=True):
        own_s = 0.01 + 1e-4 * engine.launches
        assert after.ttft_s == pytest.approx(before.ttft_s + own_s)
        assert after.tpot_s == pytest.approx(before.tpot_s)


def test_energy_of_prompts_takes_the_factor_of_prompts(engine: Engine) -> None:
    run = simulate(closed_loop(1, 512, 1, count=2), engine.limits(512, 1), engine.cost)
    assert all(s.chunks for s in run.strides)

    def joules(**law: float) -> float:
        return run_energy_j(run, replace(engine, law=HostLaw(waiting=0.0, **law)))

    assert joules(prompts=0.5) == pytest.approx(joules() / 2)
    assert joules(kernels=0.5) == pytest.approx(joules())


def test_launches_are_told_from_requests_by_models_of_unlike_sizes() -> None:
    true = HostLaw(request_s=0.02, launch_s=6e-5)
    samples: list[Sample] = []
    for launches in (300, 900, 1500):
        for kernels_s in (0.02, 0.05, 0.2):
            row = ServedRow(
                "t", f"{launches} {kernels_s}", "m", "h100", "vllm", "", "", "", 1, 1, 1, 1, 1, 2,
                1, False, (), False, {},
            )  # fmt: skip
            first, step = amounts(kernels_s, 0.0, 1, 0), amounts(kernels_s / 10, 0.0, 0, 1)
            samples += [
                Sample(row, Quantity.TTFT_S, first, true.waits_s(launches) + kernels_s, launches),
                Sample(row, Quantity.TPOT_S, step, kernels_s / 10, launches),
            ]
    law = fitted(samples)
    assert law.launch_s == pytest.approx(true.launch_s)
    assert max(abs(predicted(law, s) / s.value - 1) for s in samples) < 0.1


def test_users_of_an_engine_that_computes_prompts_first_are_not_in_step() -> None:
    load = Load(isl=64, osl=100, concurrency=4)
    lengths = [r.output_tokens for r in load.workload(1, is_staggered=True).requests]
    assert lengths[:4] == [12, 38, 62, 88]
    assert set(lengths[4:]) == {100}
    assert {r.output_tokens for r in load.workload(1).requests} == {100}


def test_settings_of_published_runs_are_found_where_they_are_one() -> None:
    found = apart("b200_sxm", "fp4", "0.8.1.post1", (1024, 1024), 1214, 8)
    assert found is not None
    assert (found.prompt_workers, found.token_workers, found.drafted) == (1, 2, 2)
    assert found.has_own_sequences
    both = "b200_sxm", "fp4", "0.8.1.post1", (1024, 1024), 6
    assert apart(*both, 8) is None, "with drafts and without"
    assert apart("b200_sxm", "fp4", "0.8.1.post1", (1024, 1024), 1214, 4) is None
    assert apart("b200_sxm", "fp8", "0.8.1.post1", (1024, 1024), 1214, 8) is None


def test_every_setting_is_one() -> None:
    tree = tomllib.loads(FILE.read_text(encoding="utf-8"))
    assert "Apache-2.0" in tree["source"]
    for file in tree["file"]:
        for isl, osl, users, prompts, tokens, ranks, is_own, expert, drafted in file["settings"]:
            assert {isl, osl} <= {1024, 8192}
            assert users
            assert min(*users, prompts, tokens) >= 1
            assert ranks in (4, 8, 16, 32)
            assert expert in (1, ranks)
            assert isinstance(is_own, bool)
            assert 0 <= drafted <= 3
