"""Published predictors with shipped weights, at the commands."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.analyzers.artefacts.artefact import WeightsError
from perfc.analyzers.graph.weights import read_card
from perfc.analyzers.whole_runs import shipped
from perfc.errors import ModelError

pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
ROOT = Path(__file__).resolve().parents[3]
RESNET = str(ROOT / "examples/models/resnet50.onnx.gz")
OURS = ("physics-residual",)
PUBLISHED = [name for name in shipped.names() if name not in OURS]
MOST_BYTES = 12e6


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.run(arguments) == 0
    return capsys.readouterr().out


def test_weights_of_published_predictors_ship() -> None:
    assert {"seernet", "pmgns", "trappm", "nnlqp"} <= set(PUBLISHED)
    weights = [path for folder in shipped.folders()[1:] for path in folder.glob("*.*")]
    assert sum(path.stat().st_size for path in weights) <= MOST_BYTES


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_predictor_answers_by_name(name: str) -> None:
    card = read_card(shipped.named(name))
    report = perfc.analyze(RESNET, "rtx3090", predictor=name)
    run = report.prediction.total
    assert report.deployment.runtime == "eager"
    assert run.predictor == name
    assert run.floor_s <= run.low_s <= run.time_s <= run.high_s
    assert card.metrics["rows"] > 1000
    slower = perfc.analyze(RESNET, "rtx3090", predictor=name, dims={"batch": 64})
    assert slower.prediction.total.time_s > run.time_s
    assert slower.prediction.total.high_s > 1.1 * slower.prediction.total.time_s


def test_pmgns_gives_time_memory_energy_and_slice_in_one_call(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = json.loads(
        printed(
            capsys,
            "analyze",
            "-q",
            RESNET,
            "-t",
            "a100",
            "--predictor",
            "pmgns",
            "--output-format",
            "json",
        )
    )
    assert {"memory_bytes", "energy_j"} <= document["other_quantities"].keys()
    sliced = json.loads(printed(capsys, "mig", RESNET, "-t", "a100", "--output-format", "json"))
    assert document["mig_profile"] == sliced["smallest"]
    report = perfc.analyze(RESNET, "a100", predictor="pmgns")
    assert dict(report.prediction.other_quantities) == pytest.approx(document["other_quantities"])
    text = printed(capsys, "analyze", RESNET, "-t", "a100", "--predictor", "pmgns", "--full")
    assert "by pmgns, without an interval" in text
    assert f"MIG slice {document['mig_profile']}" in re.sub(r" +", " ", text)


def test_a_quantity_that_is_learned_with_the_time_is_a_separate_answer() -> None:
    options = {"target": "a100", "predictor": "pmgns"}
    both = perfc.predict(RESNET, **options)
    memory = perfc.predict(RESNET, quantity="memory_bytes", **options)
    assert memory.value == pytest.approx(both.other_quantities["memory_bytes"])
    assert math.isnan(memory.low)
    assert memory.mig_slice == both.mig_slice
    with pytest.raises(WeightsError, match="no weights of 'pmgns'"):
        perfc.predict(RESNET, quantity="power_w", **options)


def test_predictors_of_gpus_refuse_a_processor() -> None:
    with pytest.raises(ModelError, match="all its runs are of GPUs"):
        _ = perfc.analyze(RESNET, "cpu", predictor="seernet").prediction


def test_compare_puts_predictors_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(
        printed(
            capsys,
            "compare",
            RESNET,
            "-t",
            "rtx3090",
            "--predictors",
            "all",
            "--output-format",
            "json",
        )
    )
    rows = {row["predictor"]: row for row in document["rows"]}
    assert {"", "kernels", "physics-residual", *PUBLISHED} <= rows.keys()
    for name in PUBLISHED:
        alone = perfc.analyze(RESNET, "rtx3090", predictor=name).prediction.total
        assert rows[name]["time_s"] == pytest.approx(alone.time_s)
    assert any(line.startswith("step-law, run-law: ") for line in document["left_out"])
    page = printed(
        capsys,
        "compare",
        RESNET,
        "-t",
        "rtx3090",
        "--predictors",
        "seernet,kernels",
        "--output-format",
        "html",
    )
    assert page.count("seernet") == 2, "a row of the chart and one of the table"
