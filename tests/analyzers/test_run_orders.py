"""Orders that measured runs do not break: their residual changes smoothly with size."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import perfc
from perfc.deployment.fields import RUNS

MODELS = Path(__file__).parents[2] / "examples" / "models"
TOLERANCE = 1.005


@pytest.mark.parametrize(
    ("model", "target", "runtime"),
    [
        ("resnet50", "a100", "tensorrt"),
        ("resnet50", "h100", "ort"),
        ("bert-base", "t4", "tensorrt"),
        ("bert-base", "l40s", "eager"),
    ],
)
def test_more_work_takes_no_less_time(model: str, target: str, runtime: str) -> None:
    run = perfc.analyze(
        MODELS / f"{model}.onnx.gz", target, runtime=runtime, dtype="f16", predictor=RUNS
    )
    sizes = (1, 2, 4, 16, 64)
    times_s = [run.with_(dims={"batch": n}).prediction.total.time_s for n in sizes]
    for (one, one_s), (more, more_s) in itertools.pairwise(zip(sizes, times_s, strict=True)):
        assert one_s <= TOLERANCE * more_s
        assert more_s / more <= TOLERANCE * one_s / one


@pytest.mark.parametrize("model", ["resnet50", "bert-base"])
def test_a_narrower_type_takes_no_longer(model: str) -> None:
    run = perfc.analyze(MODELS / f"{model}.onnx.gz", "a100", runtime="tensorrt", predictor=RUNS)
    wide, half, eighth = (
        run.with_(dtype=dtype, dims={"batch": 16}).prediction.total.time_s
        for dtype in ("f32", "f16", "i8")
    )
    assert eighth <= TOLERANCE * half
    assert half <= TOLERANCE * wide
