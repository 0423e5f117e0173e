"""Ceilings, points and windows of a roofline chart, by numbers of the shipped targets."""

from __future__ import annotations

import json
import random
from contextlib import redirect_stdout
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "examples" / "models" / "resnet50.onnx.gz"
NCU = ROOT / "tests" / "fixtures" / "ncu" / "a100-raw-nvtx-2024.csv"
RATE, BANDWIDTH = "flop_per_s", "bytes_per_s"


def drawn(*words: str, code: int = 0) -> Any:
    """The chart as JSON."""
    with redirect_stdout(StringIO()) as out:
        assert cli.run(["roofline", *words, "--output-format", "json"]) == code
    return json.loads(out.getvalue())


def rates(rows: list[Any], unit: str) -> list[tuple[float | None, float | None]]:
    """Peak and sustained rate of each ceiling."""
    kinds = (f"peak_{unit}", f"sustained_{unit}")
    return [(*(r[k] and r[k]["value"] for k in kinds),) for r in rows]  # type: ignore[misc]


def best(rows: list[Any], unit: str) -> float:
    """The rate that a ceiling of one row stands for: measured, else peak."""
    ((peak, sustained),) = rates(rows, unit)
    return sustained or peak or 0.0


def test_the_thesis_ceilings_stand_beside_the_peaks() -> None:
    tree = drawn("a100-40gb")
    half = [r for r in tree["roofs"] if (r["unit"], r["dtypes"][0]) == ("matrix", "f16")]
    assert rates(half, RATE)[0][1] == 292.2e12
    assert [s["level"] for s in tree["slopes"]] == ["l1", "l2", "device"]
    measured = [sustained for _, sustained in rates(tree["slopes"], BANDWIDTH)]
    assert measured == [19.2873e12, 3.8776e12, 1.346e12]


@pytest.mark.parametrize("target", ["h100", "v100-16gb", "mi300x", "generic-x86-64", "m1"])
def test_equal_rates_of_a_unit_share_one_ceiling(target: str) -> None:
    roofs = drawn(target)["roofs"]
    assert drawn(target)["slopes"]
    for one, other in combinations(roofs, 2):
        pairs = rates([one, other], RATE)
        assert one["unit"] != other["unit"] or pairs[0] != pairs[1]


def test_measured_kernels_are_held_against_the_lower_of_rate_and_bandwidth(tmp_path: Path) -> None:
    generator = random.Random(7)
    usual = {"nodes": "", "dtype": "f32", "alu": 0, "sfu": 0, "launches": 1}
    rows = [
        {
            **usual,
            "label": f"k{i}",
            "mac": 10 ** generator.uniform(6, 12),
            "time_s": 10 ** generator.uniform(-6, 0),
            "read_bytes": 10 ** generator.uniform(4, 9),
            "write_bytes": 10 ** generator.uniform(0, 9),
        }
        for i in range(60)
    ]
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"schema": "perfc-measure/1", "kernels": rows}))
    tree = drawn("v100-16gb", "--measured", str(path), code=1)
    roof = [r for r in tree["roofs"] if r["unit"] == "vector" and "f32" in r["dtypes"]]
    slopes = {s["level"]: [s] for s in tree["slopes"]}
    assert len(tree["kernels"]) == len(rows)
    above = 0
    for kernel in tree["kernels"]:
        row = rows[int(kernel["label"][1:])]
        assert kernel["flop"] == 2 * row["mac"]
        assert kernel["flop_per_s"] == pytest.approx(kernel["flop"] / kernel["time_s"])
        for level, point in kernel["levels"].items():
            intensity = kernel["flop"] / (row["read_bytes"] + row["write_bytes"])
            assert point["flop_per_byte"] == pytest.approx(intensity)
            attainable = min(best(roof, RATE), intensity * best(slopes[level], BANDWIDTH))
            assert point["of_roofline"] == pytest.approx(kernel["flop_per_s"] / attainable)
            (bandwidth, _), (rate, _) = *rates(slopes[level], BANDWIDTH), *rates(roof, RATE)
            peak = min(rate or 0, intensity * (bandwidth or 0))
            assert point["is_above_peak"] == (kernel["flop_per_s"] > peak)
        above += any(point["is_above_peak"] for point in kernel["levels"].values())
    assert 0 < above < len(rows)


@pytest.fixture(scope="module")
def resnet() -> Any:
    return drawn("a100-40gb", "--model", str(MODEL), "--dim", "batch=8")


def test_equal_kernels_are_one_mark_and_none_is_lost(resnet: Any) -> None:
    kernels = perfc.analyze(MODEL, "a100-40gb", dims={"batch": 8}).roofline.kernels
    shown = resnet["kernels"]
    moving = next(int(note.split()[0]) for note in resnet["notes"] if "move" in note)
    assert sum(k["count"] for k in shown) + moving == len(kernels)
    total = sum(k["flop"] * k["count"] for k in shown)
    assert total == pytest.approx(sum(k.counts.flop * k.launches for k in kernels))
    assert len(shown) < len(kernels)
    times = [k["time_s"] * k["count"] for k in shown]
    assert times == sorted(times, reverse=True)


def test_only_ceilings_that_are_used_are_drawn(resnet: Any) -> None:
    assert [(r["unit"], r["dtypes"]) for r in resnet["roofs"]] == [
        ("matrix", ["tf32"]),
        ("vector", ["f32"]),
    ]


@pytest.mark.parametrize("target", ["a100-40gb", "generic-x86-64", "m1"])
def test_the_window_is_round_and_holds_every_point(target: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert cli.run(["roofline", target, "--model", str(MODEL), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8").partition('id="data">')[2].partition("</script>")[0]
    found = json.loads(text)["reports"][0]["roofline"]
    assert found["points"]
    for _, _, intensity, rate, *_ in found["points"]:
        assert found["x"][0] < intensity < found["x"][1]
        assert found["y"][0] < rate < found["y"][1]
    for end in (*found["x"], *found["y"]):
        assert f"{end:.0e}"[0] in "125"


def test_words_of_the_chart_say_how_times_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["roofline", "a100-40gb", "--model", str(MODEL), "--top", "3"]) == 0
    text = capsys.readouterr().out
    assert "predicted" in text
    assert "achieved" not in text
    assert "19.5 Tflop/s  18.5 Tflop/s" in text
    assert "thesis (measured)" in text
    assert "kernels that take less time; --top all" in text


def test_times_are_those_that_analyze_predicts(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--dim", "batch=8", "--output-format", "json"]
    assert cli.run(["analyze", str(MODEL), "-t", "a100", *given]) == 0
    analyzed = json.loads(capsys.readouterr().out)["kernels"]
    assert cli.run(["roofline", "a100", "--model", str(MODEL), *given]) == 0
    drawn = json.loads(capsys.readouterr().out)["kernels"]
    times_s = {tuple(k["nodes"]): k["predicted"]["time_s"] for k in analyzed}
    assert {k["basis"] for k in drawn} == {"predicted"}
    for k in drawn:
        assert k["time_s"] == pytest.approx(times_s[tuple(k["nodes"])])
    shares = [max(x["of_roofline"] for x in k["levels"].values()) for k in drawn]
    assert sorted(shares)[len(shares) // 2] < 0.8, "points lie below the roof"


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
    assert {k["phase"] for k in tree["kernels"][-3:]} == {"forward", "backward", "optimizer"}


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
