"""Ceilings, points and windows of a roofline chart, by numbers of the shipped targets."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.machine import Unit, list_machines, load_machine
from perfc.view.chart import Chart, Mark, RoofLevel, TimeBasis, chart, marks_of, roofs_of
from perfc.view.chart.chart import rounded
from perfc.view.chart.lines import lines_of
from perfc.view.chart.spec import spec, spread
from perfc.view.chart.table import document
from perfc.view.report.formats.text import render

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "examples" / "models" / "resnet50.onnx.gz"
NCU = ROOT / "tests" / "fixtures" / "ncu" / "a100-raw-nvtx-2024.csv"


def mark(flop: float, time_s: float, **nbytes: float) -> Mark:
    moved = {RoofLevel(name): value for name, value in nbytes.items()}
    return Mark("k", TimeBasis.MEASURED, flop, time_s, moved, Unit.VECTOR, "f32")


@pytest.fixture(scope="module")
def resnet() -> Chart:
    report = perfc.analyze(MODEL, "a100-40gb", dims={"batch": 8})
    return chart("ResNet-50", roofs_of(report.machine), marks_of(report.roofline).marks)


def test_the_thesis_ceilings_stand_beside_the_peaks() -> None:
    roofs = roofs_of(load_machine("a100-40gb"))
    half = roofs.roof(Unit.MATRIX, "f16")
    assert half is not None
    assert half.sustained is not None
    assert half.sustained.value == 292.2e12
    assert [s.level for s in roofs.slopes] == list(RoofLevel)
    measured = [s.sustained.value for s in roofs.slopes if s.sustained]
    assert measured == [19.2873e12, 3.8776e12, 1.346e12]


def test_equal_rates_of_a_unit_share_one_ceiling() -> None:
    roofs = roofs_of(load_machine("h100"))
    for roof in roofs.roofs:
        same = [r for r in roofs.roofs if r.unit is roof.unit and r.peak.value == roof.peak.value]
        assert len({r.sustained.value if r.sustained else None for r in same}) == len(same)


@pytest.mark.parametrize("name", [m.name for m in list_machines()])
def test_every_shipped_target_has_a_chart(name: str) -> None:
    drawn = chart(name, roofs_of(load_machine(name)))
    assert drawn.roofs.slopes
    for line in lines_of(drawn):
        assert line.start[0] < line.end[0]
        assert drawn.window.x[0] <= line.start[0]
        assert line.end[0] <= drawn.window.x[1]


def test_the_roofline_is_the_lower_of_rate_and_bandwidth() -> None:
    roofs = roofs_of(load_machine("v100-16gb"))
    roof = roofs.roof(Unit.VECTOR, "f32")
    assert roof is not None
    low = roofs.attainable_flop_per_s(roof, RoofLevel.DEVICE, 1.0)
    assert low == 818.5e9
    assert roofs.attainable_flop_per_s(roof, RoofLevel.DEVICE, 1e6) == 15.5e12
    assert roofs.attainable_flop_per_s(roof, RoofLevel.DEVICE, 1.0, peak=True) == 900e9


def test_a_kernel_has_one_point_per_level_at_its_intensity() -> None:
    m = mark(1e9, 1e-3, l1=1e8, l2=5e7, device=1e7)
    drawn = chart("t", roofs_of(load_machine("v100-16gb")), [m])
    assert [(p.level, p.intensity) for p in drawn.points] == [
        (RoofLevel.L1, 10.0),
        (RoofLevel.L2, 20.0),
        (RoofLevel.DEVICE, 100.0),
    ]
    assert {p.flop_per_s for p in drawn.points} == {1e12}
    device = drawn.points[-1]
    assert device.of_roof == pytest.approx(1e12 / 15.5e12)
    assert not drawn.above


def test_a_level_without_traffic_has_no_point() -> None:
    drawn = chart("t", roofs_of(load_machine("v100-16gb")), [mark(1e9, 1e-3, l1=1e8)])
    assert [p.level for p in drawn.points] == [RoofLevel.L1]


def test_a_point_above_the_peak_is_found() -> None:
    fast = mark(1e9, 1e-6, l1=1e8)
    bandwidth = mark(1e6, 1e-6, device=1e9)
    drawn = chart("t", roofs_of(load_machine("v100-16gb")), [fast, bandwidth])
    assert {id(p.mark) for p in drawn.above} == {id(fast), id(bandwidth)}


def test_sustained_points_are_on_or_beneath_the_roofline(resnet: Chart) -> None:
    assert resnet.points
    for p in resnet.points:
        assert p.mark.basis is TimeBasis.SUSTAINED
        assert p.of_roof is not None
        assert 0 < p.of_roof <= 1
        assert not p.above_peak


def test_times_are_those_that_analyze_predicts(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--dim", "batch=8", "--output-format", "json"]
    assert cli.run(["analyze", str(MODEL), "-t", "a100", *given]) == 0
    analysed = json.loads(capsys.readouterr().out)["kernels"]
    assert cli.run(["roofline", "a100", "--model", str(MODEL), *given]) == 0
    drawn = json.loads(capsys.readouterr().out)["kernels"]
    times_s = {tuple(k["nodes"]): k["predicted"]["time_s"] for k in analysed}
    assert {k["basis"] for k in drawn} == {"predicted"}
    for k in drawn:
        assert k["time_s"] == pytest.approx(times_s[tuple(k["nodes"])])
    shares = [max(x["of_roofline"] for x in k["levels"].values()) for k in drawn]
    assert sorted(shares)[len(shares) // 2] < 0.8, "points lie below the roof"


def test_words_of_the_chart_say_how_times_are_known(
    resnet: Chart, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "predicted" not in render(document(resnet, 3), 160)
    assert "open: sustained times" in json.dumps(spec(resnet))
    assert cli.run(["roofline", "a100", "--model", str(MODEL)]) == 0
    text = capsys.readouterr().out
    assert "predicted" in text
    assert "achieved" not in text


def test_equal_kernels_are_one_mark_and_none_is_lost(resnet: Chart) -> None:
    report = perfc.analyze(MODEL, "a100-40gb", dims={"batch": 8})
    found = marks_of(report.roofline)
    assert sum(m.count for m in found.marks) + found.moving == len(report.roofline.kernels)
    total = sum(m.flop * m.count for m in found.marks)
    counted = sum(k.counts.flop * k.launches for k in report.roofline.kernels)
    assert total == pytest.approx(counted)
    assert len(found.marks) < len(report.roofline.kernels)


def test_only_ceilings_that_are_used_are_drawn(resnet: Chart) -> None:
    assert [r.title for r in resnet.roofs.roofs] == ["tf32 matrix", "f32 vector"]


def test_the_window_holds_every_point(resnet: Chart) -> None:
    (x0, x1), (y0, y1) = resnet.window.x, resnet.window.y
    for p in resnet.points:
        assert x0 < p.intensity < x1
        assert y0 < p.flop_per_s < y1


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (3.0, 2.0, 5.0),
        (0.02, 0.02, 0.02),
        (700.0, 500.0, 1000.0),
        (9.999999999999999e-31, 5e-31, 1e-30),
    ],
)
def test_limits_are_round_numbers(value: float, down: float, up: float) -> None:
    assert rounded(value, up=False) == pytest.approx(down, abs=0)
    assert rounded(value, up=True) == pytest.approx(up, abs=0)


def test_labels_do_not_cover_each_other(resnet: Chart) -> None:
    heights = spread(resnet, [1e12, 1.01e12, 1.02e12, 5e12])
    logs = sorted(math.log10(h) for h in heights)
    assert min(b - a for a, b in pairwise(logs)) > 0.02


def test_peaks_are_dashed_and_measured_ceilings_solid(resnet: Chart) -> None:
    tree = json.loads(json.dumps(spec(resnet)))
    layers = tree["layer"]
    marks = [layer["mark"] for layer in layers if layer["mark"]["type"] == "line"]
    assert "strokeDash" in marks[0]
    assert "strokeDash" not in marks[1]


def test_the_table_names_sources_and_shares(resnet: Chart) -> None:
    text = render(document(resnet, 3), 160)
    assert "19.5 Tflop/s  18.5 Tflop/s" in text
    assert "thesis (measured)" in text
    assert "kernels that take less time; --top all" in text


def test_json_holds_every_ceiling_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["roofline", "v100", "--model", str(MODEL), "--dim", "batch=1"]
    assert cli.run([*args, "--output-format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["schema"] == "perfc-roofline/1"
    assert {s["level"] for s in tree["slopes"]} == {"l1", "l2", "device"}
    kernel = tree["kernels"][0]
    assert kernel["basis"] == "predicted"
    assert kernel["levels"]["l1"]["flop_per_byte"] > 0
    assert kernel["nodes"]


def test_measured_kernels_are_laid_over_predicted_ones(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["roofline", "a100-40gb", "--model", str(MODEL), "--measured", str(NCU)]
    assert cli.run([*args, "--output-format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    bases = [k["basis"] for k in tree["kernels"]]
    assert bases.count("measured") == 3
    assert bases.index("measured") == len(bases) - 3
    assert {k["phase"] for k in tree["kernels"][-3:]} == {"forward", "backward", "optimiser"}


def test_json_of_ncu_gives_the_marks_of_its_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ncu.json"
    assert cli.run(["trace", str(NCU), "--output-format", "json", "-o", str(path)]) == 0
    args = ["roofline", "a100-40gb", "--output-format", "json", "--measured"]
    trees = []
    for source in (NCU, path):
        assert cli.run([*args, str(source)]) == 0
        trees.append(json.loads(capsys.readouterr().out))
    assert trees[0]["kernels"] == trees[1]["kernels"]


def test_measured_rows_of_a_runtime_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "label": "Conv + Relu",
        "nodes": "/a /b",
        "dtype": "f32",
        "mac": 1e9,
        "alu": 1e6,
        "sfu": 0,
        "read_bytes": 4e6,
        "write_bytes": 1e6,
        "launches": 1,
        "time_s": 1e-3,
    }
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"schema": "perfc-measure/1", "kernels": [row, {**row, "mac": 0}]}))
    args = ["roofline", "v100", "--output-format", "json", "--measured", str(path)]
    assert cli.run(args) == 0
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    assert kernels[0]["flop"] == 2.001e9
    assert kernels[0]["levels"]["l2"]["flop_per_byte"] == pytest.approx(2.001e9 / 5e6)
    assert kernels[0]["nodes"] == ["/a", "/b"]


def measured_json(tmp_path: Path, names: list[list[str]]) -> Path:
    """What `perfc measure` writes: times and nodes, no operations."""
    rows = [{"label": "Conv", "time_s": 1e-3, "nodes": found} for found in names]
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"version": 1, "kernels": rows}), encoding="utf-8")
    return path


def test_measured_times_take_the_operations_of_the_same_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = perfc.analyze(MODEL, "v100", dims={"batch": 1})
    kernels = report.roofline.kernels
    first, second = [k for k in kernels if k.counts.mac][:2]
    names = [[n.name for n in k.kernel.nodes] for k in (first, second)]
    # with the launches that serve them, such as that of the bias
    flop = [sum(k.counts.flop for k in kernels if k.kernel.anchor.name in each) for each in names]
    path = measured_json(tmp_path, [names[0], [*names[0], *names[1]], ["no such node"]])
    args = ["roofline", "v100", "--output-format", "json", "--measured", str(path)]
    assert cli.run([*args, "--model", str(MODEL), "--dim", "batch=1"]) == 0
    tree = json.loads(capsys.readouterr().out)
    measured = [k for k in tree["kernels"] if k["basis"] == "measured"]
    assert sorted(k["flop"] for k in measured) == [flop[0], sum(flop)]
    assert any("not drawn, 1 row without arithmetic" in note for note in tree["notes"])
    assert cli.run(args) == 2
    assert "give the model as --model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{}", "neither a CSV of ncu nor JSON"),
        ("{", "not a JSON document"),
        ('{"schema": "perfc-measure/1", "kernels": [{"label": "x"}]}', "a kernel without 'mac'"),
        (
            '{"kernels": [{"label": "x", "mac": "y", "time_s": 1}]}',
            "a kernel without a number",
        ),
    ],
)
def test_a_strange_measurement_says_why(
    content: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.json"
    path.write_text(content)
    assert cli.run(["roofline", "a100", "--measured", str(path)]) == 2
    err = capsys.readouterr().err
    assert expected in err
    assert str(path) in err


def test_dims_without_a_model_are_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["roofline", "a100", "--dim", "batch=1"]) == 2
    assert "need a --model" in capsys.readouterr().err
