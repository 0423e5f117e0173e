"""Why a prediction says what it says."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import perfc
from perfc.analyzers.artefacts.artefact import Artefact
from perfc.analyzers.estimators.forest import Forests
from perfc.analyzers.estimators.forest_reason import reasons
from perfc.study.explain import explain
from perfc.study.explain.prediction_text import reason_lines
from perfc.study.explain.text import render_json, render_text
from perfc_lab.data.weights import save
from perfc_lab.training.fit import train

from .conftest import QUICK
from .synthetic import matmul_rows

MODELS = Path(__file__).parents[3] / "examples" / "models"


@pytest.fixture(scope="module")
def bert() -> perfc.Report:
    path = MODELS / "bert-base.onnx.gz"
    return perfc.analyze(path, "h100", dims={"batch": 8}, runtime="eager", dtype="bf16")


@pytest.fixture(scope="module")
def folder(trained: Artefact, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights")
    save(trained, path)
    return path


def product_of(report: perfc.Report) -> int:
    """Index of the longest matrix product."""
    kernels = report.roofline.kernels
    products = [i for i, b in enumerate(kernels) if b.kernel.kind.value == "matmul"]
    return max(products, key=lambda i: kernels[i].floor_s)


def test_scale_and_factor_give_the_prediction(bert: perfc.Report, folder: Path) -> None:
    index = product_of(bert)
    found = reasons(replace(bert.execution, folder=folder), index)
    assert found is not None
    predicted = Forests().estimate(replace(bert.execution, folder=folder), [index])[index]
    assert found.scale_s * found.factor == pytest.approx(predicted.time_s, rel=1e-3)


def test_nearest_rows_are_near_and_of_the_machine(bert: perfc.Report, folder: Path) -> None:
    found = reasons(replace(bert.execution, folder=folder), product_of(bert))
    assert found is not None
    assert found.machine_distance == 0
    first, *others = found.neighbours
    assert first.target == "h100-sxm5-80gb"
    assert all(first.distance <= o.distance for o in others)
    for name in ("m", "n", "k"):
        assert abs(math.log2(first.parameters[name] / found.parameters[name])) < 3
    assert 0 < first.efficiency <= 1
    assert first.rows > 0


def test_features_are_ordered_by_what_they_move(bert: perfc.Report, folder: Path) -> None:
    found = reasons(replace(bert.execution, folder=folder), product_of(bert))
    assert found is not None
    sizes = [abs(math.log(m.ratio)) for m in found.moves]
    assert sizes == sorted(sizes, reverse=True)


def test_text_names_rows_and_features(bert: perfc.Report, folder: Path) -> None:
    found = reasons(replace(bert.execution, folder=folder), product_of(bert))
    assert found is not None
    text = "\n".join(reason_lines(found))
    assert "nearest training rows" in text
    assert "h100-sxm5-80gb bf16" in text


def test_kernels_that_may_be_meant_are_told_with_their_times(
    bert: perfc.Report, tmp_path: Path
) -> None:
    rows = [matmul_rows("h100-sxm5-80gb", seed=i, framework=n) for i, n in enumerate("ab")]
    slower = replace(rows[1], time_s=2.0 * rows[1].time_s)
    save(train("matmul", [rows[0], slower], QUICK, ("n", "k")), tmp_path)
    found = reasons(replace(bert.execution, folder=tmp_path), product_of(bert))
    assert found is not None
    assert [one.framework for one in found.candidates] == ["a", "b"]
    first, second = (one.time_s for one in found.candidates)
    assert 1.5 * first < second < 3 * first
    time_s = found.scale_s * found.factor
    assert min(abs(time_s / first - 1), abs(time_s / second - 1)) < 1e-3
    lines = list(reason_lines(found))
    assert lines[0].startswith("  the kernel implementation is unknown")
    assert lines[1].endswith("s  a")


def test_a_class_without_weights_has_no_reasons(bert: perfc.Report, folder: Path) -> None:
    kernels = bert.roofline.kernels
    index = next(i for i, b in enumerate(kernels) if b.kernel.kind.value == "gather")
    assert reasons(replace(bert.execution, folder=folder), index) is None


def test_explanation_says_what_a_kernel_will_take_and_why(bert: perfc.Report) -> None:
    e = explain(bert, "#40")
    assert e.prediction is not None
    assert e.kernel is not None
    assert e.prediction.prediction == bert.prediction.kernels[e.kernel.index]
    text = render_text(e)
    assert "90 % interval" in text
    assert '"prediction": {' in render_json(e)
