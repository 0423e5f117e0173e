"""Training steps that no predictor of whole runs knows: as wide as published steps say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from perfc.analyzers.whole_runs.summed_steps import NOTE, SPREAD
from perfc.api import analyze

RESNET = str(Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz")


@pytest.mark.parametrize(("runtime", "target"), [("eager", "mi300x"), ("ort", "a100")])
def test_a_step_that_nobody_measured_is_told_as_wide_as_published_ones_say(
    runtime: str, target: str
) -> None:
    report = analyze(RESNET, target, dims={"batch": 32}, train="sgd", runtime=runtime)
    total, notes = report.prediction.total, report.prediction.notes
    assert NOTE in notes
    assert not total.predictor, "runs of forward passes say nothing of a step"
    assert total.low_s <= max(total.time_s * math.exp(SPREAD.low), total.floor_s) * (1 + 1e-9)
    assert total.high_s >= total.time_s * math.exp(SPREAD.high) * (1 - 1e-9)
    assert total.floor_s <= total.low_s <= total.time_s <= total.high_s


def test_forward_passes_keep_their_range() -> None:
    report = analyze(RESNET, "a100", dims={"batch": 32}, runtime="eager")
    assert NOTE not in report.prediction.notes
