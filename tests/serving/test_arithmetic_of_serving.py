"""Arithmetic of serving by hand: latencies, memory, prices, disaggregation, searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.deployment.prices import Offer, Prices, Region, region_named
from perfc.errors import ParseError
from perfc.machine import load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import Batching
from perfc.serving import Load, llm, power
from perfc.serving.cost.memory import MemoryDemand, MemoryPlan
from perfc.serving.host import FEW, HostModel, amounts
from perfc.serving.output.report import IntervalFactors
from perfc.serving.search import (
    ServingSetting,
    Slo,
    _faster,
    _front,
    _tpot_s,
    cost_of,
    holds,
)
from perfc.serving.service import _interval_factors
from perfc.serving.simulation import prompts
from perfc.serving.simulation.arrivals import Request, drawn_workload
from perfc.serving.simulation.closed_loop import steady_times
from perfc.serving.simulation.disaggregated import simulate_disaggregated
from perfc.serving.simulation.metrics import (
    LoadThroughput,
    Quantiles,
    latencies,
    throughput,
)
from perfc.serving.simulation.scheduler import Chunk, Limits
from perfc.serving.simulation.simulate import Served, SimulatedRun, Stride
from perfc.serving.simulation.steady_state import Share, Steady

from .by_hand import Clock

H100 = load_machine("h100")


def served(arrival: float, first: float, last: float, tokens: int, prompt: int = 10) -> Served:
    return Served(Request(arrival, prompt, tokens), arrival, first, last)


def run_of(*each: Served, strides: Sequence[Stride] = (), time_s: float = 10.0) -> SimulatedRun:
    return SimulatedRun(each, tuple(strides), time_s, 0)


# latencies


def test_quantiles_lie_between_values() -> None:
    found = Quantiles.of([4.0, 1.0, math.nan, 2.0, 3.0])
    assert found == Quantiles(2.5, pytest.approx(2.5), pytest.approx(3.7), pytest.approx(3.97))
    assert Quantiles.of([math.nan]) is None
    assert Quantiles.of([7.0]) == Quantiles(7.0, 7.0, 7.0, 7.0)


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
    options: Any = {"isl": 10, "osl": 2, "concurrency": 4096, "parallel": {"dp": engines}}
    if not said:
        assert llm("llama-3.2-1b", "h100", **options).gpus == 4096
        return
    with pytest.raises(ParseError, match=said):
        llm("llama-3.2-1b", "h100", **options)


# disaggregated prompts


def queue(at_once: float = 1.0, tokens: int = 16, cached: int = 0, machine: Any = H100) -> Any:
    engine: Any = Parts(machine)
    return prompts.PromptQueue(engine, at_once, tokens, cached)


def test_a_prompt_is_computed_in_chunks_and_its_cache_handed_over() -> None:
    link = H100.link("nvlink")
    assert link is not None
    assert queue(tokens=150).prompts_s(1) == pytest.approx(0.150)
    assert queue(tokens=150, cached=100).prompts_s(3) == pytest.approx(3 * 0.050)
    assert queue(tokens=150).handover_s() == pytest.approx(150 * 1e6 / (link.value / 2))
    slow = queue(tokens=150, machine=load_machine("l4")).handover_s()
    assert slow == pytest.approx(150e6 / prompts.LINK_BYTES_PER_S)


def test_prompts_share_the_steps_of_an_engine_that_is_free() -> None:
    """A budget of 64 tokens holds four prompts of 16, each token takes a millisecond."""
    one = queue()
    moved_s = one.handover_s()
    for i in range(6):
        one.add(i, 0.0)
    assert one.done(0.0) == []
    assert one.next_s() == pytest.approx(0.064), "two wait until the engine is free"
    assert one.done(0.064 + moved_s + 1e-9) == [0, 1, 2, 3]
    one.add(6, 0.080)
    assert one.done(0.096 + moved_s + 1e-9) == [4, 5]
    assert one.next_s() == pytest.approx(0.112 + moved_s), "it came while the engine was busy"
    pair = queue(2.0)
    for i in range(4):
        pair.add(i, 0.0)
    assert pair.done(0.032 + moved_s + 1e-9) == [0, 1, 2, 3], "two for each engine"
    # an engine for eight decode groups: eight equal prompts of 16 take two steps
    shared = queue(1 / 8)
    shared.add(0, 0.0)
    shared.add(1, 0.0)
    shared.done(0.0)
    assert shared.next_s() == pytest.approx(0.096 + moved_s), "their mean is done in the middle"
    shared.done(1.0)
    assert shared.free == [pytest.approx(0.256)]


@pytest.mark.parametrize("batching", [Batching.MIXED, Batching.PROMPTS_FIRST])
def test_decodes_of_a_closed_loop_go_on_while_others_compute_prompts(batching: Batching) -> None:
    work = drawn_workload(40, 64, 11, count=400)
    limits, one = Limits(batching=batching), (queue().engine, 1.0)
    run = simulate_disaggregated(work, limits, Clock(), *one)
    # a prompt of a step's whole budget every 64 ms, an answer of ten further steps of 11 ms
    last_s = max(s.last_s for s in run.served)
    assert last_s == pytest.approx(400 * 0.064 + 11 * 0.012, rel=0.01)
    assert max(s.decodes for s in run.strides) <= 3
    waits = [s.ttft_s for s in run.served]
    assert waits[39] == pytest.approx(40 * 0.064, rel=0.05), "they start at once"
    assert sum(waits[40:]) / 360 == pytest.approx(40 * 0.064 - 0.12, rel=0.05)
    many = simulate_disaggregated(work, limits, Clock(), one[0], 100.0)
    assert max(s.decodes for s in many.strides) >= 39
    assert min(s.ttft_s for s in many.served) >= 0.064
    assert max(s.ttft_s for s in many.served) < 0.064 + 0.055, "no queue, one step of decodes"
    with pytest.raises(ParseError, match="too few GPUs for one prefill worker"):
        simulate_disaggregated(work, limits, Clock(), one[0], 0.0)


def test_requests_that_come_by_themselves_wait_for_an_engine_in_turn() -> None:
    work, one = drawn_workload(0, 64, 3, count=200, rate=14.0), (queue().engine, 1.0)
    run = simulate_disaggregated(work, Limits(), Clock(), *one)
    starts = [s.first_s for s in run.served]
    assert starts == sorted(starts)
    assert min(b - a for a, b in pairwise(starts)) > 0.040, "one every 64 ms, to a decode step"
    assert min(s.ttft_s for s in run.served) >= 0.064
    assert run.time_s == pytest.approx(max(200 * 0.064, run.served[-1].arrival_s), rel=0.1)


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
    assert [_tpot_s(r) for r in _faster(each, _tpot_s)] == [0.5, 0.4, 0.1]
    assert _tpot_s(silent) == math.inf


def test_a_steady_state_by_hand() -> None:
    engine: Any = Parts()
    load = Load(isl=100, osl=20, concurrency=4)
    # 60 tokens a step and four decodes: 5/3 chunks a prompt, of 60 ms and a decode of 14 ms
    ttft_s, tpot_s = steady_times(engine.kind, engine.cost.step_s, load, 4, 64)
    mixed_s, steps = 74e-3, 3 * 100 / 60
    cycle_s = (20 - steps) * 14e-3 + steps * mixed_s
    busy = steps * mixed_s / cycle_s
    assert tpot_s == pytest.approx(cycle_s / 20)
    assert ttft_s == pytest.approx(100 / 60 * mixed_s * (1 + busy / (2 * (1 - busy))))
    alone, each = steady_times(engine.kind, engine.cost.step_s, load, 1, 1000)
    assert (alone, each) == (pytest.approx(111e-3), pytest.approx(11e-3))
    cached = steady_times(engine.kind, engine.cost.step_s, replace(load, cached_tokens=60), 1, 1000)
    assert cached[0] == pytest.approx(51e-3)


def test_a_steady_state_of_prompts_first() -> None:
    engine: Any = Parts()
    engine.kind = SimpleNamespace(batching=Batching.PROMPTS_FIRST)
    ttft_s, tpot_s = steady_times(engine.kind, engine.cost.step_s, Load(isl=100, osl=20), 4, 64)
    # 64 tokens a step, decodes wait: 3 · 100 / 64 steps of 64 ms
    waits = 3 * 100 / 64 * 64e-3
    cycle_s = 20 * 14e-3 + waits
    assert tpot_s == pytest.approx(cycle_s / 20)
    busy = waits / cycle_s
    assert ttft_s == pytest.approx(0.1 * (1 + busy / (2 * (1 - busy))))
