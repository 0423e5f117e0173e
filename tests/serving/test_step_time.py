"""Time of a step for schedulers: speed, and a replay of requests against ``perfc llm``."""

from __future__ import annotations

import json
import random
import time
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest

import perfc
from perfc.errors import PerfcError
from perfc.serving.step_time import (
    SglangTimePredictor,
    StepPredictor,
    step_predictor,
    vllm_step_time,
)

MODEL, TARGET = "llama-3.1-8b", "h100"


@pytest.fixture(scope="module")
def steps() -> StepPredictor:
    return step_predictor(MODEL, TARGET, runtime="vllm")


@pytest.mark.speed
def test_a_call_takes_at_most_50_microseconds(steps: StepPredictor) -> None:
    decodes = [(1, 1000 + i) for i in range(64)]
    for batch in (decodes, [*decodes, (2048, 0)], [(512, 512)] * 4):
        least_s = 1.0
        for _ in range(200):
            start = time.process_time()
            for _ in range(10):
                steps.step_time(batch)
            least_s = min(least_s, (time.process_time() - start) / 10)
        assert least_s <= 50e-6


def test_steps_are_those_of_the_engine(steps: StepPredictor) -> None:
    report = perfc.llm(MODEL, TARGET, runtime="vllm", isl=1000, osl=100, concurrency=32)
    shown = [s for s in report.steps if s.decodes and not s.tokens]
    assert shown
    for step in shown:
        batch = [(1, round(step.context))] * step.decodes
        assert steps.step_time(batch) == pytest.approx(step.time_s, rel=0.01)
    assert steps.step_time([]) == 0.0
    assert steps.step_time([(1, 500)] * 8) < steps.step_time([(1, 500)] * 8 + [(512, 0)])


def test_wrong_options_are_those_of_llm() -> None:
    with pytest.raises(PerfcError, match="no such target 'h1000'"):
        step_predictor(MODEL, "h1000")
    with pytest.raises(PerfcError, match="no 'batch_size'"):
        step_predictor(MODEL, TARGET, batch_size=4)  # type: ignore[call-arg]


def requests() -> list[tuple[float, int, int]]:
    """Return arrival, prompt and answer of 300 requests."""
    draw = random.Random(7)
    at_s, rows = 0.0, []
    for _ in range(300):
        at_s += draw.expovariate(6.0)
        rows.append((at_s, draw.randint(100, 3000), draw.randint(20, 400)))
    return rows


def replayed(adapter: SglangTimePredictor, rows: list[tuple[float, int, int]]) -> list[float]:
    """Serve requests by the rules of vLLM's scheduler; return when each has its last token."""
    limits = adapter.steps.limits
    waiting, running, unseen = deque[list[int]](), list[list[int]](), list[list[int]]()
    ends, now_s, come = [0.0] * len(rows), 0.0, 0
    while come < len(rows) or waiting or running or unseen:
        if not (waiting or running or unseen):
            now_s = max(now_s, rows[come][0])
        # a request that comes while a step runs misses the one that is scheduled already
        waiting.extend(unseen)
        unseen.clear()
        while come < len(rows) and rows[come][0] <= now_s:
            one = [come, rows[come][1], 0, rows[come][2]]
            (unseen if running and limits.is_ahead else waiting).append(one)
            come += 1
        budget = limits.token_budget - sum(1 for r in running if not r[1])
        batch = []
        for one in running:
            new = min(one[1], budget) if one[1] else 1
            budget -= new if one[1] else 0
            batch.append((one, new))
        while waiting and budget > 0 and len(running) < limits.max_num_seqs:
            one = waiting.popleft()
            running.append(one)
            new = min(one[1], budget)
            budget -= new
            batch.append((one, new))
        reqs = [SimpleNamespace(extend_length=n, past_kv_length=one[2]) for one, n in batch if n]
        now_s += adapter.predict_infer_time(SimpleNamespace(reqs=reqs))
        for one, new in batch:
            one[2] += new
            one[1] = max(one[1] - new, 0)
            if not one[1]:
                one[3] -= 1
                if not one[3]:
                    ends[one[0]] = now_s
        running = [one for one in running if one[3]]
    return ends


def test_a_replay_of_300_requests_is_that_of_perfc_llm(
    steps: StepPredictor, tmp_path: Path
) -> None:
    rows, trace = requests(), tmp_path / "trace.jsonl"
    trace.write_text(
        "\n".join(
            json.dumps({"arrival_s": a, "input_tokens": i, "output_tokens": o}) for a, i, o in rows
        )
    )
    ends = replayed(SglangTimePredictor(steps), rows)
    report = perfc.llm(MODEL, TARGET, runtime="vllm", trace=str(trace))
    assert report.latencies is not None
    answers = sorted(
        end - at_s + steps.admission_time(isl)
        for end, (at_s, isl, _) in zip(ends, rows, strict=True)
    )
    want = report.latencies.end_to_end
    assert sum(answers) / len(rows) == pytest.approx(want.mean, rel=0.01)
    assert answers[len(rows) // 2] == pytest.approx(want.p50, rel=0.01)
    assert answers[len(rows) * 9 // 10] == pytest.approx(want.p90, rel=0.01)


def test_vllm_adapter_reads_the_output_of_its_scheduler(steps: StepPredictor) -> None:
    output = SimpleNamespace(
        num_scheduled_tokens={"new": 512, "old": 1},
        scheduled_new_reqs=[SimpleNamespace(req_id="new", num_computed_tokens=0)],
        scheduled_cached_reqs=SimpleNamespace(req_ids=["old"], num_computed_tokens=[900]),
    )
    assert vllm_step_time(steps, output) == steps.step_time([(512, 0), (1, 900)])
