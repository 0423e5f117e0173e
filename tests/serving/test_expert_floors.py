"""Floors of steps with experts: those that the tokens of a step touch, not those of one token."""

from __future__ import annotations

import pytest

import perfc
from perfc.frontend.config import read_config
from perfc.frontend.config.facts import parameters
from perfc.ir.problem import Experts
from perfc.ir.symbolic.evaluate import Numbers
from perfc.machine import load_machine
from perfc.serving import llm
from perfc.view.report import Verdict


def test_experts_are_touched_as_tokens_choose() -> None:
    def times(tokens: int, skew: float | None = None) -> float:
        problem = Experts(tokens, 64, 64, 4, 128, skew=skew)
        return problem.touched_over_least(Numbers({}))

    assert times(1) == pytest.approx(1)
    assert times(2) == pytest.approx((8 - 4 * 4 / 128) / 4)
    assert times(32) == pytest.approx(128 * (1 - (124 / 128) ** 32) / 4)
    assert times(1 << 20) == pytest.approx(32)
    assert times(32, skew=1.2) == 1
    assert Experts(32, 64, 64, 8, 8).touched_over_least(Numbers({})) == 1
    # each of 8 ranks has 16 experts and touches one of them at least
    assert Experts(1 << 20, 64, 64, 4, 128, 8).touched_over_least(Numbers({})) == pytest.approx(16)


@pytest.mark.parametrize("name", ["gpt-oss-120b", "mixtral-8x7b", "qwen3-30b-a3b"])
def test_a_step_reads_the_experts_of_its_users(name: str) -> None:
    found = [llm(name, "h200", concurrency=n, requests=2 * n, osl=32) for n in (1, 32)]
    one, many = (report.steps[-1] for report in found)
    assert many.floor_s > 2 * one.floor_s
    for step in (one, many):
        assert step.floor_s <= step.low_s
    memory = found[1].memory
    bandwidth = load_machine("h200").level("device")
    assert bandwidth is not None
    # at most all weights are read, here most of them
    whole_s = memory.weight_bytes / bandwidth.bandwidth.value
    assert 0.5 * whole_s < many.floor_s < 1.3 * whole_s
    assert parameters(read_config(name)).active < parameters(read_config(name)).resident


def test_a_pass_that_reads_its_experts_is_limited_by_memory() -> None:
    report = perfc.analyze("gpt-oss-120b", "h100", dims={"batch": 1, "seq": 128})
    limits = Verdict.of(report, predict=True).limits
    assert limits[0].title == "device memory"
    assert limits[0].share > 0.8
