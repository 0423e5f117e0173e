"""Searches for the cheapest serving: settings, fleets, limits and charts."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import jsonschema
import pytest

from perfc.cli import run as perfc
from perfc.commands.dev.schema import schema_named
from perfc.errors import ParseError
from perfc.frontend.config import read_config
from perfc.machine import load_machine
from perfc.serving import Load, llm
from perfc.serving.output.views import document
from perfc.serving.search import USERS, Slo, search

from .test_service import LLAMA


@pytest.fixture
def few_users(monkeypatch: pytest.MonkeyPatch) -> int:
    """Search a few numbers of users, as runs of many take long, and return how many there are."""
    few = USERS[: USERS.index(64) : 2]
    monkeypatch.setattr("perfc.serving.search.USERS", few)
    return len(few)


def test_what_does_not_fit_says_so_and_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert perfc(["llm", "llama-3.1-70b", "-t", "l4", "--isolated"]) == 1
    assert "does not fit" in capsys.readouterr().out


def test_a_search_is_drawn_and_its_json_keeps_its_schema(
    few_users: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["llm", "search", "llama-3.2-1b", "-t", "h100,l4", "--isl", "64", "--osl", "8"]
    words += ["--dtype", "half"]
    assert perfc([*words, "--isolated"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 120
    assert perfc([*words, "--isolated", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema_named("llm-search"))
    assert {s["target"] for s in found["others"]} == {"h100-sxm5-80gb", "l4"}


def test_steps_have_parts_only_on_request() -> None:
    plain, detailed = (llm(LLAMA, "h100", isl=512, osl=64, has_parts=p) for p in (False, True))
    assert all(not s.parts for s in plain.steps)
    for step in detailed.steps:
        assert math.fsum(p.time_s for p in step.parts) == pytest.approx(step.time_s)
        assert {"products", "attention", "head"} <= {p.what for p in step.parts}


def test_fleets_of_a_rate_are_replayed_by_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    machines = [load_machine(name) for name in ("h100", "l4")]
    load = Load(256, 32, concurrency=0, rate=60.0)
    slo = Slo(ttft_p99_s=1.0, tpot_p99_s=0.05, gpus=12)
    found = search(read_config("llama-3.2-1b"), machines, load, slo, ranks=(1, 2))
    assert 1 < len(found.pareto) <= 5
    prices = [r.expenses.price_per_million for r in found.pareto if r.expenses is not None]
    assert prices == pytest.approx(sorted(prices, key=lambda p: p or 0.0))
    for plan in found.pareto:
        again = llm(
            "llama-3.2-1b",
            plan.target,
            isl=256,
            osl=32,
            rate=60.0,
            dtype=plan.weights,
            parallel={
                "tp": plan.parallel.tensor,
                "ep": plan.parallel.expert,
                "dp": plan.engines,
            },
            prefill_gpus=plan.gpus - plan.engines * plan.parallel.tensor,
            token_budget=plan.token_budget,
        )
        assert again.latencies == plan.latencies
        assert again.expenses == plan.expenses
        assert plan.latencies is not None
        assert plan.latencies.ttft.p99 <= 1.0
        assert plan.gpus <= 12
    words = ["llm", "search", "llama-3.2-1b", "-t", "h100", "--isl", "256", "--osl", "32"]
    words += ["--rate", "60", "--tpot-p99", "0.05", "--max-usd-per-h", "20", "--isolated"]
    assert perfc(words) == 0
    assert "fleets for 60 requests/s" in capsys.readouterr().out
    assert perfc([*words, "--tpot-p99", "1e-6"]) == 1


def test_a_search_finds_the_cheapest_within_the_limits(tmp_path: Path) -> None:
    machines = [load_machine("h100")]
    slo = Slo.parse("ttft=500ms,tpot=30ms")
    found = search(read_config(LLAMA), machines, Load(512, 64), slo, ranks=(1, 2))
    assert found.settings == 18 * 2 * 2, "users, ranks, half and fp8"
    best = found.cheapest
    assert best is not None
    assert best.latencies is not None
    assert best.latencies.tpot is not None
    assert best.latencies.tpot.mean <= 0.03
    assert best.latencies.ttft.mean <= 0.5
    prices = [r.expenses.price_per_million for r in found.pareto if r.expenses is not None]
    assert prices == sorted(prices, key=lambda p: p or 0.0)
    tight = search(read_config(LLAMA), machines, Load(512, 64), Slo(1e-6), ranks=(1,))
    assert tight.cheapest is None


@pytest.mark.parametrize(
    ("model", "target", "runtime", "seed"),
    [
        (LLAMA, "h100", "vllm", 1),
        ("qwen3-30b-a3b", "b200", "sglang", 2),
        ("gpt-oss-20b", "mi300x", "vllm", 3),
        (LLAMA, "a100", "trtllm", 4),
    ],
)
def test_what_a_search_lists_is_what_llm_says(
    few_users: int, model: str, target: str, runtime: str, seed: int
) -> None:
    draw = random.Random(seed)
    sizes = {
        "isl": draw.choice((128, 1000, 3000)),
        "osl": draw.choice((16, 50)),
        "spread": draw.choice((0.0, 0.3)),
        "cached_tokens": draw.choice((0, 100)),
    }
    machine = load_machine(target)
    budgets = draw.choice(((), (2048, 8192)))
    found = search(
        read_config(model),
        [machine],
        Load(concurrency=1, **sizes),
        Slo(),
        runtime=runtime,
        ranks=(1, 2),
        budgets=budgets,
    )
    assert found.pareto
    for listed in draw.sample(found.pareto, min(3, len(found.pareto))):
        stored = {r.weights: r for r in found.others}
        dtype = listed.weights if listed.weights in stored else ""
        same = llm(
            model,
            target,
            runtime=runtime,
            concurrency=listed.load.concurrency,
            dtype=dtype,
            parallel={"tp": listed.parallel.tensor, "ep": listed.parallel.expert},
            token_budget=listed.token_budget if budgets else None,
            **sizes,
        )
        assert same == listed
        assert document(same) == document(listed)
    for other in draw.sample(found.others, 3):
        same = llm(
            model,
            target,
            runtime=runtime,
            concurrency=other.users,
            dtype=other.weights,
            parallel={"tp": other.tensor, "ep": other.expert},
            token_budget=other.token_budget if budgets else None,
            **sizes,
        )
        assert (other.ttft_s, other.tpot_s, other.tokens_per_s_per_gpu) == (
            same.latencies.ttft.mean,
            same.latencies.tpot.mean,
            same.throughput.output_tokens_per_s_per_gpu,
        )
        assert other.price_per_million == same.expenses.price_per_million


def test_a_search_chooses_among_the_formats_of_each_board(few_users: int) -> None:
    machines = [load_machine(n) for n in ("t4", "a100", "h100", "b200", "mi300x")]
    formats = []
    for machine in machines:
        one = search(read_config("llama-3.2-1b"), [machine], Load(64, 8), Slo(), ranks=(1,))
        assert {s.weights for s in one.others} <= {"", "f8", "nvfp4"}
        formats.append(one.settings // few_users)
    assert formats == [1, 1, 2, 3, 2]
    half = search(
        read_config("llama-3.2-1b"), machines, Load(64, 8), Slo(), ranks=(1,), dtypes=("half",)
    )
    assert {s.weights for s in half.others} == {"half"}


def test_a_machine_without_a_price_is_not_taken_to_be_the_cheapest(few_users: int) -> None:
    found = search(
        read_config("llama-3.2-1b"),
        [load_machine(n) for n in ("h100", "titan-rtx")],
        Load(64, 8),
        Slo(),
    )
    assert (found.cost_unit, found.unpriced) == ("GPU seconds a token", ("titan-rtx",))
    assert found.cheapest is not None
    rates = [r.throughput.output_tokens_per_s_per_gpu for r in found.pareto if r.throughput]
    assert rates == sorted(rates, reverse=True)
    assert {r.target for r in found.pareto} == {"h100-sxm5-80gb"}


@pytest.mark.parametrize("text", ["ttft", "wait=3ms", "ttft=soon"])
def test_limits_are_read_strictly(text: str) -> None:
    with pytest.raises(ParseError):
        Slo.parse(text)


def test_no_step_is_faster_than_its_weights_are_read() -> None:
    """Each kernel alone might find its weights in the cache; the step as a whole cannot."""
    report = llm(LLAMA, "h100", isl=128, osl=16)
    machine = load_machine("h100")
    memory, cache = machine.level("device"), machine.level("l2")
    assert memory is not None
    assert cache is not None
    assert cache.capacity_bytes is not None
    # of the table of tokens a step reads a line, and its head is another matrix
    table = 128256 * 4096 * 2
    read = report.memory.weight_bytes - table - cache.capacity_bytes
    least = read / memory.bandwidth.value
    for step in report.steps:
        assert least * 0.99 < step.floor_s < step.time_s


@pytest.mark.parametrize(
    ("model", "target", "more", "said"),
    [
        ("llama-3.1-70b", "h100", {}, "would fit: --tp 2 or --dtype f8"),
        ("llama-3.1-8b", "t4", {}, "would fit: --tp 2 or --dtype f8"),
        ("llama-3.1-405b", "h100", {"dtype": "fp8"}, "would fit: --tp 8"),
        ("deepseek-v3", "jetson-orin-nano", {}, ""),
    ],
)
def test_what_does_not_fit_names_what_would(
    model: str, target: str, more: dict[str, str], said: str
) -> None:
    report = llm(model, target, **more)  # type: ignore[arg-type]
    assert not report.fits
    assert report.notes == ((said,) if said else ())
    for option in said.removeprefix("would fit: ").split(" or ") if said else ():
        flag, value = option.split()
        change = {"parallel": {"tp": int(value)}} if flag == "--tp" else {"dtype": value}
        assert llm(model, target, **{**more, **change}).fits  # type: ignore[arg-type]
