"""Arithmetic of the scheduler by hand: pools, chunks, decodes and steps."""

from __future__ import annotations

import pytest

import perfc
from perfc.errors import ParseError
from perfc.passes.runtimes import Batching
from perfc.serving import llm
from perfc.serving.output.views import document
from perfc.serving.simulation.arrivals import Request, Workload
from perfc.serving.simulation.scheduler import Chunk, Limits, Scheduler
from perfc.serving.simulation.simulate import simulate
from perfc.view.report.formats import text

from .by_hand import Clock


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
    assert sum(s.steps for s in run.strides) == 5
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


@pytest.mark.parametrize("load", [{}, {"isl": 20_000, "concurrency": 8}, {"rate": 5.0}])
def test_parts_of_the_first_token_sum_to_it(load: dict[str, float]) -> None:
    report = llm("llama-3.1-8b", "h100", **{"isl": 700, "osl": 32, **load})  # type: ignore[arg-type]
    assert report.latencies is not None
    parts = {part.what: part.time_s for part in report.first_token}
    assert sum(parts.values()) == pytest.approx(report.latencies.ttft.mean)
    assert min(parts.values()) >= 0
    assert (parts["wait"] > 1e-3) == bool(load)


def test_one_prompt_takes_as_long_for_analyze() -> None:
    """What analyze predicts of a prompt's kernels is the prompt's part of the first token."""
    report = llm("qwen2.5-0.5b", "h100", isl=512, osl=8)
    (prompt,) = (part.time_s for part in report.first_token if part.what == "prompt")
    shape = {"batch": 1, "seq": 512}
    kernels = perfc.analyze("qwen2.5-0.5b", "h100", runtime="vllm", dims=shape).prediction
    assert prompt == pytest.approx(kernels.kernels_s, rel=0.1)


def test_an_interval_wider_than_five_is_no_answer() -> None:
    report = llm("llama-2-7b", "radeon-8060s", runtime="llamacpp", dtype="q4_0", isl=64, osl=8)
    assert report.ttft_band is not None
    assert report.ttft_band.high > 5 * report.ttft_band.low
    shown = text.render(document(report), 120)
    assert "at least " in shown
    assert "not measured on radeon-8060s" in shown
    known = llm("llama-3.1-8b", "h100", isl=64, osl=8)
    assert "unknown" not in text.render(document(known), 120)
