"""Rows of every view sum up to the time of the run."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import onnx
import pytest

import perfc
from perfc import cli

MODELS = Path(__file__).parents[3] / "examples" / "models"
RUNTIMES = ("eager", "ort", "ort-optimized", "ort-cpu", "tensorrt", "inductor", "openvino")
TARGETS = ("a100", "t4", "mi300x", "generic-x86-64")
SHARE = re.compile(r"(\d+\.\d|100) %")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_kernels_and_the_fixed_time_are_the_run(runtime: str) -> None:
    """Exactly: a sum of floats that is rounded once."""
    seen = 0
    for name in ("resnet50", "bert-base"):
        for target in TARGETS:
            try:
                report = perfc.analyze(MODELS / f"{name}.onnx.gz", target, runtime=runtime)
            except perfc.PerfcError:
                continue  # it does not run there
            seen += 1
            table = report.prediction
            parts_s = [part for k in table.kernels for part in (k.device_s, k.gap_s, k.wait_s)]
            for time_s in (table.total.time_s, table.timeline.time_s * table.run_factor):
                assert math.fsum([*parts_s, table.total.fixed_s]) == pytest.approx(time_s)
            exact_s = math.fsum([*(k.time_s for k in table.kernels), table.total.fixed_s])
            assert table.total.time_s == exact_s
            assert all(k.time_s >= k.floor_s * (1 - 1e-9) for k in table.kernels)
            assert all(min(k.device_s, k.gap_s, k.wait_s) >= -1e-15 for k in table.kernels)
    assert seen


@pytest.mark.parametrize("target", ["a100", "generic-x86-64"])
@pytest.mark.parametrize("runtime", ["eager", "ort", "tensorrt", "ort-cpu"])
def test_every_view_sums_up_to_the_run(
    runtime: str,
    target: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = MODELS / "resnet50.onnx.gz"
    how = ["-t", target, "--runtime", runtime, "--batch", "4"]
    try:
        report = perfc.analyze(path, target, runtime=runtime, batch=4)
    except perfc.PerfcError:
        pytest.skip("does not run there")
    total_s, fixed_s = report.prediction.total.time_s, report.prediction.total.fixed_s
    tree: Any = report.to_dict()
    rows = [row["predicted"]["time_s"] for row in tree["kernels"]]
    assert math.fsum([*rows, fixed_s]) == tree["prediction"]["time_s"]["value"] == total_s
    assert tree["prediction"]["kernels_s"]["value"] == math.fsum(rows)
    assert math.fsum(one["share"] for one in tree["verdict"]["limits"]) == pytest.approx(1)
    report.save(tmp_path / "kernels.csv")
    with (tmp_path / "kernels.csv").open(encoding="utf-8") as lines:
        times = [float(r["predicted_s"]) for r in csv.DictReader(lines)]
    assert math.fsum([*times, fixed_s]) == total_s
    monkeypatch.setenv("COLUMNS", "100")
    assert cli.run(["analyze", str(path), *how]) == 0
    assert shares_of(capsys.readouterr().out) == pytest.approx(100, abs=0.05)
    longest = max(range(len(rows)), key=rows.__getitem__)
    asked = ["explain", str(path), f"kernel:{longest}", *how, "--output-format", "json"]
    assert cli.run(asked) == 0
    assert json.loads(capsys.readouterr().out)["prediction"]["prediction"]["time"]["mid"] == (
        pytest.approx(rows[longest])
    )


def shares_of(screen: str) -> float:
    """Sum of the printed shares of the first screen's operations and of the line below them."""
    block = screen.partition("where time goes")[2].partition("  by module")[0]
    *rows, last = block.splitlines()[1:]
    shown = [*(SHARE.findall(row)[:1] for row in rows), SHARE.findall(last)]
    return math.fsum(float(share) for row in shown for share in row)


@pytest.mark.parametrize("runtime", ["eager", "ort"])
def test_properties_of_nodes_sum_up_to_the_run(runtime: str, tmp_path: Path) -> None:
    """Helper launches count at the node that they serve."""
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float16[8,64,32,32] x, '
        "float16[64,64,3,3] w) => (float16[8,64,32,32] y) "
        "{ a = Conv <pads = [1,1,1,1]> (x, w)  y = Relu (a) }"
    )
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(model, path)
    report = perfc.analyze(path, "a100", runtime=runtime)
    assert any(k.helper is not None for k in report.kernels.kernels)
    assert cli.run(["analyze", str(path), "-t", "a100", "--runtime", runtime, "-o", str(out)]) == 0
    properties = [p for node in onnx.load(out).graph.node for p in node.metadata_props]
    times_s = [float(p.value) for p in properties if p.key == "perfc.predicted_s"]
    assert math.fsum(times_s) == pytest.approx(report.prediction.kernels_s, rel=1e-9)
