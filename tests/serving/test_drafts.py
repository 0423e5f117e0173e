"""Speculative decoding: how many tokens a step writes, what it costs, what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from perfc.errors import ModelError, ParseError
from perfc.frontend.config import ForwardStep, lower, read_config, token_predictor, verifying
from perfc.frontend.config.facts import parameters
from perfc.ir.graph import Module
from perfc.ir.tensors.types import Type
from perfc.serving import llm
from perfc.serving.cost.drafts import Speculation
from perfc.serving.simulation.arrivals import drawn_workload
from perfc.serving.simulation.metrics import latencies, written
from perfc.serving.simulation.scheduler import Chunk, Limits
from perfc.serving.simulation.simulate import simulate
from perfc.serving.simulation.steady_state import Share


class Fixed:
    """A step takes a second, however much is in it."""

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("tokens", "acceptance", "each"),
    [(0, 0.0, 1.0), (1, 0.85, 1.85), (3, 0.7, 2.533), (3, 1.0, 4.0), (8, 0.5, 1.996)],
)
def test_a_step_writes_what_is_kept_and_one_more(
    tokens: int, acceptance: float, each: float
) -> None:
    assert Speculation(tokens, acceptance).checked().tokens_per_step == pytest.approx(each, 1e-3)


@pytest.mark.parametrize("each", [1.0, 1.85, 2.533, 4.0])
def test_requests_end_in_as_many_fewer_steps(each: float) -> None:
    run = simulate(drawn_workload(4, 100, 401, count=16), Limits(tokens_per_step=each), Fixed())
    found = latencies((Share(run, 1, 0, 16, 1.0),), lambda _: 0.0)
    assert found.tpot is not None
    assert found.tpot.mean == pytest.approx(1 / each, rel=0.02)
    assert found.itl is not None
    assert found.itl.mean == pytest.approx(1 / each, rel=0.02)
    # the first token of each of 16 requests is written by its prompt; what a sequence is given
    # beyond its end is dropped
    assert 16 * 400 <= sum(map(written, run.strides)) <= 16 * (400 + 2 * each)


def test_room_is_kept_for_what_may_be_kept() -> None:
    tight = Limits(kv_tokens=1100, drafted=15, tokens_per_step=2.0)
    plain = Limits(kv_tokens=1100)
    workload = drawn_workload(4, 200, 60, count=8)
    with_drafts, without = (simulate(workload, limits, Fixed()) for limits in (tight, plain))
    assert with_drafts.preempted > without.preempted
    assert all(s.last_s > 0 for s in with_drafts.served)


def test_the_layer_that_predicts_further_tokens_is_that_of_the_model() -> None:
    """DeepSeek-V3's card: 671B of the main model and 14B of the module, tables counted again."""
    model = read_config("deepseek-v3")
    assert model.predictors == 1
    assert parameters(token_predictor(model)).resident == pytest.approx(14e9, rel=0.04)
    with pytest.raises(ModelError, match="no layers that predict further"):
        token_predictor(read_config("llama-3.1-8b"))


def test_a_step_verifies_all_that_is_drafted() -> None:
    model = read_config("llama-3.2-1b")
    plain, verified = (inputs(lower(m, ForwardStep.DECODE)) for m in (model, verifying(model, 3)))
    assert verified == inputs(lower(model, ForwardStep.DECODE, new_tokens=4))
    assert plain == inputs(lower(model, ForwardStep.DECODE, new_tokens=1))
    assert plain != verified


def inputs(module: Module) -> list[Type]:
    """Types of what a module reads."""
    return [v.type for v in module.graph.inputs]


def test_drafts_cost_their_model_and_save_steps() -> None:
    plain, drafted = (
        llm(
            "llama-3.1-8b",
            "h100",
            isl=512,
            osl=64,
            concurrency=2,
            has_parts=True,
            draft=name,
            draft_tokens=tokens,
            acceptance=acceptance,
        )
        for name, tokens, acceptance in (("", 0, 0.0), ("llama-3.2-1b", 3, 0.8))
    )
    assert drafted.drafts is not None
    assert drafted.drafts.drafter == "llama-3.2-1b"
    assert drafted.latencies is not None
    assert plain.latencies is not None
    assert drafted.latencies.tpot is not None
    assert plain.latencies.tpot is not None
    assert drafted.latencies.tpot.mean < plain.latencies.tpot.mean
    small = llm("llama-3.2-1b", "h100", isl=512, osl=64)
    more = drafted.memory.weight_bytes - plain.memory.weight_bytes
    assert more == pytest.approx(small.memory.weight_bytes)
    step = drafted.steps[-1]
    assert step.time_s > plain.steps[-1].time_s
    assert step.floor_s > plain.steps[-1].floor_s
    assert {p.what for p in step.parts} - {p.what for p in plain.steps[-1].parts} == {"drafts"}


def test_a_model_lends_its_tables_to_its_own_predictor() -> None:
    load: dict[str, Any] = {"isl": 64, "osl": 8, "parallel": {"tp": 8}}
    plain = llm("deepseek-v3", "h200", **load)
    drafted = llm("deepseek-v3", "h200", **load, draft_tokens=1, acceptance=0.8)
    layer = token_predictor(read_config("deepseek-v3"))
    own = parameters(layer).resident - 2 * 129_280 * 7168
    more = drafted.memory.weight_bytes - plain.memory.weight_bytes
    assert more == pytest.approx(own / 8, rel=0.03), "weights of one byte, on eight ranks"


@pytest.mark.parametrize(
    ("drafts", "said"),
    [
        (Speculation(3), "a number of draft tokens and an acceptance"),
        (Speculation(0, 0.5), "a number of draft tokens and an acceptance"),
        (Speculation(3, 1.5), "--acceptance"),
        (Speculation(-1, 0.5), "--draft-tokens"),
        (Speculation(65, 0.5), "0 to 64"),
        (Speculation(drafter=read_config("llama-3.2-1b")), "--draft: "),
    ],
)
def test_numbers_that_are_none_are_refused(drafts: Speculation, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        drafts.checked()
