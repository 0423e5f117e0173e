"""Predictions: who answers, what holds for each, and what the report says of them."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import perfc
from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.estimators import Execution
from perfc.analyzers.estimators.forest import Forests
from perfc.analyzers.features.lowering import lower
from perfc.analyzers.runs.energy import PowerModel, idle_w, power_model, share_of_cap
from perfc.analyzers.runs.prediction import PredictionTable, predicted
from perfc.view.report import Format, collect, render

from . import flat_weights

MODELS = Path(__file__).parents[2] / "examples" / "models"


@pytest.fixture(scope="module")
def bert() -> perfc.Report:
    path = MODELS / "bert-base.onnx.gz"
    return perfc.analyze(path, "a100", dims={"batch": 4}, runtime="eager", dtype="bf16")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    flat_weights.write(folder, "matmul", ("bf16",), ("a100", "h100"))
    flat_weights.write(folder, "elementwise", ("bf16", "f32"), ("a100", "h100"))
    return folder


def of(report: perfc.Report, folder: Path) -> PredictionTable:
    return predicted(Execution(report.roofline, report.kernels, folder=folder))


@pytest.mark.parametrize("target", ["a100", "t4", "mi210", "generic-x86-64"])
def test_no_prediction_is_below_its_floor_or_outside_its_interval(
    target: str, weights: Path
) -> None:
    report = perfc.analyze(MODELS / "gpt2.onnx.gz", target, runtime="eager")
    found = of(report, weights)
    assert len(found.kernels) == len(report.roofline.kernels)
    for k, bound in zip(found.kernels, report.roofline.kernels, strict=True):
        assert k.floor_s == bound.floor_s
        assert bound.floor_s <= k.low_s <= k.time_s <= k.high_s
    total = found.total
    assert total.floor_s <= total.low_s <= total.time_s <= total.high_s
    assert total.time_s == math.fsum([*(k.time_s for k in found.kernels), total.fixed_s])


def test_every_kernel_of_a_class_with_weights_is_learned(bert: perfc.Report, weights: Path) -> None:
    found = of(bert, weights)
    for k, bound in zip(found.kernels, bert.roofline.kernels, strict=True):
        row = lower(bound, bert.env)
        if row is not None and row.class_name == "matmul":
            assert k.predictor is Predictor.LEARNED
        if k.predictor is Predictor.LEARNED:
            assert k.class_name in ("matmul", "elementwise")


def test_machines_nobody_measured_get_wider_intervals(weights: Path) -> None:
    def width(target: str) -> float:
        path = MODELS / "bert-base.onnx.gz"
        report = perfc.analyze(path, target, dims={"batch": 32}, runtime="eager", dtype="bf16")
        execution = replace(report.execution, folder=weights)
        found = Forests().estimate(execution, execution.indices)
        longest = max(found.values(), key=lambda k: k.time_s)
        return longest.high_s / longest.time_s

    assert width("l40s") > width("a100") > 1


def test_machine_without_kin_is_told_of(weights: Path) -> None:
    report = perfc.analyze(MODELS / "bert-base.onnx.gz", "mi210", runtime="eager", dtype="bf16")
    assert any("mi210" in note and "no measurement" in note for note in of(report, weights).notes)


def test_processors_are_no_case_for_what_gpus_taught(weights: Path) -> None:
    report = perfc.analyze(MODELS / "bert-base.onnx.gz", "generic-x86-64", dtype="bf16")
    assert {k.predictor for k in of(report, weights).kernels} == {Predictor.LAW}


def test_short_kernels_take_as_long_as_their_launch(bert: perfc.Report, weights: Path) -> None:
    overhead = bert.machine.launch_overhead_s
    assert overhead is not None
    for k in of(bert, weights).kernels:
        assert k.time_s >= overhead.value
        assert k.high_s > overhead.value
        assert 0 <= k.gap_s <= overhead.value


def test_extents_of_products_are_those_of_the_model(bert: perfc.Report) -> None:
    rows = [lower(b, bert.env) for b in bert.roofline.kernels]
    products = {
        tuple(r.parameters[name] for name in ("batch", "m", "n", "k"))
        for r in rows
        if r is not None and r.class_name == "matmul"
    }
    assert {(1, 512, 3072, 768), (1, 512, 768, 3072)} <= products


def test_extents_of_convolutions_are_those_of_the_model() -> None:
    report = perfc.analyze(MODELS / "resnet50.onnx.gz", "a100", dims={"batch": 8})
    own = next(k for k in report.roofline.kernels if k.kernel.helper is None)
    first = lower(own, report.env)
    assert first is not None
    assert first.class_name == "convolution"
    expected = {
        "batch": 8,
        "in_channels": 3,
        "out_channels": 64,
        "in_h": 224,
        "in_w": 224,
        "out_h": 112,
        "out_w": 112,
        "kernel_h": 7,
        "kernel_w": 7,
        "stride_h": 2,
        "stride_w": 2,
        "pad_h": 3,
        "pad_w": 3,
        "dilation_h": 1,
        "dilation_w": 1,
        "groups": 1,
        "transposed": 0,
    }
    assert first.parameters == expected


def test_no_prediction_leaves_the_floor_alone(bert: perfc.Report) -> None:
    with_, without = collect(bert), collect(bert, predict=False)
    assert without.prediction is None
    assert all(r.predicted is None for r in without.kernels)
    assert [r.floor_s for r in with_.kernels] == [r.floor_s for r in without.kernels]
    assert "predicted" not in render(bert, predict=False)


def test_table_of_kernels_has_the_prediction_in_every_format(bert: perfc.Report) -> None:
    header, first, *_ = render(bert, Format.CSV).splitlines()
    cells = dict(zip(header.split(","), first.rsplit(",", header.count(",")), strict=True))
    assert float(cells["predicted_low_s"]) <= float(cells["predicted_s"])
    assert float(cells["predicted_s"]) <= float(cells["predicted_high_s"])
    assert cells["predictor"] in {p.value for p in Predictor}
    assert "low µs | high µs" in render(bert, Format.MARKDOWN)
    assert '"energy_j"' in render(bert, Format.JSON)


def test_power_lies_between_idle_and_cap_and_rises_with_work() -> None:
    bert = perfc.analyze(
        MODELS / "bert-base.onnx.gz",
        "a100",
        dims={"batch": 4},
        runtime="eager",
        dtype="bf16",
        predictor="kernels",
    )
    model = PowerModel(0.4, 0.2, {"matrix16": 2.0, "device": 1.0}, 0.8, 1.2, 0.8, 1.2)
    light, heavy = ({"matrix16": u, "device": u} for u in (0.1, 0.9))
    assert 0.4 < share_of_cap(model, light) < share_of_cap(model, heavy) < 1
    cap = bert.machine.device("tdp_w")
    assert cap is not None
    for energy in bert.prediction.energies:
        assert energy is not None
        assert 0 < energy.power_w <= cap.value
        assert energy.low_j < energy.energy_j < energy.high_j
    total = bert.prediction.energy
    assert total is not None
    kernels_j = math.fsum(e.energy_j for e in bert.prediction.energies if e is not None)
    idle_j = bert.prediction.total.fixed_s * idle_w(bert.machine, power_model())
    assert total.energy_j == pytest.approx(kernels_j + idle_j)


def test_energy_is_unknown_where_nobody_fitted_the_power() -> None:
    report = perfc.analyze(MODELS / "gpt2.onnx.gz", "generic-x86-64")
    assert report.prediction.energy is None
    assert '"energy_j": {\n      "formula": null' in render(report, Format.JSON)


@pytest.mark.speed
def test_loading_and_predicting_500_kernels_is_quick(weights: Path) -> None:
    code = f"""
import perfc, time
from dataclasses import replace
from pathlib import Path
report = perfc.analyze({str(MODELS / "gpt2.onnx.gz")!r}, "a100", runtime="eager", dtype="bf16")
bounds = report.roofline
while len(bounds.kernels) < 500:
    bounds = type(bounds)(bounds.machine, bounds.kernels * 2, 0.0, bounds.env)
start = time.process_time()
from perfc.analyzers.estimators.forest import Forests
run = replace(report.execution, bounds=bounds, folder=Path({str(weights)!r}))
found = Forests().estimate(run, run.indices)
print(time.process_time() - start, len(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    time_s, count = done.stdout.split()
    assert int(count) > 200
    assert float(time_s) < 0.3


def test_code_in_the_documentation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MODELS.parents[1])
    page = (MODELS.parents[1] / "docs" / "predict.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "predict.md", "exec"), {})
