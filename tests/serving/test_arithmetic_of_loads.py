"""Arithmetic of loads by hand: requests, arrivals, and the bounds of both."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfc.errors import ParseError
from perfc.serving import Load
from perfc.serving.simulation import traces
from perfc.serving.simulation.arrivals import Request, drawn_workload
from perfc.serving.simulation.traces import traced


def test_staggered_users_are_evenly_in_the_middle_of_their_first_answers() -> None:
    work = drawn_workload(4, 10, 80, count=6, is_staggered=True, cached=3)
    assert [r.output_tokens for r in work.requests] == [10, 30, 50, 70, 80, 80]
    assert {(r.arrival_s, r.input_tokens, r.cached_tokens) for r in work.requests} == {(0.0, 10, 3)}
    assert work.concurrency == 4
    short = drawn_workload(4, 10, 1, count=4, is_staggered=True)
    assert [r.output_tokens for r in short.requests] == [1] * 4, "one token at least"


def test_lengths_are_drawn_down_to_a_share_and_at_least_one() -> None:
    work = drawn_workload(1, 1000, 100, count=400, spread=0.4, cached=900, seed=5)
    reads, writes = (
        [getattr(r, n) for r in work.requests] for n in ("input_tokens", "output_tokens")
    )
    assert 600 <= min(reads) < 620
    assert 980 < max(reads) <= 1000
    assert sum(reads) / 400 == pytest.approx(800, rel=0.03)
    assert 60 <= min(writes) < max(writes) <= 100
    assert all(r.cached_tokens == min(900, r.input_tokens - 1) for r in work.requests)
    assert drawn_workload(1, 1, 1, count=3, spread=0.9).requests == (Request(0.0, 1, 1),) * 3


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
    work = drawn_workload(0, 10, 5, count=2000, seed=1, rate=4.0)
    times = [r.arrival_s for r in work.requests]
    assert times[0] == 0
    assert times == sorted(times)
    assert times[-1] / 1999 == pytest.approx(0.25, rel=0.05)
    assert work.concurrency == 0
    assert drawn_workload(0, 10, 5, count=9, seed=1, rate=4.0).requests == work.requests[:9]


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
