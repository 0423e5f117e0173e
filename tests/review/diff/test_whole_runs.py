"""Differences of models whose runs a predictor of whole runs answers for."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import onnx
import pytest

import perfc
from perfc.review.diff import compare
from perfc.review.diff.figures import Metric
from perfc.review.diff.views import collect
from perfc.view.report.sections.kernels import collect as kernel_rows

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
    alone = perfc.analyze(with_wider_stem(), "a100", predictor="kernels", **SETTING)
    moved_s = old.prediction.time_of(alone.prediction) - old.prediction.total.time_s
    moved_s *= math.sqrt(new.prediction.scale / old.prediction.scale)  # one factor for both runs
    assert found.kernel_changes[Metric.TIME] == pytest.approx(moved_s), "changed kernels only"
    assert 0 < found.surely[Metric.TIME] < found.kernel_changes[Metric.TIME]


def test_a_run_factor_changes_no_kernel_that_is_the_same() -> None:
    """Another activation after the stem is a change of one kernel; measured runs see all of it."""
    model = onnx.load_model_from_string(gzip.decompress(MODEL.read_bytes()))
    next(n for n in model.graph.node if n.op_type == "Relu").op_type = "Tanh"
    del model.graph.value_info[:]
    old, new = perfc.analyze(MODEL, "a100", **SETTING), perfc.analyze(model, "a100", **SETTING)
    found = compare(old, new)
    assert old.prediction.run_factor != new.prediction.run_factor
    assert 0 < sum(not p.is_same for p in found.kernels) <= 2
    assert collect(found).factor_s != 0


def test_there_and_back_is_the_opposite_difference() -> None:
    reports = [perfc.analyze(model, "a100", **SETTING) for model in (MODEL, with_wider_stem())]
    there, back = compare(*reports), compare(*reversed(reports))
    assert len({report.prediction.run_factor for report in reports}) == 2
    for metric, change in there.kernel_changes.items():
        assert back.kernel_changes[metric] == pytest.approx(-change, rel=1e-12)
        low, high = there.intervals[metric]
        assert back.intervals[metric] == pytest.approx((-high, -low), rel=1e-9)
    assert collect(back).factor_s == pytest.approx(-collect(there).factor_s)


def test_machines_are_compared_by_what_is_printed_of_each() -> None:
    one, other = (perfc.analyze(MODEL, target, **SETTING) for target in ("a100", "t4"))
    _, after = compare(one, other).totals[Metric.TIME]
    assert after is not None
    assert after.value == other.prediction.total.time_s


def test_kernels_and_the_fixed_time_add_up_to_the_totals() -> None:
    old = perfc.analyze(MODEL, "a100", **SETTING)
    new = perfc.analyze(with_wider_stem(), "a100", **SETTING)
    found = compare(old, new)
    before, after = found.totals[Metric.TIME]
    assert before is not None
    assert after is not None
    assert old.prediction.run_factor != 1
    views = collect(found)
    moved_s = sum(p.delta.time_s for p in found.kernels)
    assert moved_s + views.fixed_s_new - views.fixed_s_old + views.factor_s == (
        pytest.approx(after.value - before.value)
    )
    assert all(p.delta.time_s == 0 for p in found.kernels if p.is_same)
    rows = kernel_rows(old, predict=True)
    by_place = {(r.label, r.anchor): r.predicted.time_s for r in rows if r.predicted}
    for row in views.kernels:
        if row.launches_old == 1 and (row.label, row.node) in by_place:
            both = math.sqrt(new.prediction.scale / old.prediction.scale)
            assert row.time_s_old == pytest.approx(both * by_place[row.label, row.node])


def test_kernels_of_two_machines_have_the_times_of_either_analysis() -> None:
    one, other = (perfc.analyze(MODEL, target, **SETTING) for target in ("a100", "t4"))
    found = compare(one, other)
    for side, report in (("before", one), ("after", other)):
        kernels_s = sum(getattr(p, side).time_s for p in found.kernels)
        assert kernels_s == pytest.approx(report.prediction.kernels_s)
