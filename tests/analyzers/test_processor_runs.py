"""Whole runs on processors, by a law of two numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import perfc
from perfc.analyzers.intervals.adapt import Adaptation, Correction
from perfc.analyzers.runs.processor_runs import groups_of, laws, slowdown
from perfc.machine import load_machine
from perfc.machine.folders import SHIPPED
from perfc.measuring.adapt import rendered
from perfc.view.report.sections.confidence import Grade, confidence
from perfc_lab.datasets.spaces import fbnet
from perfc_lab.fits import processor_runs

MODEL = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"


def test_a_measured_processor_is_predicted_by_its_runs() -> None:
    law = laws()["openvino"]
    how = {"runtime": "openvino", "batch": 1}
    summed = perfc.analyze(MODEL, law.targets[0], **how, predictor="kernels").prediction
    found = perfc.analyze(MODEL, law.targets[0], **how).prediction
    launches = slowdown(load_machine(law.targets[0])) * len(summed.kernels)
    assert found.total.predictor == "runs"
    assert found.total.time_s == pytest.approx(law.time_s(summed.total.time_s, launches))
    # published for such a processor: 9.25 ms
    assert found.total.low_s < 9.25e-3 < found.total.high_s
    assert found.total.high_s / found.total.low_s == pytest.approx(math.exp(2 * law.reach))
    assert found.notes == summed.notes
    assert f"{law.runs} with openvino" in found.whole


def test_another_processor_is_predicted_within_twice_as_wide_a_range() -> None:
    law = laws()["openvino"]
    report = perfc.analyze(MODEL, "xeon-gold-6148", runtime="openvino", batch=8)
    total = report.prediction.total
    assert total.predictor == "runs"
    assert total.high_s / total.low_s == pytest.approx(math.exp(4 * law.reach))
    assert any("no openvino measurement" in note for note in report.prediction.notes)
    assert confidence(report, report.prediction).grade is Grade.LOW


def test_eager_pytorch_pays_for_each_operator_on_a_processor() -> None:
    # published runs of networks with 50 M multiply-adds take 10 to 18 ms, their kernels under 1 ms
    law = laws()["eager"]
    summed = perfc.analyze(MODEL, "xeon-gold-6240", runtime="eager", predictor="kernels").prediction
    total = perfc.analyze(MODEL, "xeon-gold-6240", runtime="eager").prediction.total
    launches = slowdown(load_machine("xeon-gold-6240")) * len(summed.kernels)
    assert total.time_s == pytest.approx(law.time_s(summed.total.time_s, launches))
    # machines were held out, so that the interval of another one is as wide
    other = perfc.analyze(MODEL, "xeon-platinum-8480plus", runtime="eager").prediction.total
    assert other.high_s / other.low_s == pytest.approx(math.exp(2 * law.reach))


def test_old_eager_pytorch_pays_for_each_group_of_a_convolution() -> None:
    # published for such networks: about 30 ms, and 10 ms without grouped convolutions
    law, target = laws()["eager"], "xeon-gold-6240"
    network = fbnet.network("3,3,2,6,2,0,0,3,2,0,3,2,1,2,3,6,2,0,3,2,6,3")
    new = perfc.analyze(network, target, runtime="eager", batch=1)
    old = perfc.analyze(network, target, runtime="eager", batch=1, runtime_version="1.8")
    groups = slowdown(load_machine(target)) * groups_of(old.roofline.kernels)
    new_s, old_s = new.prediction.total.time_s, old.prediction.total.time_s
    assert old_s - new_s == pytest.approx(law.group_s * groups)
    assert new_s < 0.6 * old_s < 0.03


@pytest.mark.parametrize(
    ("runtime", "dtype"), [("ort-cpu", ""), ("openvino", "i8"), ("openvino", "bf16")]
)
def test_runs_that_nobody_measured_are_left_to_their_kernels(runtime: str, dtype: str) -> None:
    found = perfc.analyze(MODEL, "xeon-platinum-8280", runtime=runtime, dtype=dtype, batch=1)
    assert found.prediction.total.predictor == ""


def test_corrected_kernels_are_left_alone(tmp_path: Path) -> None:
    text = (SHIPPED / "xeon-platinum-8280.toml").read_text(encoding="utf-8")
    every = Correction(2.0, 2.0, 0.9, 1.1)
    path = tmp_path / "mine.toml"
    path.write_text(text + rendered(Adaptation({"roofline.any": every}), 3, None))
    found = perfc.analyze(MODEL, path, runtime="openvino", batch=1).prediction
    assert {k.correction for k in found.kernels} == {2.0}
    assert found.total.predictor == ""


def test_a_law_is_learned_from_runs_that_follow_it() -> None:
    """Twice the kernels' sum, 10 µs each and 5 µs a group."""
    rng = np.random.default_rng(0)
    kernels_s, counts = np.geomspace(1e-4, 1e-1, 9), rng.integers(20, 200, (2, 9)).astype(float)
    rows = np.stack([2 * kernels_s + [1e-5, 5e-6] @ counts, kernels_s, *counts], axis=1)
    costs = processor_runs.FACTORS, processor_runs.GROUPS_S[::4]
    law = processor_runs.fitted(rows, *costs)
    assert law == pytest.approx((2.0, 1e-5, 5e-6), rel=0.05)
    graphs = list("abcdefghi")
    assert np.abs(processor_runs.held_out(rows, graphs, *costs)).max() < 0.05
    # a graph that no other is like is told by the others
    rows[0, 0] *= 3
    assert processor_runs.held_out(rows, graphs, *costs)[0] == pytest.approx(math.log(3), abs=0.1)
