"""Loads until they are steady: rates, users of copies and pipelines, batches, shared prefixes."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from perfc.errors import ParseError
from perfc.machine.parallel import Parallel
from perfc.serving import llm
from perfc.serving.cost.memory import MemoryDemand, MemoryPlan
from perfc.serving.host import host_model_of
from perfc.serving.output.report import ServingReport
from perfc.serving.output.views import document
from perfc.serving.simulation.arrivals import Request, Workload
from perfc.serving.simulation.confidence import interval, warm_up
from perfc.serving.simulation.scheduler import Limits, Scheduler
from perfc.serving.simulation.simulate import simulate
from perfc.view.report.formats.document import Note

SMALL = "llama-3.2-1b"
SHORT: dict[str, Any] = {"isl": 128, "osl": 64, "spread": 0.0}


def rate_of(report: ServingReport) -> float:
    """Output tokens a second."""
    assert report.throughput is not None
    return report.throughput.output_tokens_per_s


def answer_s(report: ServingReport) -> float:
    """Mean time of a whole answer."""
    assert report.latencies is not None
    return report.latencies.end_to_end.mean


def warnings(report: ServingReport) -> list[str]:
    """Warnings on the first screen."""
    parts = [p for s in document(report).sections for p in s.parts]
    return [p.text for p in parts if isinstance(p, Note) and p.is_warning]


# what is steady


def test_mser_leaves_out_the_values_before_a_series_is_steady() -> None:
    draw = random.Random(1)
    steady = [10 + draw.random() for _ in range(400)]
    rising = [10 * i / 100 for i in range(100)]
    assert 75 <= warm_up(rising + steady) <= 110
    assert warm_up([5.0] * 40) == 0
    assert warm_up(steady) <= 200, "half of a series at most"
    assert warm_up([1.0]) == 0


def test_an_interval_of_batch_means_is_that_of_student() -> None:
    found = interval([1.0, 3.0, 2.0, 4.0, 6.0, 2.0], 2)
    # means of 2, 3 and 4: a deviation of 1, 4.303 for two degrees of freedom
    assert found.mean == 3.0
    assert found.half_width == pytest.approx(4.303 / math.sqrt(3) / 3)
    assert interval([1.0, 2.0], 2).half_width == math.inf
    assert interval([2.0] * 8, 2).half_width == 0.0


def test_means_are_as_certain_as_the_report_says() -> None:
    """Nineteen in twenty intervals hold the mean of a series whose values depend on each other."""
    held = 0
    for seed in range(200):
        draw, value = random.Random(seed), 0.0
        values = []
        for _ in range(4000):
            value = 0.5 * value + draw.gauss(0, 1)
            values.append(20 + value)
        found = interval(values, 200)
        held += abs(found.mean / 20 - 1) <= found.half_width
    assert held >= 180


# rates


@pytest.mark.parametrize(
    ("runtime", "parallel"), [("vllm", {}), ("sglang", {"dp": 2}), ("trtllm", {"pp": 2})]
)
def test_a_rate_is_delivered_until_the_engine_cannot_keep_up(
    runtime: str, parallel: dict[str, int]
) -> None:
    options: dict[str, Any] = {
        **SHORT,
        "runtime": runtime,
        "parallel": parallel,
        "max_num_seqs": 32,
    }
    first = llm(SMALL, "l4", rate=1.0, **options)
    assert first.simulated is not None
    capacity = first.simulated.capacity_requests_per_s
    assert capacity is not None
    found = [llm(SMALL, "l4", rate=share * capacity, **options) for share in (0.3, 0.8, 1.1, 8.0)]
    assert rate_of(found[0]) == pytest.approx(0.3 * capacity * 64)
    assert rate_of(found[1]) == pytest.approx(0.8 * capacity * 64)
    for report in found[2:]:
        assert rate_of(report) == pytest.approx(capacity * 64)
        assert f"cannot keep up above {capacity:.3g} requests/s" in report.notes[0]
        assert warnings(report) == [report.notes[0]]
    assert not any("keep up" in note for report in found[:2] for note in report.notes)
    waits_s = [r.latencies.ttft.mean for r in found if r.latencies is not None]
    assert waits_s == sorted(waits_s)
    assert waits_s[2] > 5 * waits_s[0]


def test_a_rate_is_shared_by_copies_that_are_simulated_as_long_as_one() -> None:
    one, four = (
        llm(SMALL, "l4", rate=copies * 3.0, parallel={"dp": copies}, **SHORT) for copies in (1, 4)
    )
    assert one.simulated is not None
    assert four.simulated is not None
    assert one.simulated.requests == four.simulated.requests
    assert answer_s(four) == pytest.approx(answer_s(one))
    assert rate_of(four) == pytest.approx(4 * rate_of(one))


@pytest.mark.parametrize("rate", [0.5, 20.0])
def test_a_run_is_lengthened_until_its_means_are_certain(rate: float) -> None:
    report = llm(SMALL, "l4", rate=rate, **SHORT)
    assert report.simulated is not None
    assert report.simulated.half_width is not None
    assert report.simulated.half_width <= 0.05
    long = llm(SMALL, "l4", rate=rate, requests=20_000, **SHORT)
    assert answer_s(report) == pytest.approx(answer_s(long), rel=0.06)


def test_a_trace_is_all_of_its_requests_over_its_time(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows = [{"arrival_s": i / 2, "input_tokens": 64, "output_tokens": 32} for i in range(5)]
    path.write_text("\n".join(map(json.dumps, rows)))
    one, three, nine = (llm(SMALL, "h100", trace=path, parallel={"dp": n}) for n in (1, 3, 9))
    for report in (one, three, nine):
        assert report.throughput is not None
        # the last comes after two seconds
        assert 5 / 2.2 < report.throughput.requests_per_s < 5 / 2
    assert nine.gpus == 9


# users


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "trtllm"])
def test_more_users_never_lose_tokens(runtime: str) -> None:
    users = [1, 2, 3, 4, 5, 8, 13, 31, 32, 33, 40, 64, 200, 375, 376, 1500, 1501, 4000, 20_000]
    found = [
        llm(SMALL, "l4", concurrency=n, runtime=runtime, max_num_seqs=32, **SHORT) for n in users
    ]
    assert not any(r.preempted for r in found)
    rates = [rate_of(r) for r in found]
    assert all(b >= (1 - 1e-9) * a for a, b in pairwise(rates)), rates
    # by Little's law users wait as long as all of them take
    for n, report in zip(users, found, strict=True):
        assert rate_of(report) == pytest.approx(n * 64 / answer_s(report), rel=3e-3)


def test_a_wait_beyond_the_seats_is_that_of_a_longer_simulation() -> None:
    options: dict[str, Any] = {**SHORT, "max_num_seqs": 8}
    short = llm(SMALL, "l4", concurrency=100, **options)
    long = llm(SMALL, "l4", concurrency=24, requests=2400, **options)
    assert rate_of(short) == pytest.approx(rate_of(long), rel=0.01)
    assert answer_s(short) == pytest.approx(100 / 24 * answer_s(long), rel=0.01)


@pytest.mark.parametrize("parallel", [{"pp": 4}, {"dp": 4}, {"attention_dp": 4}])
def test_one_user_of_several_groups_gets_what_one_user_gets(parallel: dict[str, int]) -> None:
    one, two, eight = (
        llm(SMALL, "h100", concurrency=n, parallel=parallel, **SHORT) for n in (1, 2, 8)
    )
    assert rate_of(one) == pytest.approx(64 / answer_s(one), rel=1e-6)
    assert rate_of(two) == pytest.approx(2 * rate_of(one), rel=0.02)
    assert rate_of(one) < rate_of(two) < rate_of(eight)


def test_idle_copies_draw_idle_power_and_are_paid() -> None:
    alone, four = (llm(SMALL, "h100", concurrency=1, parallel={"dp": n}, **SHORT) for n in (1, 4))
    assert alone.expenses is not None
    assert four.expenses is not None
    assert alone.expenses.price_per_million is not None
    assert four.expenses.price_per_million == pytest.approx(4 * alone.expenses.price_per_million)
    each = [r.expenses.energy_j_per_token for r in (alone, four) if r.expenses is not None]
    assert each[0] is not None
    assert each[1] is not None
    assert each[0] < each[1] < 4 * each[0]


def test_users_that_do_not_divide_are_spread_evenly() -> None:
    four, five, eight = (
        rate_of(llm(SMALL, "h100", concurrency=n, parallel={"dp": 4}, **SHORT)) for n in (4, 5, 8)
    )
    alone = [rate_of(llm(SMALL, "h100", concurrency=n, **SHORT)) for n in (1, 2)]
    assert five == pytest.approx(3 * alone[0] + alone[1])
    assert (four, eight) == (pytest.approx(4 * alone[0]), pytest.approx(4 * alone[1]))


def test_equal_lengths_say_that_users_stay_in_step() -> None:
    usual, equal, wide = (
        llm(SMALL, "l4", isl=512, osl=64, concurrency=8, spread=s) for s in (None, 0.0, 0.2)
    )
    assert (usual.load.spread, equal.load.spread) == (0.05, 0.0)
    waits_s = [r.latencies.ttft.mean for r in (usual, equal, wide) if r.latencies is not None]
    assert waits_s[1] > 1.2 * waits_s[0]
    assert waits_s[2] == pytest.approx(waits_s[0], rel=0.3)
    said = [any("users in step" in n for n in r.notes) for r in (usual, equal, wide)]
    assert said == [False, True, False]
    alone = llm(SMALL, "l4", isl=512, osl=64)
    assert alone.load.spread == 0.0
    assert not any("users in step" in n for n in alone.notes)


def test_prompts_in_steps_of_decodes_wait_less_than_in_steps_of_their_own() -> None:
    options: dict[str, Any] = {**SHORT, "isl": 2048, "concurrency": 32, "runtime": "sglang"}
    usual, same, mixed = (
        llm(SMALL, "l4", **options, batching=b) for b in (None, "prompts-first", "mixed")
    )
    assert rate_of(usual) == rate_of(same) != rate_of(mixed)
    with pytest.raises(ParseError, match="batching"):
        llm(SMALL, "l4", **options, batching="all")


def test_a_prefill_worker_has_fewer_ranks_if_its_gpus_are_fewer() -> None:
    options: dict[str, Any] = {"isl": 8192, "osl": 8, "spread": 0.0, "concurrency": 8}
    waits_s = [
        report.latencies.ttft.mean
        for n in (1, 2, 4)
        if (
            report := llm("llama-3.1-8b", "h100", prefill_gpus=n, parallel={"tp": 4}, **options)
        ).latencies
        is not None
    ]
    assert len(waits_s) == 3
    assert waits_s[0] > waits_s[1] > waits_s[2]


# batches


@pytest.mark.parametrize(
    ("runtime", "parallel"),
    [("vllm", {}), ("trtllm", {}), ("vllm", {"pp": 2}), ("vllm", {"dp": 3})],
)
def test_a_batch_is_its_tokens_over_its_time(runtime: str, parallel: dict[str, int]) -> None:
    report = llm(
        SMALL,
        "h100",
        isl=512,
        osl=128,
        concurrency=32,
        requests=32,
        runtime=runtime,
        parallel=parallel,
        offline=True,
    )
    batch = report.batch
    assert batch is not None
    assert batch.requests == 32
    assert batch.low_s < batch.time_s < batch.high_s
    assert report.latencies is not None
    assert batch.time_s >= report.latencies.end_to_end.p99
    # copies with a request less are done sooner
    near = 0.1 if "dp" in parallel else 1e-9
    assert rate_of(report) == pytest.approx(32 * 128 / batch.time_s, rel=near)
    assert llm(SMALL, "h100", isl=512, osl=128, concurrency=32).batch is None


def test_stages_of_a_pipeline_wait_for_users_that_start_together() -> None:
    """Prompts that fit one step are one group: a stage works while all others wait."""
    options: dict[str, Any] = {"isl": 128, "osl": 128, "concurrency": 8, "requests": 8}
    options["offline"] = True
    alone = llm(SMALL, "h100", **options)
    staged = llm(SMALL, "h100", parallel={"pp": 4}, **options)
    assert rate_of(staged) <= 1.05 * rate_of(alone)
    # eight prompts of 2,048 tokens take two steps of 8,192: two groups
    longer = {**options, "isl": 2048}
    two = llm(SMALL, "h100", parallel={"pp": 2}, **longer)
    four = llm(SMALL, "h100", parallel={"pp": 4}, **longer)
    assert rate_of(four) == pytest.approx(rate_of(two), rel=0.1)
    assert rate_of(two) > 1.1 * rate_of(llm(SMALL, "h100", **longer))


@pytest.mark.parametrize("users", [4, 16])
def test_a_burst_of_equal_answers_stays_together_where_prompts_come_first(users: int) -> None:
    options: dict[str, Any] = {
        "isl": 4096,
        "osl": 64,
        "concurrency": users,
        "runtime": "sglang",
        "token_budget": 4096,
    }
    report = llm(SMALL, "h100", **options)
    assert report.latencies is not None
    prompt_s, before_s = report.steps[0].time_s, report.latencies.ttft.mean
    before_s -= (users + 1) / 2 * prompt_s
    # the mean place in the queue, a connection of 40 ms and a tokenizer of 12 ms
    assert 0.04 < before_s < 0.07 + prompt_s
    one, two = (llm(SMALL, "h100", opening_burst=b, **options).latencies for b in (0.5, 0.0))
    assert one is not None
    assert two is not None
    assert one.ttft.mean == pytest.approx(report.latencies.ttft.mean), "all rounds are as the first"
    assert two.ttft.mean < 0.8 * report.latencies.ttft.mean, "no burst"


def test_the_next_request_of_a_user_misses_the_step_that_began_with_its_answer() -> None:
    class Even:
        def step_s(self, chunks: Any, decodes: int, context: float) -> float:
            return 1.0

    for is_ahead, waits_s in ((False, 2.0), (True, 3.0)):
        limits = Limits(is_ahead=is_ahead)
        # two users whose answers end at different times, so that one runs while the other asks
        requests = [Request(0.0, 8, n) for n in (5, 20, 5, 5)]
        run = simulate(Workload(tuple(requests), 2), limits, Even())
        assert [s.ttft_s for s in run.served[2:]] == [waits_s, waits_s]


@pytest.mark.parametrize(
    ("runtime", "target"),
    [("trtllm", "h100"), ("vllm", "h100"), ("vllm", "mi300x"), ("sglang", "h100")],
)
def test_a_batch_is_its_server_without_arrivals(runtime: str, target: str) -> None:
    options: dict[str, Any] = {"isl": 512, "osl": 128, "concurrency": 32, "runtime": runtime}
    batch = llm(SMALL, target, offline=True, requests=256, **options)
    endless = llm(SMALL, target, offline=True, **options)
    server = llm(SMALL, target, **options)
    assert rate_of(endless) >= rate_of(server)
    assert endless.batch is not None
    assert rate_of(endless) == pytest.approx(32 * 128 / endless.batch.time_s, rel=0.05)
    assert batch.version == server.version
    assert batch.measured_versions == server.measured_versions
    assert rate_of(batch) > 0.97 * rate_of(server)


@pytest.mark.parametrize(("runtime", "version"), [("trtllm", "1.0"), ("sglang", "0.5")])
def test_no_server_sends_the_tokens_of_a_batch(runtime: str, version: str) -> None:
    options: dict[str, Any] = {**SHORT, "runtime": runtime, "runtime_version": version}
    options |= {"offline": True, "concurrency": 512}
    least_s = host_model_of(runtime, version).write_s
    assert rate_of(llm(SMALL, "h100", **options)) > 1 / least_s


def test_a_batch_has_no_rate() -> None:
    with pytest.raises(ParseError, match="a batch comes at once"):
        llm(SMALL, "h100", rate=2.0, offline=True)


def test_requests_of_a_batch_beyond_its_users_follow_one_another() -> None:
    options: dict[str, Any] = {**SHORT, "concurrency": 8, "offline": True}
    one, ten = (llm(SMALL, "h100", requests=n, **options) for n in (8, 80))
    assert one.batch is not None
    assert ten.batch is not None
    assert ten.batch.requests == 80
    assert 8 < ten.batch.time_s / one.batch.time_s <= 10.01


# prefixes


def test_a_shared_prefix_is_stored_once() -> None:
    plan = MemoryPlan(3200.0, 1.0, MemoryDemand(0.0, 1.0), 0.0, block_tokens=16)
    assert plan.sequences(160) == 20
    # 128 tokens once, 32 of each user
    assert plan.sequences(160, 128) == (3200 - 128) // 32
    assert plan.sequences(160, 130) == (3200 - 128) // 32, "whole pages alone are shared"
    assert plan.sequences(160, 128, 0.5) == (3200 - 128) // (32 + 64)
    assert plan.sequences(160, 128, 0.0) == 20
    whole, cached, half = (
        llm("llama-3.1-8b", "l4", isl=4096, osl=256, concurrency=64, dtype="fp8", **more)
        for more in ({}, {"cached_tokens": 4000}, {"cached_tokens": 4000, "cached_share": 0.5})
    )
    fits = [r.memory.largest_concurrency for r in (whole, half, cached)]
    assert fits == sorted(fits)
    assert fits[2] > 5 * fits[0]
    assert (whole.preempted > 0, cached.preempted) == (True, 0)


def test_a_prefix_that_is_reserved_is_reserved_once() -> None:
    scheduler = Scheduler(Limits(kv_tokens=1000, reserves_output=True, block_tokens=16))
    for i in range(20):
        scheduler.add(i, Request(0.0, 160, 40, 128, 0, 128))
    scheduler.next_chunks()
    # 200 tokens of the first, 72 of each other, and half a page of each
    assert scheduler.running == 1 + (1000 - 200) // 80


def test_a_pipeline_has_one_pool_and_as_many_seats_as_one_engine() -> None:
    staged = llm(SMALL, "l4", isl=512, osl=64, concurrency=8, parallel={"pp": 2})
    assert staged.parallel == Parallel(1, 2)
    tokens = staged.memory.kv_tokens
    assert staged.memory.largest_concurrency == tokens // 576
