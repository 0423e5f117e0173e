"""Tokens that choose experts by a power law, as somebody says."""

from __future__ import annotations

import json

import pytest

from perfc.cli import run as perfc
from perfc.errors import ParseError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.ir.ops.contraction.moe import MoE
from perfc.serving import llm
from perfc.serving.additions import with_skew
from perfc.serving.cost.program import passes_of
from perfc_lab.serving.replay import engine_of_row

from .test_evidence import row

MIXTURE = "qwen3-30b-a3b"


def skews(model: str, skew: float | None) -> set[float | None]:
    found = with_skew(read_config(model), skew)
    passes = passes_of(found, precision_of(found.dtype, None), Parallel(), "vllm")
    every = (node.op for p in (passes.prefill, passes.decode) for node in p.module.graph.nodes)
    return {op.skew for op in every if isinstance(op, MoE)}


def test_the_exponent_reaches_every_kernel_of_experts() -> None:
    assert skews(MIXTURE, 1.2) == {1.2}
    assert skews(MIXTURE, 0.0) == {0.0}
    assert skews(MIXTURE, None) == {None}


def test_tokens_that_prefer_some_experts_touch_fewer() -> None:
    load = {"isl": 225, "osl": 600, "concurrency": 64}
    even, usual, skewed = (
        llm(MIXTURE, "h100", parallel={"tp": 2}, expert_skew=skew, **load)  # type: ignore[arg-type]
        for skew in (0.0, None, 1.01)
    )
    assert even.latencies is not None
    assert usual.latencies is not None
    assert skewed.latencies is not None
    assert skewed.latencies.tpot.mean < 0.97 * even.latencies.tpot.mean
    assert usual.latencies.tpot.mean == pytest.approx(even.latencies.tpot.mean, rel=0.02)
    said = "tokens choose experts by a power law of exponent 1.01"
    assert [said in r.notes for r in (even, usual, skewed)] == [False, False, True]


@pytest.mark.long
def test_a_search_is_told_how_tokens_choose_experts(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["llm", "search", MIXTURE, "-t", "h100", "--isl", "225", "--osl", "600"]
    args += ["--slo", "tpot=12ms", "--isolated", "--output-format", "json"]
    rates: list[float] = []
    for more in ([], ["--expert-skew", "1.2"]):
        assert perfc([*args, *more]) == 0
        cheapest = json.loads(capsys.readouterr().out)["cheapest"]
        rates.append(cheapest["throughput"]["output_tokens_per_s"] / cheapest["gpus"])
    assert rates[1] > 1.02 * rates[0], "fewer experts are read, so that more users are in time"


@pytest.mark.parametrize(
    ("model", "skew", "message"),
    [
        ("llama-3.1-8b", 1.0, "llama-3.1-8b has no experts"),
        (MIXTURE, -0.1, "an exponent of -0.1"),
        (MIXTURE, 2.5, "an exponent of 2.5"),
    ],
)
def test_an_exponent_that_says_nothing_is_refused(model: str, skew: float, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        with_skew(read_config(model), skew)
    assert "--expert-skew" in str(caught.value)


def test_questions_of_one_kind_prefer_some_experts() -> None:
    told = [
        engine_of_row(row(model=model, dataset=task)).model.expert_skew
        for model, task in (
            (MIXTURE, "gpqa"),
            (MIXTURE, "lm-arena-chat"),
            (MIXTURE, ""),
            ("qwen3-8b", "gpqa"),
        )
    ]
    assert told == [1.01, None, None, None]
