"""A model served on GPUs: memory, steps from estimated kernels, the report, the search."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import jsonschema
import pytest
from click.testing import CliRunner

from perfc.analyzers.estimators import Execution
from perfc.analyzers.runs.prediction import in_run
from perfc.commands.dev.schema import schema_named
from perfc.commands.workloads.llm import command
from perfc.errors import ModelError, ParseError
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import bounds
from perfc.serving import llm
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
    each = in_run(execution)
    whole = math.fsum(e.time_s * n for e, n in zip(each, program.counts, strict=True))
    assert engine.cost.step_s((), 64, 1024) == pytest.approx(whole, rel=1e-6)


def test_no_step_is_below_its_floor_and_more_takes_longer(engine: Engine) -> None:
    steps = [
        ((), 1, 128),
        ((), 64, 2000),
        ((), 333, 5000),
        ((Chunk(100, 0),), 0, 0),
        ((Chunk(2000, 6000),), 50, 900),
        ((Chunk(512, 0),) * 4, 7, 300),
    ]
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
                    "t",
                    f"{kernels} {n} {share}",
                    "m",
                    "h100",
                    "vllm",
                    "",
                    "",
                    "",
                    1,
                    1,
                    1,
                    1,
                    1,
                    2,
                    n,
                    False,
                    (),
                    False,
                    {ServingQuantity.TPOT_S: 1.0},
                )
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


def test_disaggregated_prompts_leave_decodes_alone() -> None:
    together = llm(LLAMA, "h100", isl=4000, osl=100, concurrency=32)
    split = llm(LLAMA, "h100", isl=4000, osl=100, concurrency=32, prefill_gpus=2)
    assert split.gpus == 3
    assert together.latencies is not None
    assert split.latencies is not None
    assert together.latencies.itl is not None
    assert split.latencies.itl is not None
    assert split.latencies.itl.p99 < together.latencies.itl.p99


def test_engines_whose_prompts_others_compute_have_a_law_where_enough_runs_taught_one() -> None:
    assert (
        disaggregated_host_model("sglang")
        == host_models()[f"sglang{DISAGGREGATED}"]
        != host_model_of("sglang")
    )
    assert host_models()[f"vllm{DISAGGREGATED}"].rows < 10
    widest = max(m.ttft_high for name, m in host_models().items() if DISAGGREGATED in name)
    for runtime in ("vllm", "llamacpp"):
        server, divided = host_model_of(runtime), disaggregated_host_model(runtime)
        assert divided.ttft_high == max(widest, server.ttft_high), (
            "no narrower than what was measured"
        )
        ends = {n: getattr(server, n) for n in ("ttft_low", "ttft_high", "tpot_low", "tpot_high")}
        assert replace(divided, **ends) == server
    with pytest.raises(ParseError, match="is not a version"):
        disaggregated_host_model("sglang", "new")
    split = llm(LLAMA, "h100", runtime="sglang", concurrency=16, prefill_gpus=1)
    assert split.tpot_band is not None
    assert split.tpot_band.low <= host_models()[f"sglang{DISAGGREGATED}"].tpot_low


def test_what_does_not_fit_says_so_where_more_ranks_do_not_divide_its_experts() -> None:
    few = llm("deepseek-v3", "h100", parallel={"attention_dp": 4, "ep": 4})
    assert not few.fits
    assert few.latencies is None


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "trtllm"])
def test_users_of_disaggregated_workers_get_tokens_as_their_latencies_say(runtime: str) -> None:
    options = {"isl": 2000, "osl": 200, "concurrency": 64, "prefill_gpus": 2, "runtime": runtime}
    found = llm(LLAMA, "h100", **options)  # type: ignore[arg-type]
    assert found.latencies is not None
    assert found.throughput is not None
    answer_s = found.latencies.ttft.mean + 199 * found.latencies.tpot.mean
    assert found.throughput.output_tokens_per_s == pytest.approx(64 * 200 / answer_s, rel=0.1)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"isl": 0}, "isl = 0"),
        ({"rate": -1.0}, "requests a second"),
        ({"spread": 1.5}, "spread"),
        ({"cached_tokens": 4000}, "cached tokens"),
        ({"parallel": {"dp": 0}}, "no degree"),
        ({"runtime": "ort"}, "does not serve"),
        ({"prefill_gpus": 2, "prefill_parallel": "tp=0"}, "no degree"),
        ({"prefill_gpus": 2, "prefill_parallel": "two"}, "no 'two'"),
        ({"prefill_gpus": 2, "prefill_parallel": "tp=4"}, "too few GPUs"),
        ({"prefill_parallel": "tp=2"}, "no GPUs compute prompts"),
        ({"parallel": {"zero": 1}}, "not divided so"),
        ({"dtype": "f7"}, "no format"),
        ({"concurrency": 0}, "no load"),
    ],
)
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
    assert len(shown.output.splitlines()) <= 25
    assert max(map(len, shown.output.splitlines())) <= 120
    written = CliRunner().invoke(command, [*arguments, "--output-format", "json", "--isolated"])
    jsonschema.validate(json.loads(written.output), schema_named("llm"))


@pytest.mark.parametrize(("users", "seats", "said"), [(9, 8, True), (8, 8, False), (9, 0, False)])
def test_a_reader_is_told_of_users_that_wait_for_a_seat(users: int, seats: int, said: bool) -> None:
    report = llm(
        "llama-3.2-1b", "h100", isl=8, osl=4, concurrency=users, max_num_seqs=seats or None
    )
    note = f"8 of {users} users run at once, the rest queue: --max-num-seqs"
    assert (note in report.notes) is said
