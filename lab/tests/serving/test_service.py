"""A model served on GPUs: memory, steps from estimated kernels, the report, the search."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from perfc.analyzers.estimators import Execution
from perfc.analyzers.estimators.choice import estimates
from perfc.analyzers.runs.prediction import in_run
from perfc.cli import run as perfc
from perfc.commands.dev.schema import schema_named
from perfc.commands.workloads.llm import command
from perfc.errors import ModelError, ParseError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import bounds
from perfc.serving import Load, llm
from perfc.serving.cost.grid import Grid, octaves, points
from perfc.serving.cost.memory import MemoryDemand, MemoryPlan
from perfc.serving.engine import Engine
from perfc.serving.host import (
    DISAGGREGATED,
    HostModel,
    amounts,
    disaggregated_host_model,
    host_model_of,
    host_models,
)
from perfc.serving.output.views import document
from perfc.serving.search import Slo, search
from perfc.serving.simulation.scheduler import Chunk
from perfc_lab.serving import ServedRow, ServingQuantity
from perfc_lab.serving.learn import fitted, predicted
from perfc_lab.serving.replay import ReplayedNumber

LLAMA = "llama-3.1-8b"


@pytest.fixture(scope="module")
def engine() -> Engine:
    model = read_config(LLAMA)
    precision = precision_of(model.dtype, None)
    return Engine.of(model, load_machine("h100"), precision, Parallel(), "vllm", law=HostModel())


def test_a_grid_is_exact_on_its_points_and_smooth_between() -> None:
    axes = (octaves(1, 64), octaves(2, 32))
    grid = Grid.of(axes, [a * b**2 for a, b in points(axes)])
    assert grid.at(8, 4) == pytest.approx(128)
    assert grid.at(11, 23) == pytest.approx(11 * 23**2)
    assert grid.at(0.5, 2) == pytest.approx(4), "smaller than the smallest counts as that"
    assert grid.at(128, 64) == pytest.approx(128 * 64**2), "beyond the end the last cell goes on"


def test_a_step_is_the_sum_of_the_kernels_as_analyze_estimates_them(engine: Engine) -> None:
    stage = engine.cost.stages[0][0]
    program = stage.passes.decode
    env = {"decodes": 64, "context": 1024}
    roofline = bounds(program.table, engine.machine, env)
    execution = Execution(roofline, program.table, framework="vllm")
    each = in_run(execution, estimates(execution))
    whole = math.fsum(e.time_s * n for e, n in zip(each, program.counts, strict=True))
    assert engine.cost.step_s((), 64, 1024) == pytest.approx(whole, rel=1e-6)


def test_no_step_is_below_its_floor_and_more_takes_longer(engine: Engine) -> None:
    steps = [
        ((), 1, 128), ((), 64, 2000), ((), 333, 5000), ((Chunk(100, 0),), 0, 0),
        ((Chunk(2000, 6000),), 50, 900), ((Chunk(512, 0),) * 4, 7, 300),
    ]  # fmt: skip
    for chunks, decodes, context in steps:
        time, floor, low, high = (
            engine.cost.parts(q, chunks, decodes, context).kernels
            for q in ("time_s", "floor_s", "low_s", "high_s")
        )
        assert floor <= time
        assert low <= time <= high
    times = [engine.cost.step_s((), n, 1000) for n in (1, 16, 128, 1024)]
    assert times == sorted(times)


def test_ranks_share_products_and_exchange_sums(engine: Engine) -> None:
    shared = Engine.of(
        engine.model, engine.machine, engine.precision, Parallel(2), "vllm", law=HostModel()
    )
    alone, parts = (e.cost.parts("time_s", (), 64, 1000) for e in (engine, shared))
    assert parts.kernels < alone.kernels
    assert parts.exchanges > 10 * alone.exchanges
    assert shared.memory(1000, 100).demand.kv_bytes == engine.memory(1000, 100).demand.kv_bytes / 2


def test_stages_of_a_pipeline_make_up_the_model(engine: Engine) -> None:
    staged = Engine.of(
        engine.model, engine.machine, engine.precision, Parallel(1, 4), "vllm", law=HostModel()
    )
    whole, sum_ = (e.cost.parts("time_s", (), 32, 1000).kernels for e in (engine, staged))
    assert sum_ == pytest.approx(whole, rel=0.02)
    held = staged.memory(1000, 100).demand.weight_bytes
    assert held < engine.memory(1000, 100).demand.weight_bytes / 2


def test_keys_and_values_of_a_token_are_those_of_the_configuration(engine: Engine) -> None:
    # 32 layers, 8 heads of keys and values, 128 elements, 2 bytes, a key and a value
    assert engine.memory(2048, 256).demand.kv_bytes == 2 * 32 * 8 * 128 * 2


def test_a_pool_is_of_whole_pages() -> None:
    plan = MemoryPlan(100.0, 0.9, MemoryDemand(50.0, 1.0, 0.0, 5.0), overhead_bytes=2.0)
    assert plan.pool_bytes == 33
    assert plan.kv_tokens == 32
    assert plan.sequences(17) == 1
    assert plan.fits(33) is False
    states = MemoryPlan(100.0, 1.0, MemoryDemand(50.0, 0.0, 10.0), overhead_bytes=0.0)
    assert states.sequences(10**6) == 5


def test_a_law_is_found_again_from_what_it_says() -> None:
    true = HostModel(step_s=2e-3, sequence_s=4e-5, few_s=6e-5)
    samples: list[ReplayedNumber] = []
    for kernels in (3e-3, 9e-3, 27e-3):
        for n in (1, 8, 30, 64, 120, 500):
            for share in (0.0, 0.3):
                found = amounts(kernels, share * kernels, 0, n)
                row = ServedRow(
                    "t", f"{kernels} {n} {share}", "m", "h100", "vllm", "", "", "", 1, 1, 1, 1,
                    1, 2, n, False, (), False, {ServingQuantity.TPOT_S: 1.0},
                )  # fmt: skip
                value = true.step(kernels, share * kernels, 0, n)
                samples.append(ReplayedNumber(row, ServingQuantity.TPOT_S, found, value))
    law = fitted(samples)
    assert law.step_s == pytest.approx(true.step_s, rel=0.2)
    assert max(abs(predicted(law, s) / s.value - 1) for s in samples) < 0.05


def test_shipped_laws_take_time_and_never_speed_up_beyond_reason() -> None:
    for runtime in ("vllm", "sglang", "trtllm"):
        law = host_model_of(runtime)
        assert law.rows > 50
        assert 0.5 < law.kernels < 2
        assert law.step(1e-2, 0.0, 0, 64) > 0.5e-2
        assert law.tpot_low < 1 < law.tpot_high


def test_a_report_says_what_users_meet() -> None:
    report = llm(LLAMA, "h100", isl=512, osl=64, concurrency=16)
    assert report.fits
    found = report.latencies
    assert found is not None
    assert found.tpot is not None
    assert found.ttft.p50 <= found.ttft.p90 <= found.ttft.p99
    assert found.tpot.mean > report.steps[1].floor_s
    more = llm(LLAMA, "h100", isl=512, osl=64, concurrency=64)
    assert more.throughput is not None
    assert report.throughput is not None
    assert more.throughput.output_tokens_per_s > report.throughput.output_tokens_per_s
    assert report.expenses is not None
    assert report.expenses.energy_j_per_token
    twice = llm(LLAMA, "h100", isl=512, osl=64, concurrency=32, parallel={"dp": 2})
    assert twice.gpus == 2
    assert twice.latencies is not None
    assert twice.latencies.ttft.mean == pytest.approx(found.ttft.mean)


def test_stages_of_a_pipeline_do_not_draw_the_energy_of_a_token_twice() -> None:
    alone = llm(LLAMA, "h100", isl=512, osl=64, concurrency=16)
    staged = llm(LLAMA, "h100", isl=512, osl=64, concurrency=32, parallel={"pp": 2})
    each = [r.expenses.energy_j_per_token for r in (alone, staged) if r.expenses is not None]
    assert each[0] is not None
    assert each[1] == pytest.approx(each[0], rel=0.1)


def test_prompts_computed_apart_leave_decodes_alone() -> None:
    together = llm(LLAMA, "h100", isl=4000, osl=100, concurrency=32)
    apart = llm(LLAMA, "h100", isl=4000, osl=100, concurrency=32, prefill_gpus=2)
    assert apart.gpus == 3
    assert together.latencies is not None
    assert apart.latencies is not None
    assert together.latencies.itl is not None
    assert apart.latencies.itl is not None
    assert apart.latencies.itl.p99 < together.latencies.itl.p99


def test_engines_whose_prompts_others_compute_have_a_law_where_enough_runs_taught_one() -> None:
    assert (
        disaggregated_host_model("sglang")
        == host_models()[f"sglang{DISAGGREGATED}"]
        != host_model_of("sglang")
    )
    assert host_models()[f"vllm{DISAGGREGATED}"].rows < 10
    assert disaggregated_host_model("vllm") == host_model_of("vllm")
    assert disaggregated_host_model("llamacpp") == host_model_of("llamacpp")
    with pytest.raises(ParseError, match="is not a version"):
        disaggregated_host_model("sglang", "new")
    apart = llm(LLAMA, "h100", runtime="sglang", concurrency=16, prefill_gpus=1)
    assert apart.tpot_band is not None
    assert apart.tpot_band.low <= host_models()[f"sglang{DISAGGREGATED}"].tpot_low


def test_what_does_not_fit_says_so_where_more_ranks_do_not_divide_its_experts() -> None:
    few = llm("deepseek-v3", "h100", parallel={"attention_dp": 4, "ep": 4})
    assert not few.fits
    assert few.latencies is None


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "trtllm"])
def test_users_of_workers_apart_get_the_tokens_that_their_latencies_say(runtime: str) -> None:
    asked = {"isl": 2000, "osl": 200, "concurrency": 64, "prefill_gpus": 2, "runtime": runtime}
    found = llm(LLAMA, "h100", **asked)  # type: ignore[arg-type]
    assert found.latencies is not None
    assert found.throughput is not None
    answer_s = found.latencies.ttft.mean + 199 * found.latencies.tpot.mean
    assert found.throughput.output_tokens_per_s == pytest.approx(64 * 200 / answer_s, rel=0.1)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"isl": 0}, "isl = 0"), ({"rate": -1.0}, "requests a second"),
        ({"spread": 1.5}, "spread"), ({"cached_tokens": 4000}, "cached tokens"),
        ({"parallel": {"dp": 0}}, "no degree"), ({"runtime": "ort"}, "does not serve"),
        ({"parallel": {"zero": 1}}, "not divided so"),
        ({"dtype": "f7"}, "no format"), ({"concurrency": 0}, "no load"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(more: dict[str, object], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        llm(LLAMA, "h100", **more)  # type: ignore[arg-type]


def test_what_generates_nothing_is_not_served() -> None:
    with pytest.raises(ModelError, match="generates no tokens"):
        llm("bert-base", "h100")


def test_the_first_screen_is_short_and_the_json_keeps_its_schema() -> None:
    arguments = [LLAMA, "-t", "h100", "--isl", "512", "--osl", "64", "--concurrency", "8"]
    # xdist sets 80 columns; output that is piped has 100
    runner = CliRunner(env={"COLUMNS": "100"})
    shown = runner.invoke(command, [*arguments, "--dtype", "fp8", "--isolated"])
    assert shown.exit_code == 0, shown.output
    assert len(shown.output.splitlines()) <= 24
    assert max(map(len, shown.output.splitlines())) <= 120
    written = CliRunner().invoke(command, [*arguments, "--output-format", "json", "--isolated"])
    jsonschema.validate(json.loads(written.output), schema_named("llm"))


def test_what_does_not_fit_says_so_and_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert perfc(["llm", "llama-3.1-70b", "-t", "l4", "--isolated"]) == 1
    assert "does not fit" in capsys.readouterr().out


def test_a_search_is_drawn_and_its_json_keeps_its_schema(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["llm", "search", "llama-3.2-1b", "-t", "h100,l4", "--isl", "64", "--osl", "8"]
    words += ["--dtype", "half"]
    assert perfc([*words, "--isolated"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 120
    assert perfc([*words, "--isolated", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema_named("llm-search"))
    assert {s["target"] for s in found["others"]} == {"h100-sxm5-80gb", "l4"}


def test_parts_are_told_only_where_they_are_asked_for() -> None:
    plain, told = (llm(LLAMA, "h100", isl=512, osl=64, has_parts=p) for p in (False, True))
    assert all(not s.parts for s in plain.steps)
    for step in told.steps:
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
    [(LLAMA, "h100", "vllm", 1), ("qwen3-30b-a3b", "b200", "sglang", 2),
     ("gpt-oss-20b", "mi300x", "vllm", 3), (LLAMA, "a100", "trtllm", 4)],
)  # fmt: skip
def test_what_a_search_lists_is_what_llm_says(
    model: str, target: str, runtime: str, seed: int
) -> None:
    draw = random.Random(seed)
    sizes = {
        "isl": draw.choice((128, 1000, 3000)), "osl": draw.choice((16, 50)),
        "spread": draw.choice((0.0, 0.3)), "cached_tokens": draw.choice((0, 100)),
    }  # fmt: skip
    machine = load_machine(target)
    budgets = draw.choice(((), (2048, 8192)))
    found = search(
        read_config(model), [machine], Load(concurrency=1, **sizes), Slo(), runtime=runtime,
        ranks=(1, 2), budgets=budgets,
    )  # fmt: skip
    assert found.pareto
    for listed in draw.sample(found.pareto, min(3, len(found.pareto))):
        stored = {r.weights: r for r in found.others}
        dtype = listed.weights if listed.weights in stored else ""
        same = llm(
            model, target, runtime=runtime, concurrency=listed.load.concurrency, dtype=dtype,
            parallel={"tp": listed.parallel.tensor, "ep": listed.parallel.expert},
            token_budget=listed.token_budget if budgets else None, **sizes,
        )  # fmt: skip
        assert same == listed
        assert document(same) == document(listed)
    for other in draw.sample(found.others, 3):
        same = llm(
            model, target, runtime=runtime, concurrency=other.users, dtype=other.weights,
            parallel={"tp": other.tensor, "ep": other.expert},
            token_budget=other.token_budget if budgets else None, **sizes,
        )  # fmt: skip
        assert (other.ttft_s, other.tpot_s, other.tokens_per_s_per_gpu) == (
            same.latencies.ttft.mean, same.latencies.tpot.mean,
            same.throughput.output_tokens_per_s_per_gpu,
        )  # fmt: skip
        assert other.price_per_million == same.expenses.price_per_million


def test_a_search_chooses_among_the_formats_of_each_board() -> None:
    machines = [load_machine(n) for n in ("t4", "a100", "h100", "b200", "mi300x")]
    found = search(read_config("llama-3.2-1b"), machines, Load(64, 8), Slo(), ranks=(1,))
    formats = {m.name: {s.weights for s in found.others if s.target == m.name} for m in machines}
    assert [sorted(f) for f in formats.values()] == [
        [""], [""], ["", "f8"], ["", "f8", "nvfp4"], ["", "f8"],
    ]  # fmt: skip
    half = search(
        read_config("llama-3.2-1b"), machines, Load(64, 8), Slo(), ranks=(1,), dtypes=("half",)
    )
    assert {s.weights for s in half.others} == {"half"}


def test_a_machine_without_a_price_is_not_taken_to_be_the_cheapest() -> None:
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
    told = llm(LLAMA, "h100", isl=128, osl=16)
    machine = load_machine("h100")
    memory, cache = machine.level("device"), machine.level("l2")
    assert memory is not None
    assert cache is not None
    assert cache.capacity_bytes is not None
    # of the table of tokens a step reads a line, and its head is another matrix
    table = 128256 * 4096 * 2
    read = told.memory.weight_bytes - table - cache.capacity_bytes
    least = read / memory.bandwidth.value
    for step in told.steps:
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
def test_what_does_not_fit_is_told_what_would(
    model: str, target: str, more: dict[str, str], said: str
) -> None:
    told = llm(model, target, **more)  # type: ignore[arg-type]
    assert not told.fits
    assert told.notes == ((said,) if said else ())
    for option in said.removeprefix("would fit: ").split(" or ") if said else ():
        flag, value = option.split()
        change = {"parallel": {"tp": int(value)}} if flag == "--tp" else {"dtype": value}
        assert llm(model, target, **{**more, **change}).fits  # type: ignore[arg-type]


@pytest.mark.parametrize(("users", "seats", "said"), [(9, 8, True), (8, 8, False), (9, 0, False)])
def test_a_reader_is_told_of_users_that_wait_for_a_seat(users: int, seats: int, said: bool) -> None:
    report = llm(
        "llama-3.2-1b", "h100", isl=8, osl=4, concurrency=users, max_num_seqs=seats or None
    )
    note = f"8 of {users} users run at once, the rest queue: --max-num-seqs"
    assert (note in report.notes) is said
