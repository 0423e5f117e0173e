"""The weights of whole steps that ship: every way of running, real models, no training extra."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from perfc.analyzers.artefacts.artefact import WeightsError
from perfc.analyzers.steps.predict import StepEstimate, weights_name
from perfc.analyzers.steps.setting import Precision, RunMode, Setting
from perfc.api import typed
from perfc.machine import load_machine
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize

from .predicted_step import predict_module, predict_step

MODELS = Path(__file__).parents[2] / "examples" / "models"
SETTINGS = {
    RunMode.EAGER: Setting(version=(2, 4)),
    RunMode.COMPILED: Setting(compiled=True),
    RunMode.TRAINING: Setting(version=(1, 12), training=True),
}


def predicted(name: str, mode: RunMode, target: str, batch: int = 256) -> StepEstimate:
    am = Analyses()
    keeps = mode is RunMode.TRAINING
    module = am.apply(Canonicalize(keeps), typed(MODELS / f"{name}.onnx.gz", am=am))
    env = {s.name: batch for s in module.symbols}
    return predict_module(module, env, SETTINGS[mode], load_machine(target))[1]


@pytest.mark.parametrize("mode", [RunMode.EAGER, RunMode.COMPILED, RunMode.TRAINING])
@pytest.mark.parametrize("name", ["resnet50", "vit-b16", "swin-t"])
def test_every_way_of_running_predicts_every_model(name: str, mode: RunMode) -> None:
    found = predicted(name, mode, "rtx4090" if mode is RunMode.COMPILED else "rtx3090")
    assert found.predictor == weights_name(mode)
    assert 0 < found.floor_s <= found.low_s <= found.time_s <= found.high_s
    assert found.high_s < 3 * found.low_s
    assert not found.is_extrapolating


def test_what_must_be_slower_is_slower() -> None:
    eager = predicted("vit-b16", RunMode.EAGER, "rtx4090").time_s
    assert predicted("vit-b16", RunMode.COMPILED, "rtx4090").time_s < eager
    assert predicted("vit-b16", RunMode.EAGER, "rtx3090").time_s > eager
    assert predicted("vit-b16", RunMode.EAGER, "rtx4090", batch=512).time_s > 1.8 * eager
    assert predicted("vit-b16", RunMode.TRAINING, "rtx3090").time_s > 2 * eager


def test_a_machine_nobody_measured_is_said_and_widens() -> None:
    known = predicted("resnet50", RunMode.COMPILED, "rtx4090")
    other = predicted("resnet50", RunMode.COMPILED, "h200")
    assert predicted("resnet50", RunMode.COMPILED, "p100").is_extrapolating
    assert other.high_s / other.low_s > known.high_s / known.low_s


@pytest.mark.speed
def test_many_launches_are_predicted_quickly() -> None:
    predicted("swin-t", RunMode.EAGER, "rtx3090")
    from perfc.analyzers.steps.columns import columns
    from perfc.analyzers.steps.launches import launches

    am = Analyses()
    module = am.apply(Canonicalize(), typed(MODELS / "swin-t.onnx.gz", am=am))
    env = {s.name: 8 for s in module.symbols}
    found = columns(launches(module, am, SETTINGS[RunMode.EAGER], [env])[1])
    assert len(found) > 200
    start = time.process_time()
    predict_step(found, SETTINGS[RunMode.EAGER], load_machine("rtx3090"))
    assert time.process_time() - start < 0.3


def test_weights_that_are_not_there_are_one_clear_line(tmp_path: Path) -> None:
    from perfc.analyzers.steps.columns import columns

    setting = Setting(Precision.BF16, compiled=True)
    with pytest.raises(WeightsError, match="cannot read"):
        predict_step(columns([]), setting, load_machine("rtx3090"), folder=tmp_path)
