"""Arithmetic of serving by hand: requests, steps, latencies, energy, prices, prompts apart."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.errors import ParseError
from perfc.machine import load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import Batching
from perfc.serving import Load, llm, power
from perfc.serving.cost.memory import MemoryDemand, MemoryPlan
from perfc.serving.host import FEW, HostModel, amounts
from perfc.serving.output.report import IntervalFactors
from perfc.serving.search import ServingSetting, Slo, _best, _front, cost_of, holds, steady
from perfc.serving.service import _interval_factors
from perfc.serving.simulation import disaggregated, traces
from perfc.serving.simulation.arrivals import Request, Workload, closed_loop, poisson
from perfc.serving.simulation.disaggregated import Prefill, simulate_disaggregated
from perfc.serving.simulation.metrics import (
    LoadThroughput,
    Quantiles,
    latencies,
    throughput,
)
from perfc.serving.simulation.scheduler import Chunk, Limits, Scheduler
from perfc.serving.simulation.simulate import Served, SimulatedRun, Stride, simulate
from perfc.serving.simulation.steady_state import Share, Steady
from perfc.serving.simulation.traces import traced
from perfc.study.expenses import Offer, Prices, Region, region_named

H100 = load_machine("h100")


class Clock:
    """A millisecond a token of a prompt, ten a step of decodes, one more a sequence."""

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        return 1e-3 * sum(c.tokens for c in chunks) + (10e-3 + 1e-3 * decodes if decodes else 0.0)


def served(arrival: float, first: float, last: float, tokens: int, prompt: int = 10) -> Served:
    return Served(Request(arrival, prompt, tokens), arrival, first, last)


def run_of(*each: Served, strides: Sequence[Stride] = (), time_s: float = 10.0) -> SimulatedRun:
    return SimulatedRun(each, tuple(strides), time_s, 0)


# requests


def test_staggered_users_are_evenly_in_the_middle_of_their_first_answers() -> None:
    work = closed_loop(4, 10, 80, count=6, is_staggered=True, cached=3)
    assert [r.output_tokens for r in work.requests] == [10, 30, 50, 70, 80, 80]
    assert {(r.arrival_s, r.input_tokens, r.cached_tokens) for r in work.requests} == {(0.0, 10, 3)}
    assert work.concurrency == 4
    short = closed_loop(4, 10, 1, count=4, is_staggered=True)
    assert [r.output_tokens for r in short.requests] == [1] * 4, "one token at least"


def test_lengths_are_drawn_down_to_a_share_and_at_least_one() -> None:
    work = closed_loop(1, 1000, 100, count=400, spread=0.4, cached=900, seed=5)
    reads, writes = (
        [getattr(r, n) for r in work.requests] for n in ("input_tokens", "output_tokens")
    )
    assert 600 <= min(reads) < 620
    assert 980 < max(reads) <= 1000
    assert sum(reads) / 400 == pytest.approx(800, rel=0.03)
    assert 60 <= min(writes) < max(writes) <= 100
    assert all(r.cached_tokens == min(900, r.input_tokens - 1) for r in work.requests)
    assert closed_loop(1, 1, 1, count=3, spread=0.9).requests == (Request(0.0, 1, 1),) * 3


def test_a_share_of_the_prompts_is_in_the_cache() -> None:
    load = Load(100, 10, 4, cached_tokens=60, cached_share=0.25, requests=2000)
    held = [r.cached_tokens for r in load.workload(1).requests]
    assert set(held) == {0, 60}
    assert held.count(60) / 2000 == pytest.approx(0.25, abs=0.03)
    assert (load.mean_cached_tokens, load.least_cached_tokens) == (15, 0)
    assert replace(load, cached_share=1.0).least_cached_tokens == 60
    often = replace(load, concurrency=0, rate=3.0).workload(1)
    assert sum(r.cached_tokens == 60 for r in often.requests) / 2000 == pytest.approx(
        0.25, abs=0.03
    )
    for share, count in ((0.0, 0), (1.0, 2000)):
        some = replace(load, cached_share=share).workload(1).requests
        assert sum(r.cached_tokens == 60 for r in some) == count
    # lengths are drawn as they are without a cache
    lengths = [
        [r.input_tokens for r in replace(load, spread=0.5, cached_share=s).workload(1).requests]
        for s in (0.25, 1.0)
    ]
    assert lengths[0] == lengths[1]


def test_arrivals_are_as_far_apart_as_the_rate_says() -> None:
    work = poisson(4.0, 10, 5, count=2000, seed=1)
    times = [r.arrival_s for r in work.requests]
    assert times[0] == 0
    assert times == sorted(times)
    assert times[-1] / 1999 == pytest.approx(0.25, rel=0.05)
    assert work.concurrency == 0
    assert poisson(4.0, 10, 5, count=9, seed=1).requests == work.requests[:9]


def test_a_trace_has_a_bounded_number_of_lines_and_of_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.jsonl"
    one = json.dumps({"input_tokens": 1 << 24, "output_tokens": 1, "cached_tokens": 0})
    path.write_text(f"{one}\n{one}\n")
    monkeypatch.setattr(traces, "MOST_REQUESTS", 2)
    assert [r.input_tokens for r in traced(path).requests] == [1 << 24] * 2
    monkeypatch.setattr(traces, "MOST_REQUESTS", 1)
    with pytest.raises(ParseError, match="too many requests"):
        traced(path)
    path.write_text(one.replace(str(1 << 24), str((1 << 24) + 1)))
    with pytest.raises(ParseError, match=f"input_tokens = {(1 << 24) + 1} is no size"):
        traced(path)
    path.write_text('{"input_tokens": 2, "output_tokens": 0}')
    with pytest.raises(ParseError, match="output_tokens = 0 is no size"):
        traced(path)
    path.write_text("\n")
    with pytest.raises(ParseError, match="has no request"):
        traced(path)
    path.write_text("{")
    with pytest.raises(ParseError, match="is no JSON object"):
        traced(path)
    path.write_text('{"input_tokens": 2, "output_tokens": 1, "arrival_s": true}')
    with pytest.raises(ParseError, match="arrival_s = True is no time"):
        traced(path)
    with pytest.raises(ParseError, match="cannot be read"):
        traced(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("load", "engines", "count", "users"),
    [
        (Load(concurrency=1), 1, 24, 1),
        (Load(concurrency=10, requests=50), 1, 50, 10),
        (Load(concurrency=9), 2, 24, 5),
        (Load(concurrency=9, requests=7), 2, 7, 5),
        (Load(concurrency=0, rate=2.0), 3, 8, 0),
        (Load(rate=2.0, requests=10), 4, 3, 0),
    ],
)
def test_a_load_is_shared_among_engines(load: Load, engines: int, count: int, users: int) -> None:
    work = load.workload(engines)
    assert (len(work.requests), work.concurrency) == (count, users)


def test_engines_take_turns_with_a_trace_and_share_a_rate(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"arrival_s": i, "input_tokens": 5 + i, "output_tokens": 2} for i in range(7)]
    path.write_text("\n".join(map(json.dumps, rows)))
    work = Load(concurrency=0, trace=str(path)).workload(3)
    assert [r.input_tokens for r in work.requests] == [5, 8, 11]
    whole, third = (Load(concurrency=0, rate=6.0, requests=300).workload(n) for n in (1, 3))
    assert third.requests[50].arrival_s == pytest.approx(3 * whole.requests[50].arrival_s)


@pytest.mark.parametrize(
    "changed",
    [
        {"isl": 1},
        {"isl": 1 << 24},
        {"spread": 0.0},
        {"rate": 1e6, "concurrency": 0},
        {"requests": 200_000},
        {"cached_tokens": 2047},
        {"concurrency": 0, "trace": "x"},
        {"cached_share": 0.0},
        {"cached_share": 1.0},
    ],
)
def test_the_ends_of_a_load_are_loads(changed: dict[str, Any]) -> None:
    load = Load(**changed)
    assert load.checked() is load


@pytest.mark.parametrize(
    "changed",
    [
        {"isl": (1 << 24) + 1},
        {"isl": True},
        {"osl": 0},
        {"osl": 1.0},
        {"concurrency": -1},
        {"spread": 1.0},
        {"spread": -0.1},
        {"rate": 2e6},
        {"rate": math.nan},
        {"requests": 200_001},
        {"requests": -1},
        {"cached_tokens": 2048},
        {"cached_tokens": -1},
        {"cached_share": -0.1},
        {"cached_share": 1.1},
        {"cached_share": math.nan},
        {"rate": 1.0, "trace": "x"},
        {"concurrency": 0},
    ],
)
def test_beyond_them_are_none(changed: dict[str, Any]) -> None:
    with pytest.raises(ParseError):
        Load(**changed).checked()


# steps


def test_a_pool_counts_half_a_page_more_for_each_sequence() -> None:
    s = Scheduler(Limits(kv_tokens=100, block_tokens=16))
    assert s.free_tokens == 100
    s.add(0, Request(0.0, 30, 5))
    ((_, chunk),) = s.next_chunks()
    assert chunk == Chunk(30, 0)
    assert s.free_tokens == 100 - 30 - 8
    s.finish_prompts()
    s.advance(2)
    assert s.free_tokens == 100 - 32 - 8
    assert s.running == 1


def test_a_request_starts_only_where_a_sequence_is_free() -> None:
    s = Scheduler(Limits(max_num_seqs=2, token_budget=100))
    for i in range(3):
        s.add(i, Request(0.0, 10, 5, 4))
    assert [c for _, c in s.next_chunks()] == [Chunk(6, 4), Chunk(6, 4)], "of the cache four each"
    assert (s.running, len(s.waiting), s.admits()) == (2, 1, False)
    s.finish_prompts()
    assert [x.index for x in s.advance(4)] == [0, 1]
    assert s.admits()
    assert not Scheduler(Limits()).admits(), "nobody waits"


def test_pages_of_a_prompt_are_in_the_pool_once_however_many_run_with_it() -> None:
    s = Scheduler(Limits(kv_tokens=1000, block_tokens=16))
    for i, prompt in enumerate((7, 7, 7, 8, None)):
        s.add(i, Request(0.0, 40, 3 + i, prompt=prompt, shared_tokens=40))
    s.next_chunks()
    assert s.running == 5
    # two whole pages of 16 tokens are shared by three; half a page more for each of the five
    assert s.free_tokens == 1000 - 5 * 40 + 2 * 32 - 5 * 8
    s.finish_prompts()
    s.advance(2)
    assert s.running == 4, "the first has left, and its pages stay with the others"
    assert s.free_tokens == 1000 - 4 * 42 + 32 - 4 * 8
    s.advance(2)
    assert s.running == 2
    assert s.free_tokens == 1000 - 2 * 44 - 2 * 8, "nothing is shared any more"


def test_a_sequence_that_is_put_back_shares_nothing() -> None:
    s = Scheduler(Limits(kv_tokens=136, block_tokens=16))
    for i in range(3):
        s.add(i, Request(0.0, 40, 50, prompt=1, shared_tokens=40))
    s.next_chunks()
    s.finish_prompts()
    assert (s.running, s.shared_tokens) == (3, 64)
    s.advance(18)
    assert s.free_tokens == 136 - 3 * 58 + 64 - 3 * 8, "two tokens for three"
    s.preempt()
    assert (s.running, s.shared_tokens) == (2, 32)
    assert s.free_tokens == 136 - 2 * 58 + 32 - 2 * 8


def test_an_answer_that_is_reserved_has_room_to_its_end() -> None:
    s = Scheduler(Limits(kv_tokens=60, reserves_output=True, block_tokens=0))
    s.add(0, Request(0.0, 10, 20))
    s.add(1, Request(0.0, 10, 21))
    s.next_chunks()
    assert (s.reserved, s.free_tokens) == (30, 30)
    assert not s.admits(), "31 tokens in 30"
    s.finish_prompts()
    s.advance(19)
    assert (s.reserved, s.free_tokens, s.running) == (0, 60, 0)


def test_prompts_in_chunks_need_room_for_a_chunk_alone_others_for_all() -> None:
    first, second = Request(0.0, 10, 5), Request(0.0, 500, 5)
    for batching, admits in (
        (Batching.MIXED, True),
        (Batching.PROMPTS_FIRST, False),
        (Batching.WHOLE_PROMPTS, False),
    ):
        s = Scheduler(Limits(token_budget=64, kv_tokens=200, batching=batching))
        s.add(0, first)
        s.next_chunks()
        s.finish_prompts()
        s.add(1, second)
        assert s.admits() is admits


def test_what_is_put_back_begins_when_all_of_it_has_room() -> None:
    """Beside a token of each that runs; without the rule a chunk would do."""
    for starts_whole, room, admits in (
        (True, 41, False),
        (True, 42, True),
        (False, 41, True),
    ):
        limits = Limits(
            token_budget=16,
            kv_tokens=11 + room,
            block_tokens=0,
            keeps_prefixes=False,
            starts_whole=starts_whole,
        )
        s = Scheduler(limits)
        s.add(0, Request(0.0, 10, 50))
        s.next_chunks()
        s.finish_prompts()
        s.advance(1)
        assert s.free_tokens == room
        s.add(1, Request(0.0, 41, 5))
        assert s.admits() is admits


def test_whole_prompts_beyond_the_budget_go_alone() -> None:
    s = Scheduler(Limits(token_budget=100, batching=Batching.WHOLE_PROMPTS))
    for i, n in enumerate((60, 40, 30, 300)):
        s.add(i, Request(0.0, n, 5))
    assert [c.tokens for _, c in s.next_chunks()] == [60, 40]
    s.finish_prompts()
    assert [c.tokens for _, c in s.next_chunks()] == [30]
    s.finish_prompts()
    assert [c.tokens for _, c in s.next_chunks()] == [300]


def full(*, keeps_prefixes: bool) -> Scheduler:
    """Two sequences of 10 and 20 tokens written, in a pool of 61."""
    limits = Limits(token_budget=20, kv_tokens=61, block_tokens=0, keeps_prefixes=keeps_prefixes)
    s = Scheduler(limits)
    for i in range(2):
        s.add(i, Request(0.0, 10, 50))
    s.next_chunks()
    s.finish_prompts()
    s.advance(20)
    return s


def test_the_last_that_came_is_put_back_and_reads_its_pages_again() -> None:
    s = full(keeps_prefixes=True)
    assert s.free_tokens == 1
    s.preempt()
    assert (s.preempted, s.running, [w.index for w in s.waiting]) == (1, 1, [1])
    back = s.waiting[0]
    # 10 of the prompt and 20 written after its first token, of 50
    assert (back.todo, back.done, back.left, back.retained) == (30, 0, 29, 30)
    s.advance(5)
    ((_, chunk),) = s.next_chunks()
    # five tokens were written, one of them where nothing lay: 26 are left, and no room for more
    assert chunk == Chunk(1, 26)


def test_a_pool_that_forgets_computes_all_anew() -> None:
    s = full(keeps_prefixes=False)
    s.preempt()
    s.advance(5)
    ((_, chunk),) = s.next_chunks()
    assert chunk == Chunk(19, 0), "what the budget leaves beside one decode"


def test_a_prompt_under_way_is_put_back_before_a_decode() -> None:
    s = Scheduler(Limits(token_budget=12, kv_tokens=22, block_tokens=0))
    s.add(0, Request(0.0, 10, 50))
    s.next_chunks()
    s.finish_prompts()
    s.add(1, Request(0.0, 40, 5))
    assert [c for _, c in s.next_chunks()] == [Chunk(11, 0)]
    s.advance(1)
    assert s.free_tokens == 0
    s.preempt()
    assert [w.index for w in s.waiting] == [1]
    assert (s.waiting[0].todo, s.waiting[0].retained, s.waiting[0].left) == (40, 11, 5)
    assert s.decodes_until() == 11


def test_decodes_run_until_the_first_ends_or_the_pool_is_full() -> None:
    s = Scheduler(Limits(token_budget=1000, kv_tokens=1000, block_tokens=0))
    for i, n in enumerate((9, 5, 7)):
        s.add(i, Request(0.0, 20, n))
    s.next_chunks()
    s.finish_prompts()
    assert s.decodes_until() == 4
    assert s.advance(3) == []
    assert s.decodes_until() == 1
    assert [x.index for x in s.advance(1)] == [1]
    assert s.decodes_until() == 2
    assert [x.index for x in s.advance(4)] == [2, 0]
    assert (s.context_sum, s.running) == (0, 0)
    tight = Scheduler(Limits(token_budget=1000, kv_tokens=50, block_tokens=0))
    for i in range(2):
        tight.add(i, Request(0.0, 20, 30))
    tight.next_chunks()
    tight.finish_prompts()
    assert tight.decodes_until() == 5, "ten tokens for two"


def test_an_answer_of_one_token_ends_with_its_prompt() -> None:
    s = Scheduler(Limits())
    s.add(3, Request(0.0, 20, 1))
    s.next_chunks()
    ready, ended = s.finish_prompts()
    assert [x.index for x in ready] == [x.index for x in ended] == [3]
    assert (s.running, s.context_sum, s.prefill_tokens) == (0, 0, 0)
    assert s.finish_prompts() == ([], [])


def test_two_users_by_hand() -> None:
    """Prompts of 10 and 10 in one step of 20 ms, then two steps of two at 12 ms; then the rest."""
    run = simulate(Workload((Request(0.0, 10, 3), Request(0.0, 10, 5)), 2), Limits(), Clock())
    assert [(s.steps, len(s.chunks), s.decodes) for s in run.strides] == [
        (1, 2, 0),
        (2, 0, 2),
        (2, 0, 1),
    ]
    assert run.time_s == pytest.approx(20e-3 + 2 * 12e-3 + 2 * 11e-3)
    first, second = run.served
    assert (first.ttft_s, second.ttft_s) == (pytest.approx(20e-3),) * 2
    assert first.tpot_s == pytest.approx(12e-3)
    assert second.tpot_s == pytest.approx(46e-3 / 4)
    assert (first.spans, second.spans) == ((0, 1, 2), (0, 1, 3))
    assert run.steps == 5
    assert run.busy_s == pytest.approx(run.time_s)
    assert [s.context for s in run.strides] == [0.0, 10.5, 12.5]


def test_a_request_that_comes_while_others_decode_waits_for_the_step_to_end() -> None:
    work = Workload((Request(0.0, 10, 9), Request(0.030, 10, 2)))
    run = simulate(work, Limits(), Clock())
    # steps of 11 ms from 10 ms on: the second is seen at 32 ms, and computed with a decode
    assert run.served[1].first_s == pytest.approx(32e-3 + 21e-3)
    late = simulate(Workload((Request(5.0, 10, 1),)), Limits(), Clock())
    assert late.served[0].first_s == pytest.approx(5.01)
    assert late.busy_s == pytest.approx(0.01)


def test_prompts_first_keep_decodes_out_of_their_steps() -> None:
    work = Workload((Request(0.0, 10, 3), Request(0.001, 10, 3)))
    limits = Limits(batching=Batching.PROMPTS_FIRST)
    run = simulate(work, limits, Clock())
    assert [(len(s.chunks), s.decodes, s.steps) for s in run.strides] == [
        (1, 0, 1),
        (1, 0, 1),
        (0, 2, 2),
    ]


def test_a_pool_must_hold_the_longest_request_and_a_page() -> None:
    work = Workload((Request(0.0, 30, 18), Request(0.0, 8, 8)))
    simulate(work, Limits(kv_tokens=64), Clock())
    with pytest.raises(ParseError, match="a request of 48 tokens does not fit a pool of 63"):
        simulate(work, Limits(kv_tokens=63), Clock())
    with pytest.raises(ParseError, match="a pool of 0"):
        simulate(work, Limits(kv_tokens=-5), Clock())


# latencies


def test_quantiles_lie_between_values() -> None:
    found = Quantiles.of([4.0, 1.0, math.nan, 2.0, 3.0])
    assert found == Quantiles(2.5, pytest.approx(2.5), pytest.approx(3.7), pytest.approx(3.97))
    assert Quantiles.of([math.nan]) is None
    assert Quantiles.of([7.0]) == Quantiles(7.0, 7.0, 7.0, 7.0)
    assert Quantiles(1.0, 2.0, 3.0, 4.0).scaled(2) == Quantiles(2.0, 4.0, 6.0, 8.0)


def test_quantiles_of_counts_are_values_that_occur() -> None:
    found = Quantiles.weighted([(3.0, 10), (1.0, 50), (2.0, 40)])
    assert found == Quantiles(pytest.approx(1.6), 1.0, 2.0, 3.0)
    assert Quantiles.weighted([(1.0, 98), (5.0, 2)]) == Quantiles(
        pytest.approx(1.08), 1.0, 1.0, 5.0
    )
    assert Quantiles.weighted([]) is None


def test_latencies_by_hand() -> None:
    strides = (
        Stride(0.5, 1, (Chunk(10, 0),), 0, 0.0),
        Stride(0.25, 4, (), 2, 12.0),
        Stride(1.0, 1, (Chunk(5, 0),), 1, 9.0),
    )
    run = run_of(served(0, 1, 3, 5), served(1, 3, 9, 3), served(2, 8, 8, 1), strides=strides)
    found = latencies((Share(run, 1, 0, 3, 1.0),), lambda _: 0.0)
    assert found.ttft.mean == pytest.approx((1 + 2 + 6) / 3)
    assert found.tpot is not None
    assert found.tpot.mean == pytest.approx((2 / 4 + 6 / 2) / 2), "one token has no further one"
    assert found.tpot_inclusive.mean == pytest.approx((3 / 5 + 8 / 3 + 6) / 3)
    assert found.end_to_end.mean == pytest.approx((3 + 8 + 6) / 3)
    assert found.itl is not None
    assert found.itl.mean == pytest.approx((0.25 * 8 + 1.0) / 9)
    last = latencies((Share(run, 1, 2, 3, 1.0),), lambda tokens: tokens / 10)
    assert last.ttft.mean == 6 + 1, "the server takes a tenth of a second for each of ten tokens"
    # of two groups each request counts as often as its group finishes one like it
    both = latencies((Share(run, 1, 0, 1, 3.0), Share(run, 2, 2, 3, 0.5)), lambda _: 0.0)
    assert both.ttft.mean == pytest.approx((3 * 1 + 1 * 6) / 4)


def test_throughput_is_that_of_all_groups() -> None:
    run = run_of(served(0, 1, 2, 4, 6), served(0, 1, 2, 8, 2))
    found = Steady((Share(run, 3, 0, 2, 2.0), Share(run, 1, 0, 1, 1.0)), idle=2)
    # three groups of two requests a second with 6 tokens each, one of one with four
    assert throughput(found, 6) == LoadThroughput(40.0, 30.0, 7.0, 6)
    assert throughput(found, 6).output_tokens_per_s_per_gpu == pytest.approx(40 / 6)


def test_a_law_is_a_sum_of_amounts() -> None:
    law = HostModel(
        kernels=2, prompts=3, exchanges=5, step_s=7, prompt_s=11, sequence_s=13, few_s=17
    )
    assert law.step(1.0, 0.1, 0, 4) == pytest.approx(2 + 0.5 + 7 + 52 + 68)
    assert law.step(1.0, 0.1, 2, 4) == pytest.approx(3 + 0.5 + 7 + 22 + 6 * 13 + 6 * 17)
    assert amounts(0.0, 0.0, 0, 100)[-2:] == (100.0, FEW)


# memory


def test_states_take_room_and_tokens_whole_pages() -> None:
    plan = MemoryPlan(1000.0, 0.5, MemoryDemand(100.0, 2.0, 10.0, 50.0), 30.0, block_tokens=8)
    assert plan.pool_bytes == 320
    assert plan.kv_tokens == 160
    assert plan.sequences(9) == 7, "two pages of 32 bytes... and a state of ten: 42"
    assert plan.sequences(8) == 12
    assert plan.fits(148)
    assert not plan.fits(153)
    empty = MemoryPlan(100.0, 0.5, MemoryDemand(100.0, 2.0), 0.0)
    assert (empty.kv_tokens, empty.sequences(1), empty.fits(1)) == (0, 0, False)
    free = MemoryPlan(100.0, 1.0, MemoryDemand(10.0, 0.0), 0.0)
    assert (free.kv_tokens, free.sequences(5)) == (1 << 40, 1 << 20)
    assert MemoryPlan(100.0, 0.1, MemoryDemand(10.0, 0.0), 0.0).kv_tokens == 0


# money and energy


def test_tokens_cost_their_hours_and_their_energy() -> None:
    price = Offer(3.6, "EUR", "us", "2026-01-01")
    assert power.price_per_million(price, 100.0) == pytest.approx(10.0)
    rate = LoadThroughput(400.0, 0.0, 0.0, 2)
    grid = Region("here", 100.0, "who", "2026-01-02")
    found = power.expenses(2.0, rate, H100, Prices({H100.name: price}), grid)
    assert found.energy_j_per_token == 2.0
    # two million joules are 0.5556 kWh
    assert found.carbon_g_per_million == pytest.approx(55.5556, rel=1e-4)
    assert found.price_per_million == pytest.approx(5.0), "3.60 an hour, 200 tokens a second"
    assert (found.currency, found.price_source, found.price_date) == ("EUR", "us", "2026-01-01")
    assert (found.grid, found.grid_source, found.grid_date) == (
        "here 100 g/kWh",
        "who",
        "2026-01-02",
    )
    bare = power.expenses(None, LoadThroughput(0.0, 0.0, 0.0, 1), H100, Prices(), None)
    assert (bare.energy_j_per_token, bare.carbon_g_per_million, bare.price_per_million) == (
        None,
    ) * 3
    assert bare.grid.startswith("world ")


def test_a_grid_is_one_of_the_table() -> None:
    assert region_named("world").carbon_g_per_kwh > 300
    with pytest.raises(ParseError, match="no region 'moon'"):
        region_named("moon")


class Parts:
    """Kernels of 2 s and exchanges of 1 s a step, at 100 W; ten watts when idle."""

    kind = SimpleNamespace(token_budget=64, batching=Batching.MIXED, max_num_seqs=100)
    parallel = Parallel(2)
    ranks = 2

    def __init__(self, machine: Any = H100, law: HostModel = HostModel()) -> None:  # noqa: B008
        self.cost, self.machine, self.law = self, machine, law

    def parts(self, quantity: str, *at: Any) -> Any:
        factor = {"energy_j": 100.0, "low_s": 0.5, "high_s": 2.0}.get(quantity, 1.0)
        return SimpleNamespace(kernels=2.0 * factor, exchanges=1.0 * factor)

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        return Clock().step_s(chunks, decodes, context)

    def demand(self, tokens: int, budget: int, sequences: int) -> MemoryDemand:
        return MemoryDemand(0.0, 1e6)


def test_energy_of_a_run_is_of_kernels_waits_and_idle_boards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(power, "idle_w", lambda machine, model: 10.0)
    known: dict[str, power.BoardPower] = {}
    monkeypatch.setattr(power, "boards", lambda: known)
    run = run_of(strides=[Stride(4.0, 3, (), 1, 0.0)], time_s=20.0)
    engine: Any = Parts()
    # 3 steps: 300 J of kernels and 1 s at ten watts each; 8 s idle; two boards
    assert power.run_energy_j(run, engine) == pytest.approx(2 * (3 * 310 + 80))
    # a request of ten tokens every 20 s; three idle pairs of boards and five that compute prompts
    found = Steady((Share(replace(run, served=(served(0, 1, 2, 10),)), 1, 0, 1, 0.05),), idle=3)
    each_j = power.energy_j_per_token(found, throughput(found, 8), engine, 5)
    assert each_j == pytest.approx((2 * (3 * 310 + 80) + (3 * 2 + 5) * 10 * 20) / 10)
    law = HostModel(kernels=0.5, exchanges=2.0)
    known[engine.machine.name] = power.BoardPower(3.0, 4.0)
    drawn, waiting = 0.5 * 200 + 2 * 100, 4 - (0.5 * 2 + 2 * 1)
    assert power.run_energy_j(run, Parts(law=law)) == pytest.approx(  # type: ignore[arg-type]
        2 * (3 * (3 * drawn + 4 * 10 * waiting) + 80)
    )
    cpu: Any = Parts(load_machine("generic-x86-64"))
    assert math.isnan(power.run_energy_j(run, cpu))
    assert power.energy_j_per_token(found, throughput(found, 8), cpu) is None


def test_a_band_is_wider_where_kernels_are_known_less_well() -> None:
    run = run_of(strides=[Stride(1.0, 1, (), 1, 0.0), Stride(4.0, 1, (), 1, 0.0)])
    engine: Any = Parts()
    found = _interval_factors(engine, run, 0.8, 1.25)
    below = math.hypot(math.log(0.8), math.log(2) - 0.15)
    above = math.hypot(math.log(1.25), math.log(2) - 0.25)
    assert found == IntervalFactors(pytest.approx(math.exp(-below)), pytest.approx(math.exp(above)))


@pytest.mark.parametrize(
    ("engines", "said"), [(4096, ""), (4097, "4097 engines"), (0, "'0' is no degree")]
)
def test_engines_side_by_side_are_a_bounded_number(engines: int, said: str) -> None:
    asked: Any = {"isl": 10, "osl": 2, "concurrency": 4096, "parallel": {"dp": engines}}
    if not said:
        assert llm("llama-3.2-1b", "h100", **asked).gpus == 4096
        return
    with pytest.raises(ParseError, match=said):
        llm("llama-3.2-1b", "h100", **asked)


# prompts apart


def prefill(workers: int = 2, parts: int = 1, machine: Any = H100) -> Prefill:
    engine: Any = Parts(machine)
    return Prefill(engine, workers, parts)


def test_groups_of_ranks_and_stages_compute_a_prompt_each() -> None:
    pool = prefill(workers=3, parts=4)
    assert pool.at_once == 0.75
    engine: Any = pool.engine
    engine.parallel = Parallel(1, 1, 8, 8)
    assert pool.at_once == 6.0
    engine.parallel = Parallel(2, 4)
    assert pool.at_once == 3.0


def test_a_prompt_is_computed_in_chunks_and_its_cache_handed_over() -> None:
    link = H100.link("nvlink")
    assert link is not None
    handed = 150 * 1e6 / (link.value / 2)
    assert prefill().prompt_s(150, 0) == pytest.approx(0.150 + handed)
    assert prefill().prompt_s(150, 100) == pytest.approx(0.050 + handed)
    slow = prefill(machine=load_machine("l4")).prompt_s(150, 0)
    assert slow == pytest.approx(0.150 + 150e6 / disaggregated.LINK_BYTES_PER_S)


def test_requests_that_come_by_themselves_wait_for_a_worker_in_turn() -> None:
    run = run_of(served(0.0, 0.1, 1.1, 3), served(0.2, 0.3, 1.3, 3), served(9.0, 9.1, 9.2, 3))
    found = disaggregated._delayed(run, 0.5, 2.0)
    # one starts every half second: at 0, 0.5 and 9
    assert [s.first_s for s in found.served] == pytest.approx([0.6, 1.1, 9.6])
    assert [s.last_s for s in found.served] == pytest.approx([1.6, 2.1, 9.7])
    assert found.time_s == pytest.approx(9.7)


def test_both_halves_of_a_closed_loop_pass_as_many_requests() -> None:
    work = closed_loop(40, 64, 11, count=80)
    pool = prefill(workers=1)
    each_s = pool.prompt_s(64, 0)
    run = simulate_disaggregated(work, Limits(), Clock(), pool)
    # as many decode at once as end no more requests than prompts are computed
    most = max(n for n in range(1, 40) if n / (11 * (10 + n) * 1e-3) <= 1 / each_s)
    assert max(s.decodes for s in run.strides) == most
    passed = most / (11 * (10 + most) * 1e-3)
    assert run.served[-1].ttft_s >= (40 - most) / passed
    begun = closed_loop(40, 64, 11, count=80, is_staggered=True)
    middle = simulate_disaggregated(begun, Limits(), Clock(), pool)
    assert max(s.decodes for s in middle.strides) == most, "first answers are cut short, not all"
    many = simulate_disaggregated(work, Limits(), Clock(), prefill(workers=100))
    assert max(s.decodes for s in many.strides) >= 39
    with pytest.raises(ParseError, match="too few GPUs for one prefill worker"):
        simulate_disaggregated(work, Limits(), Clock(), prefill(workers=0))
    alone = simulate_disaggregated(poisson(0.1, 64, 11, count=5), Limits(), Clock(), pool)
    assert all(s.ttft_s >= each_s for s in alone.served)


# the search


def setting(cost: float, tpot_s: float) -> ServingSetting:
    return ServingSetting("h100", "", 1, 1, 8, 1024, 0.1, tpot_s, 4.0, cost, cost)


def test_a_front_has_what_no_other_beats() -> None:
    each = [setting(c, t) for c, t in ((3, 0.1), (1, 0.3), (2, 0.3), (2, 0.2), (4, 0.1), (1, 0.4))]
    assert [(s.cost, s.tpot_s) for s in _front(each)] == [(1, 0.3), (2, 0.2), (3, 0.1)]


def test_limits_hold_up_to_themselves() -> None:
    slo = Slo.parse("ttft=500ms, tpot=30ms,e2e=2s")
    assert slo == Slo(0.5, 0.03, 2.0)
    assert slo.holds(0.5, 0.03, 2.0)
    for times in ((0.51, 0.03, 2.0), (0.5, 0.031, 2.0), (0.5, 0.03, 2.1)):
        assert not slo.holds(*times)
    assert Slo().holds(9e9, 9e9, 9e9)
    assert Slo.parse("") == Slo()


def answer(tpot_s: float | None, price: float | None = None, rate: float = 100.0) -> Any:
    tpot = None if tpot_s is None else Quantiles(tpot_s, tpot_s, tpot_s, tpot_s)
    mean = Quantiles(0.4, 0.4, 0.4, 0.4)
    return SimpleNamespace(
        latencies=SimpleNamespace(ttft=mean, tpot=tpot, end_to_end=mean),
        gpus=2,
        expenses=None if price is None else SimpleNamespace(price_per_million=price),
        throughput=LoadThroughput(rate, 0.0, 0.0, 2) if rate else None,
    )


def test_reports_are_ordered_by_money_else_by_gpu_seconds() -> None:
    assert cost_of(answer(0.1, 7.0), is_priced=True) == 7.0
    assert cost_of(answer(0.1, 7.0), is_priced=False) == pytest.approx(0.02)
    assert cost_of(answer(0.1), is_priced=True) == pytest.approx(0.02)
    assert cost_of(answer(0.1, rate=0.0), is_priced=True) == math.inf
    unpriced = answer(0.1)
    unpriced.expenses = SimpleNamespace(price_per_million=None)
    assert cost_of(unpriced, is_priced=True) == pytest.approx(0.02)


def test_reports_hold_limits_and_make_a_front() -> None:
    assert holds(answer(0.02), Slo(0.4, 0.02, 0.4))
    assert not holds(answer(0.03), Slo(0.4, 0.02))
    assert holds(answer(None), Slo(0.4, 0.0)), "one token has none after it"
    silent = answer(0.02)
    silent.latencies = None
    assert not holds(silent, Slo())
    each = [answer(t) for t in (0.5, 0.6, 0.4, 0.4, 0.1)]
    assert [r.latencies.tpot.mean for r in _best(each)] == [0.5, 0.4, 0.1]
    assert list(_best([silent])) == []


def test_a_steady_state_by_hand() -> None:
    engine: Any = Parts()
    load = Load(isl=100, osl=20, concurrency=4)
    # 60 tokens a step beside four decodes: 5/3 chunks a prompt, of 60 ms and a decode of 14 ms
    ttft_s, tpot_s = steady(engine, load, 4, 64)
    mixed_s, steps = 74e-3, 3 * 100 / 60
    cycle_s = (20 - steps) * 14e-3 + steps * mixed_s
    busy = steps * mixed_s / cycle_s
    assert tpot_s == pytest.approx(cycle_s / 20)
    assert ttft_s == pytest.approx(100 / 60 * mixed_s * (1 + busy / (2 * (1 - busy))))
    alone, each = steady(engine, load, 1, 1000)
    assert (alone, each) == (pytest.approx(111e-3), pytest.approx(11e-3))
    cached = steady(engine, replace(load, cached_tokens=60), 1, 1000)
    assert cached[0] == pytest.approx(51e-3)


def test_a_steady_state_of_prompts_first() -> None:
    engine: Any = Parts()
    engine.kind = SimpleNamespace(batching=Batching.PROMPTS_FIRST)
    ttft_s, tpot_s = steady(engine, Load(isl=100, osl=20), 4, 64)
    # 64 tokens a step, decodes wait: 3 · 100 / 64 steps of 64 ms
    waits = 3 * 100 / 64 * 64e-3
    cycle_s = 20 * 14e-3 + waits
    assert tpot_s == pytest.approx(cycle_s / 20)
    busy = waits / cycle_s
    assert ttft_s == pytest.approx(0.1 * (1 + busy / (2 * (1 - busy))))
