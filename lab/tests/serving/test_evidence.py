"""Measured rows of served models: read from tables, replayed and scored, with numbers by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import pstdev
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from perfc.common.fitted import as_toml
from perfc.errors import PerfcError
from perfc.frontend.config import Parallel, WeightFormat
from perfc.passes.runtimes import Batching
from perfc.serving.cost.drafts import Speculation
from perfc.serving.engine import kind_of
from perfc.serving.host import COMMENT, LEARNED, HostModel
from perfc.serving.power import ANY_BOARD, BoardPower, board_of
from perfc.serving.simulation.arrivals import Request
from perfc.serving.simulation.scheduler import Chunk, Limits
from perfc_lab.serving import (
    ServedRow,
    ServerSettings,
    ServingQuantity,
    aic,
    energy,
    replay,
    scores,
    tables,
)
from perfc_lab.serving.checks import card_of, llama_cpp, replays
from perfc_lab.serving.hosts import (
    LAUNCH_S,
    SHARED_LAUNCH_S,
    VLLM_LAUNCH_S,
    launch_of,
)
from perfc_lab.serving.learn import (
    LEAST_ROWS,
    is_warm,
    left_out,
    model_fold,
    of_kernels,
    of_other_hosts,
)
from perfc_lab.serving.replay import ReplayedNumber, Unanswered, engine_of_row, samples
from perfc_lab.serving.scores import ServingEvidence, law_name, trained
from perfc_lab.serving.settings import tasks
from perfc_lab.serving.steady import waited
from perfc_lab.serving.weights import EXPERTS_NVFP4, published
from perfc_lab.serving.workloads import at_once, cached, spread_of

ROW = ServedRow(
    "t", "one", "llama-3.1-8b", "h100-sxm5-80gb", "vllm", "", "bf16", "", 2, 1, 1, 1, 100, 11, 4,
    False, (), False, {ServingQuantity.TPOT_S: 0.02},
)  # fmt: skip


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
    # two steps of 64 and 36 tokens; two of four users wait for another at first, one now and then
    waits = waited(4, 1, 4, 1.1e-4, 2, 11 * 4.4e-3).prompt_s / 1.1e-4
    assert 1 < waits < 1.5
    assert first.amounts[1] == pytest.approx(waits * 1e-4)
    assert first.amounts[3] == pytest.approx(2 * waits)
    answered(row(prefill=(3, 1, 1), measured=measured))
    assert bare[-1][4] == Parallel(1, 1, 1, 3), "heads do not divide among three ranks"
    answered(row(prefill=(4, 4, 1), measured=measured))
    assert bare[-1][4] == Parallel(1, 1, 4, 4), "ranks that share experts have their own prompts"


def test_one_worker_of_prompts_that_cannot_keep_up_lets_them_queue(
    bare: list[tuple[Any, ...]],
) -> None:
    measured = {ServingQuantity.TTFT_S: 1.0}
    (first,) = answered(
        row(isl=64_000, osl=2, concurrency=40, prefill=(1, 1, 1), measured=measured)
    )
    # a prompt takes 70.4 ms, an answer 2.2 ms: 1 to 40 prompts at first, then of all others
    waits = (20.5 + 9 * (40 - 2.2 / 70.4)) / 10
    assert first.amounts[1] == pytest.approx(waits * 64e-3, rel=1e-3)


def test_a_wait_for_a_seat_is_time_of_tokens(bare: list[tuple[Any, ...]]) -> None:
    measured = {ServingQuantity.TTFT_S: 1.0, ServingQuantity.TPOT_S: 0.02}
    first, token = answered(row(concurrency=16, prefill=(4, 1, 16), measured=measured))
    # eight users write while eight others wait for them: an answer of 11 tokens of eight sequences
    assert token.amounts[0] == pytest.approx(8e-3)
    wait = waited(16, 1, 8, 1.1e-4, 16, 11 * 8.8e-3)
    assert first.amounts[0] == pytest.approx(wait.seat_s / 8.8e-3 * 8e-3)
    assert first.amounts[0] == pytest.approx(11 * 8e-3, rel=0.15)
    assert first.amounts[1] == pytest.approx(wait.prompt_s / 1.1e-4 * 1e-4)


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

    def closed_loop(*sizes: int, **how: Any) -> None:
        requested.append((*sizes, how["count"], how["is_staggered"]))
        raise PerfcError("asked")

    monkeypatch.setattr("perfc.serving.simulation.load.closed_loop", closed_loop)
    samples(row(concurrency=300))
    samples(row(concurrency=301))
    assert requested == [(300, 100, 11, 1200, False), (301, 100, 11, 903, False)]


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


def test_what_has_no_configuration_is_unanswered() -> None:
    found = samples(row(model="nobody/knows-1b"))
    assert isinstance(found, Unanswered)
    assert found.reason == "no configuration of nobody/knows-1b"
    refused = samples(row(tensor=7))
    assert isinstance(refused, Unanswered)
    assert "7" in refused.reason


def test_experts_in_four_bits_leave_the_rest_as_it_was() -> None:
    requested = ("deepseek-v3", "b200", EXPERTS_NVFP4, "", Parallel(8, 1, 8), "vllm")
    experts = replay.engine_of(*requested).precision
    assert (experts.weights, experts.experts) == (WeightFormat.HALF, WeightFormat.NVFP4)
    plain = replay.engine_of("llama-3.1-8b", "b200", "nvfp4", "", Parallel(), "vllm")
    assert plain.precision.weights is WeightFormat.NVFP4
    assert plain.law == HostModel(launch_s=LAUNCH_S), "its host takes nothing but launches"


def test_lengths_vary_where_the_publisher_drew_them() -> None:
    assert spread_of(row(isl=1024, osl=8192)) == 0.2
    assert spread_of(row(isl=1024, osl=1000)) == 0.0
    assert spread_of(row(isl=1000, osl=1024)) == 0.0


def test_prompts_that_come_again_are_in_the_cache() -> None:
    known = row(isl=1600, osl=100, concurrency=50, distinct_prompts=100)
    roomy = Limits(kv_tokens=10**6, block_tokens=16)
    tokens, share = cached(known, roomy)
    assert tokens == 1584, "the last block is computed anew: its last token is wanted"
    # of 100 prompts 36.6 were not drawn in the first hundred draws, and 0.2 not in 600
    assert share == pytest.approx(1 - (0.99**100 - 0.99**600) * 100 / 500)
    running = 50 * (1600 + 50)
    half, none = (replace(roomy, kv_tokens=running + n) for n in (80_000, -1))
    assert cached(known, half)[1] == pytest.approx(share / 2), "half of them fit"
    assert cached(known, none)[1] == 0.0
    assert cached(row(), roomy) == (0, 0.0)
    few = cached(replace(known, concurrency=2), roomy)[1]
    assert few == pytest.approx(1 - (0.99**4 - 0.99**24) * 100 / 20)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((4, 1, 1, 1), (4, 1, 1)),
        ((2, 2, 2, 1), (2, 2, 1)),
        ((2, 4, 4, 2), (4, 4, 4)),
        ((8, 4, 2, 1), (8, 8, 1)),
        ((8, 1, 8, 1), (8, 8, 1)),
        ((1, 1, 8, 8), (8, 8, 8)),
        ((1, 4, 2, 8), (8, 8, 8)),
        ((1, 1, 1, 4), (4, 1, 4)),
        ((2, 1, 1, 4), (8, 1, 1)),
        ((12, 1, 1, 1), (12, 12, 12)),
        ((16, 1, 1, 1), (16, 1, 1)),
        ((9, 1, 1, 1), (9, 9, 9)),
        ((4, 1, 16, 4), (4, 4, 4)),
        ((2, 1, 4, 2), (2, 2, 2)),
        ((4, 4, 1, 4), (16, 1, 1)),
    ],
)
def test_ranks_are_told_from_degrees(
    given: tuple[int, int, int, int], expected: tuple[int, int, int]
) -> None:
    assert aic._ranks(*given) == expected


@pytest.mark.parametrize(
    ("model", "weights", "expected"),
    [
        ("openai/gpt-oss-20b", "f8", ""), ("Qwen/Qwen3-8B", "f8", "f8-block"),
        ("MiniMaxAI/MiniMax-M2", "f8", "f8-block"), ("meta/Llama", "f8", "f8"),
        ("deepseek-ai/DeepSeek-R1", "nvfp4", EXPERTS_NVFP4),
        ("deepseek-ai/DeepSeek-R1", "f8", "f8-block"), ("Qwen/Qwen3-8B", "nvfp4", "nvfp4"),
        ("deepseek-ai/DeepSeek-R1", "bf16", "bf16"),
    ],
)  # fmt: skip
def test_weights_are_those_that_were_published(model: str, weights: str, expected: str) -> None:
    assert published(model, weights) == expected


AIC = {
    "row_id": "a", "mode": "agg", "model_path": "Qwen/Qwen3-8B", "system": "h200_sxm",
    "backend": "trtllm", "backend_version": "1.0.0", "gemm_quant_mode": "fp8", "isl": 1024,
    "precision": "fp8",
    "osl": 512, "concurrency": 16, "batch_size": 4, "ttft_ms": 250.0, "tpot_ms": 8.0,
    "tp_size": 2, "moe_tp_size": 1, "moe_ep_size": 1, "attention_dp_size": 1,
    "decode_tp_size": 4, "decode_moe_tp_size": 1, "decode_moe_ep_size": 1,
    "decode_attention_dp_size": 1, "prefill_tp_size": 2, "prefill_moe_tp_size": 1,
    "prefill_moe_ep_size": 1, "prefill_attention_dp_size": 1, "prefill_num_workers": 3,
    "decode_num_workers": 2, "decode_batch_size": 5, "measured": "2026-03-25",
}  # fmt: skip


def written(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    pd.DataFrame(list(rows)).to_parquet(folder / f"{name}.parquet")
    return folder


def test_engines_of_aiconfigurator_are_read(tmp_path: Path) -> None:
    apart = {**AIC, "row_id": "b", "mode": "disagg", "concurrency": None}
    unstated = {**apart, "row_id": "c", "decode_num_workers": None, "prefill_num_workers": None,
                "ttft_ms": 252.0}  # fmt: skip
    block = {**AIC, "row_id": "d", "backend": "sglang", "gemm_quant_mode": None,
             "backend_version": None, "concurrency": None, "measured": None}  # fmt: skip
    whole, two, one, plain = aic.aic_serving(
        written(tmp_path, aic.AIC, AIC, apart, unstated, block)
    )
    assert (whole.source, whole.name, whole.model) == (aic.AIC, "a", "Qwen/Qwen3-8B")
    assert whole.target == "h200-sxm-141gb"
    assert (whole.runtime, whole.version, whole.weights) == ("trtllm", "1.0.0", "f8-block")
    assert (whole.tensor, whole.expert, whole.attention_data, whole.engines) == (2, 1, 1, 1)
    assert (whole.isl, whole.osl, whole.concurrency, whole.prefill) == (1024, 512, 16, ())
    assert whole.measured == {ServingQuantity.TTFT_S: 0.25, ServingQuantity.TPOT_S: 0.008}
    assert (whole.dataset, whole.is_static, whole.is_eager) == ("", False, False)
    assert (two.tensor, two.engines, two.prefill, two.dataset) == (4, 2, (2, 1, 3), aic.STATED)
    assert two.concurrency == 4, "the batch stated first"
    assert (one.engines, one.prefill, one.dataset) == (1, (2, 1, 1), aic.UNSTATED)
    assert (plain.weights, plain.version, plain.concurrency) == ("bf16", "", 4)
    assert (whole.measured_on, plain.measured_on) == ("2026-03-25", "")
    lone = {**apart, "batch_size": None}
    (found,) = aic.aic_serving(written(tmp_path, aic.AIC, lone))
    assert found.concurrency == 10, "five of each of two workers"
    kept = {**unstated, "system": "b200_sxm", "precision": "fp4", "gemm_quant_mode": "nvfp4",
            "backend_version": "0.8.1.post1", "isl": 1024, "osl": 1024, "concurrency": 1214,
            "decode_tp_size": 8}  # fmt: skip
    (found,) = aic.aic_serving(written(tmp_path, aic.AIC, kept))
    # inferencex/b200.toml: one worker of prompts, two of tokens whose 8 ranks have own sequences
    assert (found.tensor, found.attention_data, found.engines) == (1, 8, 2)
    assert (found.prefill, found.dataset, found.drafted) == ((2, 1, 1), aic.STATED, 2)
    newer = {**AIC, "backend": "sglang"}
    (found,) = aic.aic_serving(written(tmp_path, aic.AIC, newer))
    assert found.weights == "f8", "its newer products in blocks take what those with one scale do"


TRT = {
    "version": "0.10.0", "model": "GPTJ 6B", "gpu": "H100", "precision": "fp8", "isl": 128,
    "osl": 128, "metric": "tokens", "tp": 2, "pp": 1, "dep": 1, "value": 7.0,
    "total_output_tokens_per_s": 900.0, "batch": 64.0,
}  # fmt: skip


def test_benchmarks_of_tensorrt_llm_are_read(tmp_path: Path) -> None:
    faulty = {**TRT, "osl": 2048}
    first = {**TRT, "metric": "first_token_latency_ms", "precision": "fp16", "batch": None,
             "model": "LLaMA 70B"}  # fmt: skip
    split = {**TRT, "version": "1.0", "dep": 8, "tp": 1, "model": "DeepSeek-R1", "precision": "fp4",
             "gpu": "B200"}  # fmt: skip
    rate, ttft, experts = tables.trtllm_throughput(
        written(tmp_path, tables.TRTLLM, TRT, faulty, first, split)
    )
    assert rate.name == "0.10.0 GPTJ 6B H100 fp8 128/128 0"
    assert rate.measured == {ServingQuantity.TOKENS_PER_S: 900.0}
    assert (rate.weights, rate.cache, rate.tensor, rate.expert) == ("f8", "f8e4m3", 2, 1)
    assert (rate.concurrency, rate.is_static, rate.attention_data) == (64, True, 1)
    assert ttft.measured == {ServingQuantity.TTFT_S: 0.007}
    assert (ttft.model, ttft.weights, ttft.cache) == ("LLaMA v2 70B", "f16", "")
    assert (ttft.concurrency, ttft.is_static) == (0, False)
    assert (experts.tensor, experts.expert, experts.attention_data) == (1, 8, 8)
    assert experts.weights == EXPERTS_NVFP4


def test_a_page_that_states_single_gpus_is_read_so(tmp_path: Path) -> None:
    old = {**TRT, "version": "0.6.1", "total_output_tokens_per_s": 7.0}
    (found,) = tables.trtllm_throughput(written(tmp_path, tables.TRTLLM, old))
    assert found.measured == {ServingQuantity.TOKENS_PER_S: 14.0}, "7 of each of two GPUs"


def test_one_user_waits_where_an_engine_has_a_seat_less(tmp_path: Path) -> None:
    few = {**AIC, "backend_version": "1.0.0rc3", "model_path": "meta-llama/Llama-3.1-8B"}
    enough = {**few, "model_path": "Qwen/Qwen3-8B"}
    less, all_seated = aic.aic_serving(written(tmp_path, aic.AIC, few, enough))
    assert less.settings.max_num_seqs == less.concurrency - 1
    assert all_seated.settings.max_num_seqs == 0
    # a prompt, a token of each user and room, as its generator tells such servers
    assert less.settings.token_budget == less.isl + less.concurrency + 1500


def test_hosts_launch_kernels_of_prompts_one_by_one_but_for_compiled_engines() -> None:
    assert launch_of(row(runtime="vllm")) == VLLM_LAUNCH_S
    assert launch_of(row(runtime="sglang")) == LAUNCH_S
    alone = row(source=tables.ML_ENERGY, target="b200-sxm-180gb", tensor=1)
    assert launch_of(alone) == SHARED_LAUNCH_S > VLLM_LAUNCH_S
    assert launch_of(replace(alone, tensor=2)) == VLLM_LAUNCH_S
    assert launch_of(replace(alone, source=aic.AIC)) == VLLM_LAUNCH_S
    served = row(source=aic.AIC, runtime="trtllm", version="1.2.0rc6")
    assert launch_of(replace(served, version="1.0.0rc3")) == LAUNCH_S
    assert launch_of(replace(served, prefill=(1, 1, 1))) == LAUNCH_S
    assert launch_of(replace(served, source=tables.TRTLLM, version="0.9.0")) == 0


def test_a_server_has_as_many_seats_as_its_publisher_says() -> None:
    requested = row(source=tables.ML_ENERGY, settings=ServerSettings(max_num_seqs=3000))
    assert engine_of_row(requested).limits(100, 10).max_num_seqs == 3000
    usual = replace(requested, settings=ServerSettings())
    assert engine_of_row(usual).limits(100, 10).max_num_seqs < 3000


def test_rows_with_power_are_read(tmp_path: Path) -> None:
    given = {
        "max_num_seqs": 32.0, "weight_precision": "bfloat16", "model_id": "Qwen/Qwen3-8B",
        "task": "gpqa", "num_gpus": 2, "gpu_model": "B200", "avg_output_len": 300.4,
        "output_throughput_tokens_per_sec": 1000.0, "energy_per_token_joules": 0.5,
    }  # fmt: skip
    others = (
        {**given, "gpu_model": "H100"}, {**given, "task": "chat", "avg_output_len": 0.6},
        {**given, "model_id": "meta-llama/Llama-3.1-8B", "weight_precision": "fp8"},
        {**given, "max_num_seqs": math.nan},
    )  # fmt: skip
    eager, h100, chat, llama = tables.ml_energy(written(tmp_path, tables.ML_ENERGY, given, *others))
    assert [r.is_eager for r in (eager, h100, chat, llama)] == [True, False, False, False]
    assert (eager.isl, eager.osl, eager.concurrency) == (225, 300, 32)
    assert chat.osl == 2, "two tokens at least"
    assert eager.settings == ServerSettings(max_num_seqs=32)
    assert (eager.weights, llama.weights, eager.tensor) == ("bf16", "", 2)
    assert eager.measured == {ServingQuantity.TOKENS_PER_S: 1000.0, ServingQuantity.ENERGY_J: 0.5}


def test_cards_are_counted() -> None:
    assert card_of("4090 24GB  2") == ("4090 24GB", 24.0, 2)
    assert card_of("A100 SXM 80GB") == ("A100 SXM 80GB", 80.0, 1)


def test_llama_cpp_fits_by_its_bits_and_is_timed_where_the_card_is_known(tmp_path: Path) -> None:
    given = {
        "device": "4090 24GB", "precision": "F16", "phase": "generate 128", "fits": True,
        "tokens_per_s": 54.0,
    }  # fmt: skip
    rows = (
        given, {**given, "precision": "Q4_K_M", "phase": "prompt 512", "tokens_per_s": 3000.0},
        {**given, "device": "M1 Max 10GB", "fits": False, "tokens_per_s": math.nan},
        {**given, "device": "M1 Max 10GB  2"}, {**given, "tokens_per_s": math.nan},
    )  # fmt: skip
    found = list(llama_cpp(written(tmp_path, "llamacpp_speed", *rows)))
    fits = [(c.measured, c.predicted) for c in found if c.quantity == "fits"]
    assert fits == [(2.0, 2.0), (2.0, 2.0), (1.0, 1.0), (2.0, 2.0), (2.0, 2.0)]
    generate, prompt = (c for c in found if c.quantity != "fits")
    assert (generate.quantity, prompt.quantity) == ("generate", "prompt")
    # 8 billion weights of 16 bits at 1 TB/s: some 60 tokens a second, prompts far more
    assert 40 < generate.predicted < 64
    assert prompt.predicted > 40 * generate.predicted
    assert generate.error == pytest.approx(generate.predicted / 54 - 1)


def test_requests_are_replayed_when_they_were_queued(tmp_path: Path) -> None:
    base = {"device": "RTX4090", "max_num_seqs": 4, "max_num_batched_tokens": 512}
    rows = [
        {**base, "queued_s": q, "input_tokens": 300, "output_tokens": 5, "first_token_s": q + 0.5,
         "last_token_s": q + 0.9}
        for q in (20.0, 0.0, 10.0)
    ]  # fmt: skip
    folder = written(tmp_path, "llmservingsim_requests", *rows)
    ttft, tpot, makespan = replays(folder, HostModel())
    assert ttft.measured == pytest.approx(0.5)
    assert tpot.measured == pytest.approx(0.1)
    assert makespan.measured == pytest.approx(20.9)
    # alone each: one step of a prompt, four of a token
    assert makespan.predicted == pytest.approx(20 + ttft.predicted + 4 * tpot.predicted)
    assert 0.01 < tpot.predicted < 0.03
    (late, *_) = replays(folder, HostModel(request_s=1.0))
    assert late.predicted == pytest.approx(ttft.predicted + 1)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "vllm"), ({"prefill": (1, 1, 1)}, "vllm-apart"),
        ({"runtime": "trtllm", "version": "1.0.2"}, "trtllm 1.0"),
        ({"runtime": "trtllm", "version": "0.9"}, "trtllm"),
        ({"source": tables.ML_ENERGY}, "vllm 0.11"),
        ({"source": tables.ML_ENERGY, "is_eager": True}, "vllm-eager"),
        ({"source": tables.ML_ENERGY, "target": "b200-sxm-180gb", "tensor": 2}, "vllm 0.11"),
        ({"version": "0.11.2"}, "vllm"),
        ({"source": tables.TRTLLM, "version": "v0.12.1@x"}, "vllm-bench 0.12"),
        ({"source": tables.TRTLLM, "version": "post-1.2.3"}, "vllm-bench 1.2"),
        ({"source": tables.TRTLLM, "is_static": True}, "vllm-bench 0.9"),
        ({"source": tables.TRTLLM, "version": "0.9", "model": "Mixtral 8x7B"}, "vllm-bench 0.9"),
        ({"source": tables.TRTLLM, "version": "v1.0", "model": "Mixtral 8x7B"},
         "vllm-bench 1.0 experts"),
        ({"model": "Mixtral 8x7B"}, "vllm"),
    ],
)  # fmt: skip
def test_laws_are_told_apart_by_how_engines_were_driven(
    changed: dict[str, Any], expected: str
) -> None:
    assert law_name(sample(**changed)) == expected


def test_ends_of_intervals_are_ranks_of_one_row_more() -> None:
    assert scores.edges([float(n) for n in range(1, 100)]) == (5.0, 95.0)
    assert scores.edges([float(n) for n in range(1, 20)]) == (1.0, 19.0)
    assert scores.edges([3.0, 1.0]) == (1.0, 3.0)
    assert scores.edges([float(n) for n in range(1, 40)]) == (2.0, 38.0)


def test_bands_hold_what_is_expected_and_are_of_each_latency() -> None:
    law = HostModel(step_s=4e-3)
    slow = [replace(s, value=1.5 * s.value) for s in lawful(law, "a")]
    given = [*slow, *lawful(law, "b"), *lawful(law, "c")]

    def bands(own: list[ReplayedNumber]) -> dict[str, Any]:
        return scores._bands(own, left_out(own, law_name, model_fold))

    found = bands(given)
    assert set(found) == {"tpot_low", "tpot_high"}
    assert found["tpot_low"] <= 1.0 < found["tpot_high"]
    first = [replace(s, quantity=ServingQuantity.TTFT_S) for s in given]
    assert set(bands(first)) == {"ttft_low", "ttft_high"}
    # all of them exact: the band is no narrower than what is expected
    exact = bands([replace(s, amounts=(s.value, *(0.0,) * 6)) for s in given])
    assert (exact["tpot_low"], exact["tpot_high"]) == (
        pytest.approx(1.0, abs=1e-6), pytest.approx(1.0, abs=1e-6),
    )  # fmt: skip
    assert scores._ratios([sample(3.0)], [2.0]) == [1.5]
    assert scores._ratios([sample(3.0)], [0.0]) == [3e12]


def test_energy_is_of_kernels_and_of_boards_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "idle_of", lambda target: 50.0)
    law = HostModel(kernels=2.0, prompts=3.0, exchanges=0.5)
    given = sample(1.0, ServingQuantity.ENERGY_J, amounts=(7.0, 1.0, 2.0, 0.1, 0.01, 0.02))
    # 2 · 7 + 3 · 1 + 0.5 · 2 joules in 2 · 0.1 + 3 · 0.01 + 0.5 · 0.02 s, of two ranks for 0.3 s
    assert of_kernels(law, given) == (pytest.approx(18.0), pytest.approx(0.24))
    assert energy.parts_of(law, given, 0.3) == pytest.approx((18, 50 * (0.6 - 0.24), 1))
    assert energy.parts_of(law, given, 0.05) == pytest.approx((18, 0, 1)), "nothing waits"
    assert BoardPower(1.5, 3.0).joules(18, 4) == 1.5 * 18 + 3 * 4
    rate = sample(
        4.0, ServingQuantity.TOKENS_PER_S, measured={ServingQuantity.TOKENS_PER_S: 10.0},
        amounts=(8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    assert energy.times_of_tokens(law, [rate, given]) == {"one": 16 / 4 / 10}
    watched = replace(given, value=0.8 * 10 + 2.5 * 50 * (0.6 - 0.13))
    rates = replace(rate, amounts=(12.0, *(0.0,) * 6))
    found = energy.taught_boards([watched, rates], {"x": HostModel()}, lambda s: "x")
    # 0.3 s a token, 0.6 s of two ranks; one row tells of no board, but of any
    assert found == {ANY_BOARD: BoardPower(0.8, 2.5, 1)}


def test_each_board_that_rows_tell_of_has_its_own_power() -> None:
    spread = [(1.0 + i % 3, 0.5 + i) for i in range(LEAST_ROWS)]
    parts = [
        (target, (a, b, power * a + waiting * b))
        for target, power, waiting in (("x", 0.8, 4.0), ("y", 2.0, 1.5))
        for a, b in spread
    ]
    found = energy.power_by_board([*parts, ("z", (1.0, 1.0, 1.0))])
    assert found["x"] == BoardPower(0.8, 4.0, LEAST_ROWS)
    assert found["y"] == BoardPower(2.0, 1.5, LEAST_ROWS)
    assert found[ANY_BOARD].rows == 2 * LEAST_ROWS + 1
    assert board_of(found, "x") is found["x"]
    assert board_of(found, "z") is found[ANY_BOARD], "one row is too few"
    assert board_of({}, "x") == BoardPower(1.0, 1.0)
    assert energy.power_by_board([]) == {}


def test_prefixes_that_engines_seem_to_know_teach_nothing() -> None:
    assert is_warm(row(distinct_prompts=100))
    assert not is_warm(row())


def lawful(law: HostModel, models: Sequence[str], **changed: Any) -> list[ReplayedNumber]:
    """Numbers that obey a law, of several models and sizes of batches."""
    found: list[ReplayedNumber] = []
    for m, model in enumerate(models):
        for i, n in enumerate((1, 4, 16, 64, 256)):
            kernels = (3e-3 + 1e-3 * m) * (1 + n / 64)
            amounts = (kernels, 0.0, 0.0, 1.0, 0.0, float(n), float(min(n, 64)))
            value = sum(getattr(law, k) * v for k, v in zip(LEARNED, amounts, strict=True))
            name = f"{model} {i}"
            own = {"measured": {ServingQuantity.TPOT_S: value}, **changed}
            found.append(sample(value, amounts=amounts, name=name, model=model, **own))
    return found


def test_a_model_left_out_is_predicted_by_the_others() -> None:
    law = HostModel(kernels=1.0, step_s=4e-3)
    given = lawful(law, "abc")
    found = left_out(given, law_name, model_fold)
    for s, p in zip(given, found, strict=True):
        assert p == pytest.approx(s.value, rel=0.1)
    few = left_out(given[:6], law_name, model_fold)
    assert few[5] == pytest.approx(given[5].amounts[0]), "too few others: kernels alone"


def test_what_rows_of_a_host_do_not_tell_other_hosts_do() -> None:
    """Rows of one engine have few sequences but for those of the model that is left out."""
    law = HostModel(sequence_s=4e-5)
    many = lawful(law, ("x", "y"), runtime="vllm")
    few = [s for s in lawful(law, ("a", "b"), runtime="sglang") if s.amounts[5] <= 4]
    tested = lawful(law, ("c",), runtime="sglang")
    alone, told = (
        left_out([*few, *tested], law_name, model_fold),
        left_out([*few, *tested, *many], law_name, model_fold),
    )
    last = len(few) + len(tested) - 1
    value = tested[-1].value
    assert abs(told[last] / value - 1) < 0.25 < abs(alone[last] / value - 1)


def test_hosts_of_benchmarks_tell_nothing_of_servers() -> None:
    many = lawful(HostModel(sequence_s=4e-5), "xy", version="0.12", source=tables.TRTLLM)
    own = lawful(HostModel(), ("a", "b"), runtime="sglang")
    assert law_name(many[0]) == "vllm-bench 0.12"
    assert of_other_hosts([*many, *own], law_name, "sglang") is None
    assert of_other_hosts([*many, *own], law_name, "vllm-bench") is None
    assert of_other_hosts([*own, *many], law_name, "vllm") is not None


def test_laws_that_ship_name_their_rows_and_models() -> None:
    given = lawful(HostModel(step_s=4e-3), ("a", "b", "LLaMA 7B"), source="table")
    laws = trained(ServingEvidence(tuple(given), ()))
    law = laws["vllm"]
    assert (law.rows, law.models, law.source) == (15, ("a", "b", "llama-7b"), "table")
    assert law.step_s == pytest.approx(4e-3, rel=0.2)
    assert law.tpot_low <= 1 <= law.tpot_high
    assert (law.ttft_low, law.ttft_high) == (0.5, 2.0), "nobody measured it"
    text = as_toml(laws, COMMENT)
    assert "[vllm]" in text
    assert 'origin = "fitted"' in text


def test_saturated_servers_teach_the_host_of_offline_benchmarks_too() -> None:
    servers = lawful(HostModel(step_s=4e-3), "ab", source=aic.AIC)
    saturated = lawful(HostModel(step_s=4e-3), "cd", source=tables.ML_ENERGY)
    laws = trained(ServingEvidence((*servers, *saturated), ()))
    assert (laws["vllm"].rows, laws["vllm"].models) == (10, ("a", "b"))
    assert laws["vllm-bench"] == replace(laws["vllm 0.11"], request_s=0.0, token_s=0.0)
    assert laws["vllm-bench"].models == ("c", "d")
