"""Rows of every view sum up to the time of the run."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path

import onnx
import pytest

import perfc
from perfc.passes.runtimes import runtimes
from perfc.study.annotate import annotate
from perfc.study.explain import explain
from perfc.view.html.payload import payload
from perfc.view.report import Format, Views, collect, render
from perfc.view.report.formats import screen

MODELS = Path(__file__).parents[3] / "examples" / "models"
TARGETS = ("a100", "t4", "mi300x", "generic-x86-64")
SHARE = re.compile(r"(\d+\.\d|100) %")


@pytest.mark.parametrize("runtime", runtimes())
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
def test_every_view_sums_up_to_the_run(runtime: str, target: str) -> None:
    path = MODELS / "resnet50.onnx.gz"
    try:
        report = perfc.analyze(path, target, runtime=runtime, batch=4)
    except perfc.PerfcError:
        pytest.skip("does not run there")
    total_s, fixed_s = report.prediction.total.time_s, report.prediction.total.fixed_s
    tree = json.loads(render(report, Format.JSON))
    rows = [row["predicted"]["time_s"] for row in tree["kernels"]]
    assert math.fsum([*rows, fixed_s]) == tree["prediction"]["time_s"]["value"] == total_s
    assert tree["prediction"]["kernels_s"]["value"] == math.fsum(rows)
    assert math.fsum(one["share"] for one in tree["verdict"]["limits"]) == pytest.approx(1)
    records = csv.DictReader(io.StringIO(render(report, Format.CSV)))
    assert math.fsum([*(float(r["predicted_s"]) for r in records), fixed_s]) == total_s
    views = collect(report)
    assert math.fsum([*payload(report, views)["kernels"]["time_s"], fixed_s]) == total_s  # type: ignore[index]
    assert shares_of(views) == pytest.approx(100, abs=0.05)
    longest = max(range(len(rows)), key=rows.__getitem__)
    explained = explain(report, f"kernel:{longest}").prediction
    assert explained is not None
    assert explained.prediction.time_s == rows[longest]


def shares_of(views: Views) -> float:
    """Sum of the printed shares of the first screen's kernels and of its last line."""
    block = screen.render(views, 100).partition("where the time goes")[2].partition("\n\n")[0]
    *rows, last = block.splitlines()[1:]
    shown = [*(SHARE.findall(row)[:1] for row in rows), SHARE.findall(last)]
    return math.fsum(float(share) for row in shown for share in row)


@pytest.mark.parametrize("runtime", ["eager", "ort"])
def test_properties_of_nodes_sum_up_to_the_run(runtime: str) -> None:
    """Helper launches count at the node that they serve."""
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float16[8,64,32,32] x, '
        "float16[64,64,3,3] w) => (float16[8,64,32,32] y) "
        "{ a = Conv <pads = [1,1,1,1]> (x, w)  y = Relu (a) }"
    )
    report = perfc.analyze(model, "a100", runtime=runtime)
    assert any(k.helper is not None for k in report.kernels.kernels)
    annotate(model, report)
    properties = [p for node in model.graph.node for p in node.metadata_props]
    times_s = [float(p.value) for p in properties if p.key == "perfc.predicted_s"]
    assert math.fsum(times_s) == pytest.approx(report.prediction.kernels_s, rel=1e-9)
