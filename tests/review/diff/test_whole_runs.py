"""Differences of models whose runs a predictor of whole runs answers for."""

from __future__ import annotations

import gzip
from pathlib import Path

import onnx
import pytest

import perfc
from perfc.review.diff import compare
from perfc.review.diff.figures import Metric

MODEL = Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz"
SETTING = {"runtime": "ort", "batch": 32}


def with_wider_stem() -> onnx.ModelProto:
    """The model, its first convolution at every pixel."""
    model = onnx.load_model_from_string(gzip.decompress(MODEL.read_bytes()))
    stem = next(n for n in model.graph.node if n.op_type == "Conv")
    next(a for a in stem.attribute if a.name == "strides").ints[:] = [1, 1]
    del model.graph.value_info[:]
    return model


def test_the_time_of_either_side_is_what_analyze_prints() -> None:
    old = perfc.analyze(MODEL, "a100", **SETTING)
    new = perfc.analyze(with_wider_stem(), "a100", **SETTING)
    assert {old.prediction.total.predictor, new.prediction.total.predictor} == {"runs"}
    found = compare(old, new)
    for metric, of in ((Metric.TIME, "total"), (Metric.ENERGY, "energy")):
        key = "time_s" if metric is Metric.TIME else "energy_j"
        before, after = found.totals[metric]
        assert before is not None
        assert after is not None
        assert before.value == getattr(getattr(old.prediction, of), key)
        assert after.value == getattr(getattr(new.prediction, of), key)
        low, high = found.intervals[metric]
        assert low <= after.value - before.value <= high
        assert low <= found.kernel_changes[metric] <= high, "what kernels say lies in it too"
    ratio = new.prediction.kernels_total.time_s / old.prediction.kernels_total.time_s
    said = found.kernel_changes[Metric.TIME] / old.prediction.total.time_s
    assert 1 + said == pytest.approx(ratio), "the changed kernels alone, in one run's proportions"
    assert 0 < found.surely[Metric.TIME] < found.kernel_changes[Metric.TIME]


def test_machines_are_compared_by_what_is_printed_of_each() -> None:
    one, other = (perfc.analyze(MODEL, target, **SETTING) for target in ("a100", "t4"))
    _, after = compare(one, other).totals[Metric.TIME]
    assert after is not None
    assert after.value == other.prediction.total.time_s


def test_kernels_have_their_shares_of_the_printed_totals() -> None:
    old = perfc.analyze(MODEL, "a100", **SETTING)
    new = perfc.analyze(with_wider_stem(), "a100", **SETTING)
    found = compare(old, new)
    before, after = found.totals[Metric.TIME]
    assert before is not None
    assert after is not None
    assert before.value > 1.2 * old.prediction.kernels_s, "kernels alone are another number"
    assert sum(p.before.time_s for p in found.kernels) == pytest.approx(before.value)
    assert sum(p.after.time_s for p in found.kernels) == pytest.approx(after.value)
    same = sum(p.delta.time_s for p in found.kernels if p.is_same)
    assert sum(c.delta.time_s for c in found.blame.culprits) + same == pytest.approx(
        after.value - before.value
    )
    assert all(p.change.time_s == 0 for p in found.kernels if p.is_same)
    energy, _ = found.totals[Metric.ENERGY]
    assert energy is not None
    assert sum(p.before.energy_j or 0.0 for p in found.kernels) == pytest.approx(energy.value)


def test_kernels_of_two_machines_add_up_to_what_is_printed_of_each() -> None:
    one, other = (perfc.analyze(MODEL, target, **SETTING) for target in ("a100", "t4"))
    found = compare(one, other)
    assert sum(p.before.time_s for p in found.kernels) == pytest.approx(one.prediction.total.time_s)
    assert sum(p.after.time_s for p in found.kernels) == pytest.approx(
        other.prediction.total.time_s
    )
