"""Sweeps agree with the pass point by point, and say where regimes change."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfc.api import Report, analyze
from perfc.commands.analysis.sweep import command
from perfc.errors import ParseError
from perfc.machine import load_machine
from perfc.study.sweep import Regime, RegimeSpan, SizeLimit, largest, merged_spans, sweep
from perfc.study.sweep.axes import Axis, parse_axes
from perfc.study.sweep.data_form import render_csv, render_json
from perfc.study.sweep.text import capacity_in_words, in_words, within
from perfc.study.sweep.views import document
from perfc.view.report.formats.text import render

MODELS = Path(__file__).parents[2] / "examples" / "models"
BERT = str(MODELS / "bert-base.onnx.gz")


@pytest.fixture(scope="module")
def bert() -> Report:
    return analyze(BERT, "a100")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("batch=3", (3,)),
        ("batch=1:4", (1, 2, 3, 4)),
        ("batch=1:10:4", (1, 5, 9)),
        ("batch=1:20:*3", (1, 3, 9)),
        ("batch=8,2,4", (2, 4, 8)),
        ("batch=1:4:*2,100", (1, 2, 4, 100)),
    ],
)
def test_ranges_are_read(text: str, values: tuple[int, ...]) -> None:
    assert parse_axes([text]) == (Axis("batch", values),)


def test_several_symbols_with_commas_or_repeated() -> None:
    expected = (Axis("b", (1, 2)), Axis("s", (64, 128)))
    assert parse_axes(["b=1:2,s=64,128"]) == parse_axes(["b=1:2", "s=64,128"]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "batch",
        "1:2",
        "batch=",
        "batch=4:1",
        "batch=1:2:3:4",
        "batch=0:8:*2",
        "batch=1:8:*1",
        "batch=1:8:0",
        "batch=a:b",
        "batch=1:999999",
        "b=1:100,s=1:100",
        "b=1,b=2",
        "b=-1:3",
    ],
)
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_axes([text])


@pytest.mark.parametrize("runtime", ["ort", "eager"])
@pytest.mark.parametrize("target", ["a100", "t4", "generic-x86-64"])
def test_every_point_is_what_the_pass_says(runtime: str, target: str) -> None:
    report = analyze(MODELS / "swin-t.onnx.gz", target, runtime=runtime)
    result = sweep(report, (Axis("batch", (1, 7, 64)),), [report.machine])
    for p in result.points:
        table = report.at(p.dims).roofline
        assert p.sustained_s == pytest.approx(table.time_s, rel=1e-12)
        assert p.floor_s == pytest.approx(table.floor_s, rel=1e-12)
        assert p.launch_s == pytest.approx(table.launch_gap_s, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "target", "runtime", "dtype"),
    [
        ("resnet50", "a100", "ort", ""),
        ("resnet50", "rtx4090", "eager", "f16"),
        ("resnet50", "generic-x86-64", "ort-cpu", ""),
        ("gpt2", "h200", "eager", ""),
    ],
)
def test_a_point_is_predicted_as_analyze_predicts_it(
    name: str, target: str, runtime: str, dtype: str
) -> None:
    path = MODELS / f"{name}.onnx.gz"
    sizes = {"seq": 64} if name == "gpt2" else {}
    report = analyze(path, "h100", dims=sizes, runtime=runtime, dtype=dtype)
    machine = load_machine(target)
    result = sweep(report, (Axis("batch", (1, 32)),), [machine])
    for p in result.points:
        alone = analyze(path, target, dims={**sizes, **p.dims}, runtime=runtime, dtype=dtype)
        assert p.predicted == alone.prediction.total
        assert p.report is not None
        assert p.report.deployment.dims == alone.deployment.dims
        assert p.report.with_(dtype="f16").env == p.report.env
        assert p.time_s == alone.prediction.total.time_s
        assert p.floor_s == alone.roofline.floor_s


def test_without_predictions_times_are_sustained(bert: Report) -> None:
    result = sweep(bert, parse_axes(["batch=1:4:*2"]), [bert.machine], predict=False)
    assert all(p.predicted is None and p.time_s == p.sustained_s for p in result.points)
    assert "time is at sustained rates" in render(document(result), 140)
    (first, *_) = json.loads(render_json(result))["points"]
    assert first["low_s"] is None


def test_floors_stay_below_times_and_grow_with_the_batch(bert: Report) -> None:
    points = sweep(bert, parse_axes(["batch=1:64:*2"]), [bert.machine]).points
    assert all(p.floor_s <= p.time_s for p in points)
    assert [p.floor_s for p in points] == sorted(p.floor_s for p in points)
    assert [p.memory_bytes for p in points] == sorted(p.memory_bytes for p in points)


def test_a_crossover_between_coarse_points_is_the_one_of_all_points(bert: Report) -> None:
    coarse = sweep(bert, parse_axes(["batch=1:64:*2"]), [bert.machine], top=0).crossovers[0]
    fine = sweep(bert, parse_axes(["batch=1:64"]), [bert.machine], top=0).crossovers[0]
    assert coarse.spans[0] == fine.spans[0]
    assert coarse.spans[0].regime is Regime.LAUNCH
    assert {s.first for s in coarse.spans} <= {s.first for s in fine.spans}


def test_a_third_regime_between_two_points_is_found() -> None:
    def at(v: int) -> Regime:
        return Regime.LAUNCH if v < 5 else Regime.COMPUTE if v < 40 else Regime.MEMORY

    assert merged_spans((1, 64), at) == merged_spans(range(1, 65), at)


def test_spans_meet_and_bisection_finds_the_change() -> None:
    spans = merged_spans((1, 100, 200), lambda v: Regime.LAUNCH if v < 37 else Regime.COMPUTE)
    assert spans == (RegimeSpan(Regime.LAUNCH, 1, 36), RegimeSpan(Regime.COMPUTE, 37, 200))
    assert in_words(spans, "batch") == "launch-bound up to batch 36, compute-bound from batch 37"


def test_one_regime_and_many_are_said_in_words() -> None:
    compute, memory = Regime.COMPUTE, Regime.MEMORY
    assert in_words((RegimeSpan(compute, 1, 8),), "n") == "compute-bound from n 1 to 8"
    assert in_words((RegimeSpan(compute, 8, 8),), "n") == "compute-bound at n 8"
    spans = [RegimeSpan((compute, memory)[i % 2], i, i) for i in range(1, 8)]
    assert "alternating between compute and memory from n 2 to 6" in in_words(spans, "n")


def test_the_largest_value_that_fits() -> None:
    assert largest(lambda v: v <= 1431) == 1431
    assert largest(lambda v: False) == 0
    assert largest(lambda v: True) is None
    c = SizeLimit("a100", "batch", {}, 80 << 30, 511)
    assert capacity_in_words(c, c.symbol) == "does not fit in 80.0 GiB from batch 512"


def test_capacity_is_the_edge_of_the_peak(bert: Report) -> None:
    machine = load_machine("t4")
    result = sweep(bert, (Axis("seq", (128,)), Axis("batch", (1, 2))), [machine])
    c = result.capacities[0]
    assert c.largest is not None
    edge = sweep(bert, (Axis("seq", (128,)), Axis("batch", (c.largest, c.largest + 1))), [machine])
    assert [p.fits for p in edge.points] == [True, False]


def test_the_other_symbols_are_fixed_in_turn(bert: Report) -> None:
    result = sweep(bert, parse_axes(["batch=1,2", "seq=64,128"]), [bert.machine], top=1)
    assert [p.dims for p in result.points] == [
        {"batch": b, "seq": s} for s in (64, 128) for b in (1, 2)
    ]
    assert [c.fixed for c in result.crossovers if c.what == "model"] == [{"seq": 64}, {"seq": 128}]


def test_text_csv_and_json_hold_the_same_points(bert: Report) -> None:
    result = sweep(bert, parse_axes(["batch=1:40"]), [bert.machine])
    rows = list(csv.DictReader(io.StringIO(render_csv(result))))
    data = json.loads(render_json(result))
    assert len(rows) == len(data["points"]) == 40
    assert [float(r["time_s"]) for r in rows] == [p["time_s"] for p in data["points"]]
    assert data["assumed"] == {"seq": bert.env["seq"]}
    text = " ".join(render(document(result), 140).split())
    assert "compute-bound from batch" in text
    assert "of 40 points" in text


def test_the_largest_sizes_within_a_time_are_said(bert: Report) -> None:
    points = sweep(bert, parse_axes(["batch=1:8,seq=64"]), [bert.machine]).points
    slo_s = next(p.time_s for p in points if p.dims["batch"] == 5)
    (line,) = within(sweep(bert, parse_axes(["batch=1:8,seq=64"]), [bert.machine]), slo_s)
    sure = [p.dims["batch"] for p in points if p.predicted and p.predicted.high_s <= slo_s]
    assert ": batch 5, seq 64; with its whole interval " in line
    assert line.endswith(f"batch {max(sure)}, seq 64" if sure else "none")
    (line,) = within(sweep(bert, parse_axes(["batch=1,seq=64"]), [bert.machine]), 1e-6)
    assert line.endswith("within 1.00 µs: none; with its whole interval none")


def test_the_command_takes_several_targets() -> None:
    arguments = [BERT, "--dim", "batch=1:4:*2,seq=64", "--target", "a100,t4"]
    result = CliRunner().invoke(command, [*arguments, "--output-format", "csv"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert len(lines) == 1 + 2 * 3
    assert lines[0].startswith("target,batch,seq,time_s")
