"""Serving and training of language models: every command and call gives the same numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import perfc
from tests.doors.questions import answer

MODELS = ("llama-3.2-1b", "llama-3.1-8b", "mistral-7b-v0.3", "qwen3-8b", "gpt-oss-20b", "phi-4")
TARGETS = ("h100", "a100", "h200", "l40s", "b200", "mi300x")
RUNTIMES = ("vllm", "sglang", "trtllm")
TRAINED = ("llama-3.2-1b", "llama-3.1-8b", "llama-2-13b")
CLUSTERS = ("dgx-h100", "dgx-a100")
FULL = 20
"""Number of searches, and of plans, of the long tests."""


@dataclass(frozen=True)
class Served:
    """A language model, and the lengths of its requests."""

    model: str
    target: str
    runtime: str
    isl: int
    osl: int

    def words(self) -> list[str]:
        """Return the options of a command line."""
        given = {"target": self.target, "runtime": self.runtime, "isl": self.isl, "osl": self.osl}
        return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def served(count: int, seed: int) -> Iterator[Served]:
    """Yield random questions on serving."""
    r = random.Random(seed)
    for _ in range(count):
        model, target, runtime = map(r.choice, (MODELS, TARGETS, RUNTIMES))
        if (target, runtime) == ("mi300x", "trtllm"):
            runtime = "vllm"
        yield Served(model, target, runtime, r.choice((128, 1024, 4000)), r.choice((32, 128)))


def differing_settings(q: Served, most: int, *more: str) -> Iterator[str]:
    """Yield settings of a search whose numbers differ from those of ``llm``, some of each list."""
    words = (*q.words(), "--slo", "tpot=200ms", *more)
    found = answer("llm", "search", q.model, *words, codes=(0, 1))
    reports = [*([found["cheapest"]] if found["cheapest"] else []), *found["pareto"]]
    for report in reports[:: max(1, len(reports) // most)]:
        how = report["parallel"]
        dtype = "" if report["weights"] == "half" else report["weights"]
        same = setting(
            q,
            dtype,
            how["tensor"],
            how["expert"],
            report["load"]["concurrency"],
            report["token_budget"],
        )
        for part in ("latencies", "throughput", "expenses", "memory"):
            if report[part] != same[part]:
                yield f"search: {report[part]} instead of {same[part]}: {q}"
    for one in found["others"][:: max(1, len(found["others"]) // most)]:
        same = setting(
            q, one["weights"], one["tensor"], one["expert"], one["users"], one["token_budget"]
        )
        given = one["ttft_s"], one["tpot_s"], one["tokens_per_s_per_gpu"]
        if given != (expected := headline(same)):
            yield f"others of search: {given} instead of {expected}: {q}, {one}"


def differing_fleets(q: Served, rate: float) -> Iterator[str]:
    """Yield parts of the fleets of a rate that differ from those of ``llm``."""
    limits = ["--rate", str(rate), "--ttft-p99", "3", "--tpot-p99", "0.1"]
    found = answer("llm", "search", q.model, *q.words(), *limits, codes=(0, 1))
    if not found["pareto"]:
        yield f"no fleet: {q}"
    for report in found["pareto"]:
        how = report["parallel"]
        words = ["--rate", str(rate), "--dp", str(report["engines"]), "--tp", str(how["tensor"])]
        words += ["--ep", str(how["expert"]), "--token-budget", str(report["token_budget"])]
        if prefill := report["gpus"] - report["engines"] * how["tensor"]:
            words += ["--prefill-gpus", str(prefill)]
        if report["weights"] != "half" and not report["experts"]:
            words += ["--dtype", report["weights"]]
        same = answer("llm", q.model, *q.words(), *words, codes=(0, 1))
        for part in ("latencies", "throughput", "expenses", "memory", "simulated"):
            if report[part] != same[part]:
                yield f"fleet: {report[part]} instead of {same[part]}: {q}, {words}"


def setting(q: Served, dtype: str, tp: int, ep: int, users: int, budget: int) -> Any:
    """Return the report of ``llm`` on a setting."""
    how = ["--tp", str(tp), "--ep", str(ep), "--concurrency", str(users)]
    how += ["--token-budget", str(budget), *(["--dtype", dtype] if dtype else [])]
    return answer("llm", q.model, *q.words(), *how, codes=(0, 1))


def headline(report: Any) -> tuple[float, float, float]:
    """Return mean TTFT and TPOT in seconds, and output tokens per second and GPU."""
    times, rate = report["latencies"], report["throughput"]
    per_gpu = rate["output_tokens_per_s"] / rate["gpus"]
    return times["ttft"]["mean"], times["tpot"]["mean"], per_gpu


def differing_calls(q: Served) -> Iterator[str]:
    """Yield numbers that ``perfc.llm`` and the command give differently."""
    said = headline(answer("llm", q.model, *q.words(), "--concurrency", "8"))
    run = perfc.llm(q.model, q.target, runtime=q.runtime, isl=q.isl, osl=q.osl, concurrency=8)
    assert run.latencies is not None
    assert run.latencies.tpot is not None
    assert run.throughput is not None
    rate = run.throughput.output_tokens_per_s_per_gpu
    called = run.latencies.ttft.mean, run.latencies.tpot.mean, rate
    if called != said:
        yield f"perfc.llm: {called} instead of {said}: {q}"


@dataclass(frozen=True)
class Trained:
    """A language model, and the devices and sizes of a training step."""

    model: str
    target: str
    gpus: int
    tp: int
    zero: int
    micro_batch: int
    checkpointing: str


def trained(count: int, seed: int) -> Iterator[Trained]:
    """Yield random questions on training steps."""
    r = random.Random(seed)
    for _ in range(count):
        yield Trained(
            r.choice(TRAINED),
            r.choice(CLUSTERS),
            r.choice((8, 16, 64)),
            r.choice((1, 2, 4)),
            r.choice((1, 2)),
            r.choice((1, 2)),
            r.choice(("none", "selective", "block")),
        )


def differing_steps(q: Trained) -> Iterator[str]:
    """Yield differences between ``plan``, ``plan --curve``, ``perfc.plan`` and ``perfc.scale``."""
    batch = q.gpus // q.tp * q.micro_batch * 4
    how = {
        "target": q.target,
        "tp": q.tp,
        "pp": 1,
        "cp": 1,
        "sp": int(q.tp > 1),
        "zero": q.zero,
        "micro-batch": q.micro_batch,
        "checkpointing": q.checkpointing,
        "gpus": q.gpus,
        "global-batch": batch,
        "seq": 1024,
    }
    words = [word for name, value in how.items() for word in (f"--{name}", str(value))]
    found = answer("plan", q.model, *words, codes=(0, 1))
    (point,) = answer("plan", q.model, "--curve", *words, codes=(0, 1))["points"]
    planned = found["best"] or found["smallest"]
    for name in ("time_s", "low_s", "high_s", "floor_s", "tokens_per_s", "mfu", "memory", "fits"):
        if planned[name] != point["cost"][name]:
            yield f"plan --curve: {name} {point['cost'][name]} instead of {planned[name]}: {q}"
    parallel = {"tp": q.tp, "pp": 1, "cp": 1, "sp": int(q.tp > 1), "zero": q.zero}
    more: dict[str, Any] = {
        "batch": batch,
        "seq": 1024,
        "parallel": parallel,
        "micro_batch": q.micro_batch,
        "checkpointing": q.checkpointing,
    }
    view = perfc.plan(q.model, q.gpus, q.target, **more)
    curve = perfc.scale(q.model, q.target, gpus=(q.gpus,), **more).points[0].cost
    for cost in (view.best or view.smallest, curve):
        assert cost is not None
        if (cost.low_s, cost.time_s, cost.high_s) != tuple(
            planned[f"{end}_s"] for end in ("low", "time", "high")
        ):
            yield f"Python: {cost.time_s} instead of {planned['time_s']}: {q}"


@pytest.mark.parametrize("question", tuple(served(1, 3)), ids=str)
def test_a_search_gives_the_numbers_of_llm(question: Served) -> None:
    assert not [*differing_calls(question), *differing_settings(question, 2, "--dtype", "bf16")]


@pytest.mark.parametrize("question", tuple(trained(1, 4)), ids=str)
def test_a_plan_gives_the_numbers_of_its_curve(question: Trained) -> None:
    assert not list(differing_steps(question))


@pytest.mark.long
@pytest.mark.parametrize("question", tuple(served(FULL, 5)), ids=str)
def test_searches_give_the_numbers_of_llm(question: Served) -> None:
    assert not [*differing_calls(question), *differing_settings(question, 8)]


@pytest.mark.long
@pytest.mark.parametrize("question", tuple(trained(FULL, 6)), ids=str)
def test_plans_give_the_numbers_of_their_curves(question: Trained) -> None:
    assert not list(differing_steps(question))


@pytest.mark.long
@pytest.mark.parametrize("question", tuple(served(5, 7)), ids=str)
def test_fleets_give_the_numbers_of_llm(question: Served) -> None:
    assert not list(differing_fleets(question, 20.0))
