"""Requests through an engine: whose tokens a step has, what a full pool does, jumps of time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from perfc.errors import ParseError
from perfc.passes.runtimes import Batching
from perfc.serving.simulation import simulate as simulation
from perfc.serving.simulation.arrivals import Request, Workload, drawn_workload
from perfc.serving.simulation.metrics import Latencies, latencies
from perfc.serving.simulation.scheduler import Chunk, Limits, Scheduler
from perfc.serving.simulation.simulate import SimulatedRun, simulate
from perfc.serving.simulation.steady_state import Share
from perfc.serving.simulation.traces import traced


def all_of(run: SimulatedRun) -> Latencies:
    """Latencies of all requests of a run."""
    return latencies((Share(run, 1, 0, len(run.served), 1.0),), lambda _: 0.0)


class Linear:
    """A clock: a base, and something for each token, each sequence and each cached token."""

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        tokens = sum(c.tokens for c in chunks)
        return 1e-3 + 1e-5 * tokens + 1e-5 * decodes + 1e-8 * decodes * context


def tokens_written(run: SimulatedRun) -> int:
    firsts = sum(1 for s in run.served)
    return firsts + sum(s.steps * s.decodes for s in run.strides)


def test_one_user_alone_waits_for_the_prompt_and_then_a_step_a_token() -> None:
    run = simulate(drawn_workload(1, 100, 5, count=1), Limits(), Linear())
    (one,) = run.served
    assert one.ttft_s == pytest.approx(1e-3 + 100e-5)
    assert sum(s.steps for s in run.strides) == 5
    assert one.tpot_s == pytest.approx(1e-3 + 1e-5 + 1e-8 * 101.5)


@pytest.mark.parametrize("batching", Batching)
@pytest.mark.parametrize("reserves", [False, True])
def test_every_token_is_written_once(batching: Batching, reserves: bool) -> None:
    limits = Limits(8, 64, 2000, batching, reserves)
    run = simulate(drawn_workload(20, 150, 30, count=60, spread=0.5, seed=3), limits, Linear())
    assert tokens_written(run) == sum(s.request.output_tokens for s in run.served) or run.preempted
    assert all(s.arrival_s < s.first_s <= s.last_s for s in run.served)


def test_jumps_give_what_single_steps_do(monkeypatch: pytest.MonkeyPatch) -> None:
    work = drawn_workload(6, 80, 300, count=24, spread=0.4, seed=1)
    jumped = simulate(work, Limits(kv_tokens=1100), Linear())
    monkeypatch.setattr(simulation, "FINEST", 1)
    stepped = simulate(work, Limits(kv_tokens=1100), Linear())
    assert len(jumped.strides) < len(stepped.strides) / 5
    assert jumped.time_s == pytest.approx(stepped.time_s, rel=1e-6)
    assert jumped.preempted == stepped.preempted > 0
    for a, b in zip(jumped.served, stepped.served, strict=True):
        assert a.last_s == pytest.approx(b.last_s, rel=1e-6)


def test_decodes_come_first_and_prompts_fill_the_budget() -> None:
    scheduler = Scheduler(Limits(token_budget=10))
    scheduler.add(0, Request(0.0, 4, 9))
    assert [c for _, c in scheduler.next_chunks()] == [Chunk(4, 0)]
    scheduler.finish_prompts()
    scheduler.add(1, Request(0.0, 15, 9))
    assert [c for _, c in scheduler.next_chunks()] == [Chunk(9, 0)]
    scheduler.advance(1)
    assert [c for _, c in scheduler.next_chunks()] == [Chunk(6, 9)]


def test_whole_prompts_wait_and_prompts_first_keep_decodes_waiting() -> None:
    whole = Limits(token_budget=100, batching=Batching.WHOLE_PROMPTS)
    run = simulate(drawn_workload(3, 60, 4, count=3), whole, Linear())
    assert [len(s.chunks) for s in run.strides if s.chunks] == [1, 1] or all(
        c.tokens == 60 for s in run.strides for c in s.chunks
    )
    first = Limits(token_budget=100, batching=Batching.PROMPTS_FIRST)
    run = simulate(drawn_workload(3, 60, 4, count=9), first, Linear())
    assert all(s.decodes == 0 for s in run.strides if s.chunks)


def test_reserved_room_never_preempts_and_a_full_pool_does() -> None:
    work = drawn_workload(8, 100, 100, count=16)
    full = simulate(work, Limits(kv_tokens=900), Linear())
    kept = simulate(work, Limits(kv_tokens=900, reserves_output=True), Linear())
    assert full.preempted > 0
    assert kept.preempted == 0


def test_pages_that_nobody_took_are_not_computed_again() -> None:
    work = drawn_workload(8, 100, 100, count=16)
    kept = simulate(work, Limits(kv_tokens=900), Linear())
    lost = simulate(work, Limits(kv_tokens=900, keeps_prefixes=False), Linear())
    computed = [sum(c.tokens for s in run.strides for c in s.chunks) for run in (kept, lost)]
    assert computed[0] < computed[1]


def test_requests_that_come_by_themselves_wait_for_nobody_else() -> None:
    slow = simulate(drawn_workload(0, 100, 10, count=20, seed=2, rate=0.5), Limits(), Linear())
    assert all_of(slow).ttft.p99 < 5e-3
    assert slow.time_s > 20
    again = simulate(drawn_workload(0, 100, 10, count=20, seed=2, rate=0.5), Limits(), Linear())
    assert again.time_s == slow.time_s


def test_a_staggered_loop_is_steady_at_once() -> None:
    run = simulate(drawn_workload(16, 50, 200, count=64, is_staggered=True), Limits(), Linear())
    decodes = [s.decodes for s in run.strides[16:60]]
    assert min(decodes) >= 14


def test_both_definitions_of_a_token_are_told_apart() -> None:
    run = simulate(drawn_workload(1, 1000, 11, count=4), Limits(), Linear())
    found = all_of(run)
    assert found.tpot is not None
    assert found.itl is not None
    whole = found.ttft.mean + 10 * found.tpot.mean
    assert found.tpot_inclusive.mean == pytest.approx(whole / 11)
    assert found.tpot_inclusive.mean > found.tpot.mean
    assert found.itl.p50 == pytest.approx(found.tpot.p50, rel=0.02)


def test_what_can_never_be_held_is_refused() -> None:
    with pytest.raises(ParseError, match="does not fit a pool of 64"):
        simulate(drawn_workload(1, 100, 5, count=1), Limits(kv_tokens=64), Linear())


def test_no_request_takes_no_time() -> None:
    assert simulate(Workload(()), Limits(), Linear()).time_s == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "is no JSON object"),
        ('{"input_tokens": 5}', "output_tokens = None is no size"),
        ('{"input_tokens": true, "output_tokens": 2}', "input_tokens = True is no size"),
        ('{"input_tokens": 5, "output_tokens": 2, "arrival_s": -1}', "arrival_s = -1 is no time"),
        ('{"input_tokens": 5, "output_tokens": 2, "arrival_s": NaN}', "arrival_s = nan"),
    ],
)
def test_a_trace_names_the_line_that_is_wrong(tmp_path, line: str, message: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "requests.jsonl"
    path.write_text('{"input_tokens": 5, "output_tokens": 2}\n' + line + "\n")
    with pytest.raises(ParseError, match=message) as error:
        traced(path)
    assert f"{path}:2" in str(error.value)


def test_a_trace_is_served_in_the_order_of_arrival(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "requests.jsonl"
    path.write_text(
        '{"arrival_s": 2, "input_tokens": 5, "output_tokens": 2}\n\n'
        '{"arrival_s": 1, "input_tokens": 7, "output_tokens": 3, "cached_tokens": 9}\n'
    )
    work = traced(path)
    assert [(r.arrival_s, r.input_tokens, r.cached_tokens) for r in work.requests] == [
        (1.0, 7, 6),
        (2.0, 5, 0),
    ]
    run = simulate(work, Limits(), Linear())
    assert not any(math.isnan(s.last_s) for s in run.served)


def test_a_step_that_is_scheduled_already_has_no_request_that_comes_later() -> None:
    work = Workload((Request(0.0, 10, 40), Request(0.0, 10, 5), Request(0.0, 10, 5)), 2)
    at_once, ahead = (
        simulate(work, Limits(is_ahead=is_ahead), Linear()) for is_ahead in (False, True)
    )
    # the third request comes as the second ends, and waits for one step of decoding alone
    waits_s = ahead.served[2].ttft_s - at_once.served[2].ttft_s
    assert waits_s == pytest.approx(1e-3 + 1e-5, rel=0.01)
    assert ahead.served[0].ttft_s == at_once.served[0].ttft_s, "an idle engine has none"


@pytest.mark.parametrize("every", [1, 4, 10])
def test_an_engine_that_is_busy_looks_for_requests_now_and_then(every: int) -> None:
    work = Workload((Request(0.0, 10, 80), *[Request(0.0, 10, 7)] * 8), 2)
    limits = Limits(is_ahead=True, looks_every=every, batching=Batching.PROMPTS_FIRST)
    run = simulate(work, limits, Linear())
    alone = [s.steps for s in run.strides if s.decodes == 1]
    assert max(alone[:-1]) <= every, "steps between the end of one user's request and the next"
    waits_s = [s.ttft_s for s in run.served[2:]]
    assert min(waits_s) > 1e-3 + 10e-5
    assert max(waits_s) < (every + 2) * 1.5e-3
    assert tokens_written(run) == 80 + 8 * 7


def test_nothing_is_left_unseen_where_all_others_end() -> None:
    work = Workload((Request(0.0, 10, 4), Request(0.002, 10, 4)))
    run = simulate(work, Limits(is_ahead=True, looks_every=30), Linear())
    assert all(math.isfinite(s.last_s) for s in run.served)


def test_a_server_that_sends_tokens_one_by_one_makes_first_tokens_wait() -> None:
    work = drawn_workload(8, 100, 20, count=80)
    fast = simulate(work, Limits(), Linear())
    each_s = 0.5 * fast.time_s / (80 * 20)
    slow, late = (simulate(work, Limits(write_s=n * each_s), Linear()) for n in (1, 10))
    assert fast.time_s <= max(s.last_s for s in slow.served) < 1.5 * fast.time_s
    end_s = max(s.last_s for s in late.served)
    assert end_s >= 80 * 20 * 10 * each_s, "no more tokens than it sends"
    assert end_s < 1.1 * 80 * 20 * 10 * each_s, "it is never idle"
    waits = [sum(s.ttft_s for s in run.served[8:]) / 72 for run in (fast, slow, late)]
    assert waits[0] <= waits[1] < waits[2]
    assert all(s.arrival_s <= s.first_s <= s.last_s for s in late.served)


@pytest.mark.parametrize(("pool", "waits"), [(4_300, True), (4_400, False)])
def test_sglang_wants_room_for_a_part_of_an_answer(pool: int, waits: bool) -> None:
    work = Workload((Request(0.0, 100, 3), Request(0.0, 100, 4_096)))
    limits = Limits(kv_tokens=pool, batching=Batching.PROMPTS_FIRST)
    first, second = simulate(work, limits, Linear()).served
    assert (second.first_s > first.last_s) is waits
