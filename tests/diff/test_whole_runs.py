"""Differences of models whose runs a predictor of whole runs answers for."""

from __future__ import annotations

import gzip
from pathlib import Path

import onnx
import pytest

import perfc
from perfc.diff import compare
from perfc.diff.figures import Metric

MODEL = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"
SETTING = {"runtime": "ort", "batch": 32}


def with_wider_stem() -> onnx.ModelProto:
    """The model, its first convolution at every pixel."""
    model = onnx.load_model_from_string(gzip.decompress(MODEL.read_bytes()))
    stem = next(n for n in model.graph.node if n.op_type == "Conv")
    next(a for a in stem.attribute if a.name == "strides").ints[:] = [1, 1]
    del model.graph.value_info[:]
    return model


def test_work_that_is_added_takes_time_whoever_answers() -> None:
    old = perfc.analyze(MODEL, "a100", **SETTING)
    new = perfc.analyze(with_wider_stem(), "a100", **SETTING)
    assert {old.prediction.total.predictor, new.prediction.total.predictor} == {"runs"}
    found = compare(old, new)
    before, after = found.totals[Metric.TIME]
    assert before is not None
    assert after is not None
    assert before.value == old.prediction.total.time_s
    ratio = new.prediction.kernels_total.time_s / old.prediction.kernels_total.time_s
    assert after.value / before.value == pytest.approx(ratio)
    assert ratio > 1.05
    low, high = found.intervals[Metric.TIME]
    assert low < after.value - before.value < high


def test_machines_are_compared_by_what_is_printed_of_each() -> None:
    one, other = (perfc.analyze(MODEL, target, **SETTING) for target in ("a100", "t4"))
    _, after = compare(one, other).totals[Metric.TIME]
    assert after is not None
    assert after.value == other.prediction.total.time_s
