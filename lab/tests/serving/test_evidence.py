"""Measured rows of served models: read from tables, replayed and scored, with numbers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import pstdev
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.errors import PerfcError
from perfc.frontend.config import Parallel
from perfc.machine import load_machine
from perfc.passes.runtimes import Batching
from perfc.serving.cost.drafts import Speculation
from perfc.serving.cost.memory import MemoryDemand
from perfc.serving.engine import kind_of
from perfc.serving.host import LEARNED, HostModel
from perfc.serving.simulation.arrivals import Request
from perfc.serving.simulation.scheduler import Chunk, Limits
from perfc_lab.serving import (
    ServedRow,
    ServerSettings,
    ServingQuantity,
    aic,
    replay,
    tables,
)
from perfc_lab.serving.hosts import (
    VLLM_LAUNCH_S,
)
from perfc_lab.serving.replay import ReplayedNumber, Unanswered, samples
from perfc_lab.serving.settings import tasks
from perfc_lab.serving.workloads import at_once

ROW = ServedRow(
    "t",
    "one",
    "llama-3.1-8b",
    "h100-sxm5-80gb",
    "vllm",
    "",
    "bf16",
    "",
    2,
    1,
    1,
    1,
    100,
    11,
    4,
    False,
    (),
    False,
    {ServingQuantity.TPOT_S: 0.02},
)


def row(**changed: Any) -> ServedRow:
    return replace(ROW, **changed)


def sample(
    value: float = 1.0, quantity: ServingQuantity = ServingQuantity.TPOT_S, **changed: Any
) -> ReplayedNumber:
    amounts = changed.pop("amounts", (1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0))
    return ReplayedNumber(row(**changed), quantity, amounts, value)


class Bare:
    """An engine: a microsecond a token, a millisecond a sequence, a tenth of that exchanged."""

    kind = replace(kind_of("vllm"), token_budget=64)
    parallel = Parallel(2)
    ranks = 2
    speculation = Speculation()
    machine = load_machine("h100")

    def __init__(self, tokens: int = 4000) -> None:
        self.cost = self
        self.tokens = tokens

    def limits(self, isl: int, osl: int) -> Limits:
        return Limits(max_num_seqs=8, token_budget=64, kv_tokens=self.tokens)

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Any:
        spent = 1e-6 * sum(c.tokens for c in chunks) + 1e-3 * decodes
        watt = 300.0 if quantity == "energy_j" else 1.0
        return SimpleNamespace(kernels=spent * watt, exchanges=0.1 * spent * watt)

    def launched(self, parts: Any, chunks: Sequence[Chunk], decodes: int) -> Any:
        return parts

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        parts = self.parts("time_s", chunks, decodes, context)
        return float(parts.kernels + parts.exchanges)

    def demand(self, tokens: int, budget: int, sequences: int) -> MemoryDemand:
        return MemoryDemand(0.0, 0.0)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    requested: list[tuple[Any, ...]] = []

    def engine_of(*arguments: Any) -> Bare:
        requested.append(arguments)
        return Bare()

    monkeypatch.setattr(replay, "engine_of", engine_of)
    replay._loop.cache_clear()
    return requested


def answered(measured: ServedRow) -> list[ReplayedNumber]:
    found = samples(measured)
    assert not isinstance(found, Unanswered), found
    return found


def test_gpus_are_those_of_decodes_and_of_prompts() -> None:
    assert row().gpus == 2
    assert row(tensor=4, attention_data=2, engines=3).gpus == 24
    assert row(tensor=1, engines=2, prefill=(4, 1, 3)).gpus == 2 + 12


def test_a_static_batch_is_its_prompts_and_then_its_tokens(bare: list[tuple[Any, ...]]) -> None:
    (found,) = answered(row(is_static=True, measured={ServingQuantity.TOKENS_PER_S: 50.0}))
    requested = ("llama-3.1-8b", ROW.target, "bf16", "", Parallel(2, 1, 1, 1), "vllm", 0)
    assert bare == [(*requested, ServerSettings(), HostModel(launch_s=VLLM_LAUNCH_S), "", None)]
    amounts = dict(zip(LEARNED, found.amounts, strict=True))
    # one step of four prompts of 100 tokens, then ten steps of four sequences
    assert amounts["prompts"] == pytest.approx(4e-4)
    assert amounts["kernels"] == pytest.approx(10 * 4e-3)
    assert amounts["exchanges"] == pytest.approx(4e-5 + 4e-3)
    assert amounts["step_s"] == pytest.approx(11)
    assert amounts["prompt_s"] == pytest.approx(4)
    assert amounts["sequence_s"] == amounts["few_s"] == pytest.approx(4 + 40)
    assert found.value == pytest.approx(4 * 11 / 50)
    (first,) = answered(row(is_static=True, measured={ServingQuantity.TTFT_S: 0.5}))
    assert first.value == 0.5
    assert first.amounts[3] == 1


@pytest.mark.parametrize(("tensor", "data"), [(4, 1), (20, 20), (32, 1), (48, 48), (72, 72)])
def test_ranks_of_racks_have_sequences_of_their_own(tensor: int, data: int) -> None:
    assert aic._ranks(tensor, 1, tensor, 1) == (tensor, tensor, data)


def test_prompts_apart_wait_for_their_workers(bare: list[tuple[Any, ...]]) -> None:
    measured = {ServingQuantity.TTFT_S: 0.4, ServingQuantity.TPOT_S: 0.005}
    first, token = answered(row(prefill=(4, 1, 2), measured=measured))
    assert bare[1] == ("llama-3.1-8b", ROW.target, "bf16", "", Parallel(4, 1, 1, 1), "vllm")
    assert (first.quantity, first.value, token.value) == (ServingQuantity.TTFT_S, 0.4, 0.005)
    assert token.amounts[0] == pytest.approx(4e-3)
    assert token.amounts[3] == 1
    # two steps of 64 and 36 tokens, then at most two of decodes: that which runs and the next
    assert 1.1e-4 < 1.1 * first.amounts[1] < 2 * 1.1e-4 + 2 * 4.4e-3
    assert first.amounts[3] == pytest.approx(2e4 * first.amounts[1])
    answered(row(prefill=(3, 1, 1), measured=measured))
    assert bare[-1][4] == Parallel(1, 1, 1, 3), "heads do not divide among three ranks"
    answered(row(prefill=(4, 4, 1), measured=measured))
    assert bare[-1][4] == Parallel(1, 1, 4, 4), "ranks that share experts have their own prompts"


def test_one_worker_of_prompts_that_cannot_keep_up_lets_them_queue(
    bare: list[tuple[Any, ...]],
) -> None:
    measured = {ServingQuantity.TTFT_S: 1.0}
    (first,) = answered(row(isl=1_900, osl=2, concurrency=40, prefill=(1, 1, 1), measured=measured))
    # a prompt takes 2.09 ms, an answer about as long: 1 to 40 prompts at first, then of all others
    waits = (20.5 + 9 * 39) / 10
    assert first.amounts[1] == pytest.approx(waits * 1.9e-3, rel=0.05)


def test_users_beyond_the_seats_of_decodes_wait_for_answers(bare: list[tuple[Any, ...]]) -> None:
    measured = {ServingQuantity.TTFT_S: 1.0, ServingQuantity.TPOT_S: 0.02}
    first, token = answered(row(concurrency=16, prefill=(4, 1, 16), measured=measured))
    # eight users write while eight others wait for them: an answer of 11 tokens of eight sequences
    assert token.amounts[0] == pytest.approx(8e-3)
    assert 1.1 * first.amounts[1] == pytest.approx(11 * 8.8e-3, rel=0.15)


def test_a_closed_loop_gives_means_of_its_requests(bare: list[tuple[Any, ...]]) -> None:
    measured = {ServingQuantity.TTFT_S: 0.1, ServingQuantity.TPOT_S: 0.02}
    found = {s.quantity: s for s in answered(row(concurrency=1, measured=measured))}
    # alone: prompts of 64 and 36 tokens, then ten steps of one sequence
    first, token = found[ServingQuantity.TTFT_S].amounts, found[ServingQuantity.TPOT_S].amounts
    assert first[1] == pytest.approx(1e-4)
    assert first[3] == pytest.approx(2)
    assert token[0] == pytest.approx(1e-3)
    assert token[3] == pytest.approx(1)
    assert token[5] == pytest.approx(1)


def test_users_who_start_together_stay_together_where_prompts_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    class First(Bare):
        kind = replace(kind_of("sglang"), token_budget=64)

        def limits(self, isl: int, osl: int) -> Limits:
            return replace(super().limits(isl, osl), batching=Batching.PROMPTS_FIRST)

        def parts(
            self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float
        ) -> Any:
            spent = 1e-3 * sum(c.tokens for c in chunks) + 1e-3 * decodes
            return SimpleNamespace(kernels=spent, exchanges=0.0)

    monkeypatch.setattr(replay, "engine_of", lambda *_: First())
    replay._loop.cache_clear()
    (found,) = answered(row(runtime="sglang", isl=64, osl=11))
    replay._loop.cache_clear()
    # ten steps of four sequences take 4 ms each; the user whose prompt of 64 ms was computed first
    # waits for three more in all ten rounds, the next one for two
    assert sum(found.amounts[:3]) == pytest.approx((4 + 6.4 * (3 + 2 + 1) / 4) * 1e-3)


def test_rates_are_of_the_middle_of_a_run_and_of_all_engines(bare: list[tuple[Any, ...]]) -> None:
    measured = {ServingQuantity.TOKENS_PER_S: 100.0, ServingQuantity.ENERGY_J: 2.0}
    one = {s.quantity: s for s in answered(row(osl=50, measured=measured))}
    two = {
        s.quantity: s for s in answered(row(osl=50, concurrency=8, engines=2, measured=measured))
    }
    rate, twice = one[ServingQuantity.TOKENS_PER_S], two[ServingQuantity.TOKENS_PER_S]
    assert twice.amounts == rate.amounts
    assert twice.value == pytest.approx(2 * rate.value)
    # steps of four sequences take 4.4 ms, and little else happens: 1.1 ms a token
    assert sum(rate.amounts[:3]) / (100 * rate.value) == pytest.approx(1.1e-3, rel=0.02)
    # of two ranks: joules of kernels, of prompts and of exchanges, then seconds of the same
    amounts = one[ServingQuantity.ENERGY_J].amounts
    drawn_j, (kernels_s, prompts_s, exchanges_s) = amounts[:3], amounts[3:]
    assert drawn_j == pytest.approx((300 * kernels_s, 300 * prompts_s, 300 * exchanges_s))
    assert exchanges_s == pytest.approx(0.1 * (kernels_s + prompts_s))
    assert 0 < prompts_s < kernels_s
    assert kernels_s + prompts_s + exchanges_s == pytest.approx(2 * 1.1e-3, rel=0.02)


def test_users_of_a_closed_loop_ask_as_often_as_a_steady_state_needs(
    bare: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[tuple[Any, ...]] = []

    def drawn_workload(*sizes: int, **how: Any) -> None:
        requested.append((*sizes, how["count"], how["is_staggered"]))
        raise PerfcError("asked")

    monkeypatch.setattr("perfc.serving.simulation.load.drawn_workload", drawn_workload)
    samples(row(concurrency=300))
    samples(row(concurrency=301))
    assert requested == [(300, 100, 11, 3000, False), (301, 100, 11, 3010, False)]


@pytest.mark.parametrize(
    ("model", "target", "task", "seats", "times"),
    [
        ("Qwen/Qwen3-8B", "h100-sxm5-80gb", "gpqa", 128, 1),
        ("Qwen/Qwen3-8B", "h100-sxm5-80gb", "gpqa", 512, 4),
        ("Qwen/Qwen3-14B", "b200-sxm-180gb", "gpqa", 512, 3),
        ("openai/gpt-oss-20b", "b200-sxm-180gb", "gpqa", 4096, 21),
        ("openai/gpt-oss-120b", "h100-sxm5-80gb", "gpqa", 2048, 12),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "h100-sxm5-80gb", "lm-arena-chat", 256, 2),
        ("Qwen/Qwen3-14B", "h100-sxm5-80gb", "lm-arena-chat", 512, 1),
        ("meta-llama/Llama-3.1-8B", "h200", "lm-arena-chat", 2048, 3),
    ],
)
def test_questions_are_asked_so_often_that_some_wait(
    model: str, target: str, task: str, seats: int, times: int
) -> None:
    known = tasks()[task]
    assert known.repeats(model, target, seats) == times
    assert known.distinct * times > seats


def test_answers_vary_about_the_mean_that_was_measured() -> None:
    requested = row(source=tables.ML_ENERGY, dataset="lm-arena-chat", isl=500, osl=640)
    work = at_once(requested, 300, 16)
    answers = [r.output_tokens for r in work.requests]
    assert (work.concurrency, len(answers)) == (300, 1024)
    assert sum(answers) / 1024 == pytest.approx(640, rel=0.01)
    assert pstdev(answers) / 640 == pytest.approx(1.0, rel=0.1)
    prompts = [r.input_tokens for r in work.requests]
    assert sum(prompts) / 1024 == pytest.approx(500, rel=0.01)
    assert pstdev(prompts) / 500 == pytest.approx(1.0, rel=0.1)
    assert min(prompts) >= 1
    assert [r.prompt for r in work.requests] == list(range(1024))
    assert {r.cached_tokens for r in work.requests} == {0}
    assert at_once(requested, 300, 16) == work, "drawn alike"
    again = at_once(replace(requested, model="Qwen/Qwen3-8B", target="b200-sxm-180gb"), 512, 16)
    held = [r.cached_tokens for r in again.requests]
    assert [r.input_tokens for r in again.requests] == prompts * 2, "the same come again"
    assert held == [0] * 1024 + [(n - 1) // 16 * 16 for n in prompts]
    gpqa = at_once(replace(requested, dataset="gpqa"), 8, 16)
    assert {r.input_tokens for r in gpqa.requests} == {500}, "nobody says that these vary"
    assert [r.prompt for r in again.requests[1023:1026]] == [1023, 0, 1]
    plain = at_once(row(osl=9), 3, 16)
    assert set(plain.requests) == {Request(0.0, 100, 9)}, "nobody asks the same"


def test_a_server_is_measured_while_every_seat_is_taken(bare: list[tuple[Any, ...]]) -> None:
    """Answers of short and long requests are drawn anew; the longest ones are left alone."""
    measured = {ServingQuantity.TOKENS_PER_S: 1.0}
    requested = row(
        source=tables.ML_ENERGY, dataset="gpqa", osl=40, concurrency=4, measured=measured
    )
    (found,) = answered(requested)
    amounts = dict(zip(LEARNED, found.amounts, strict=True))
    # steps without a prompt among them have four sequences each
    assert amounts["sequence_s"] == pytest.approx(4 * amounts["step_s"], rel=0.06)
    whole = 198 * 40
    assert 0.9 * whole < found.value < whole


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16, 32, 64])
def test_powers_of_two_share_heads(ranks: int, bare: list[tuple[Any, ...]]) -> None:
    answered(row(prefill=(ranks, 1, 1), measured={ServingQuantity.TTFT_S: 0.4}))
    assert bare[-1][4] == Parallel(ranks, 1, 1, 1, max(1, ranks // 8)), "eight GPUs a node"
    answered(row(target="gb200", prefill=(ranks, 1, 1), measured={ServingQuantity.TTFT_S: 0.4}))
    assert bare[-1][4] == Parallel(ranks, 1, 1, 1), "a rack is one node"


def test_without_users_there_are_as_many_as_the_memory_holds(
    bare: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[int] = []
    monkeypatch.setattr(
        replay,
        "_loop",
        lambda e, load, *more: (
            requested.append(load.concurrency) or {ServingQuantity.TPOT_S: (1.0,) * 7}
        ),
    )
    for isl in (100, 1000, 5000):
        answered(row(isl=isl, osl=100, concurrency=0))
    answered(row(concurrency=24, engines=2, attention_data=3, tensor=1))
    assert requested == [8, 3, 1, 4]
