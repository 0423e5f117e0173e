"""Laws of kernels on processors, at the rates of a target."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc.analyzers.estimate.estimate import Predictor
from perfc.analyzers.estimators.laws.law import laws
from perfc.analyzers.estimators.laws.processor_laws import FILE, WHOLE, runtimes
from perfc.analyzers.estimators.laws.resource import Resource

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "examples" / "models" / "resnet50.onnx.gz"
TARGET = ROOT / "datasets" / "cpu-genoa-2c" / "target.toml"


def test_kernels_of_a_calibrated_processor_are_laws() -> None:
    prediction = perfc.analyze(MODEL, str(TARGET), batch=1).prediction
    assert {k.predictor for k in prediction.kernels} == {Predictor.LAW}
    # measured on two cores of that machine: 38.7 ms
    assert prediction.total.low_s < 38.7e-3 < prediction.total.high_s
    assert prediction.total.time_s == pytest.approx(38.7e-3, rel=0.25)


def test_products_take_half_as_long_at_twice_the_rate(tmp_path: Path) -> None:
    text = TARGET.read_text(encoding="utf-8")
    faster = tmp_path / "faster.toml"
    at = text.index("[compute.vector.f32]")
    vector = text[at : text.index("[compute.matrix.f32]")]
    doubled = vector
    for rate in ("2.362e+11", "1.182e+11", "2.952e+11"):
        assert rate in vector
        doubled = doubled.replace(rate, f"{2 * float(rate):.4g}")
    faster.write_text(text.replace(vector, doubled), encoding="utf-8")
    before, after = (
        perfc.analyze(MODEL, str(t), batch=1).prediction.total.time_s for t in (TARGET, faster)
    )
    assert 0.5 < after / before < 0.8


def test_laws_are_of_named_runtimes_and_resources() -> None:
    starts = {start for start, _ in runtimes().values()}
    known = {r.value for r in Resource}
    for name, law in {**laws(FILE), **laws(WHOLE)}.items():
        assert name.split()[0].partition(".")[0] in starts
        assert known.issuperset(law.coefficients)


def test_xnnpack_takes_products_and_bytes_alone() -> None:
    report = perfc.analyze(MODEL, TARGET, runtime="litert", batch=1)
    assert {k.predictor for k in report.prediction.kernels} == {Predictor.LAW}
    # ResNet-50 of Keras took 41.5 ms
    assert 0.035 < report.prediction.total.time_s < 0.06
    nobody = perfc.analyze(MODEL, "xeon-gold-6240", runtime="litert", batch=1).prediction
    assert Predictor.LAW not in {k.predictor for k in nobody.kernels}


def test_a_training_step_is_its_gradients_by_the_same_laws() -> None:
    def of(train: str) -> perfc.Report:
        return perfc.analyze(MODEL, str(TARGET), batch=4, runtime="eager", train=train)

    def convolutions_s(report: perfc.Report, *, is_gradient: bool) -> float:
        kernels = zip(report.roofline.kernels, report.prediction.kernels, strict=True)
        return sum(
            k.time_s
            for b, k in kernels
            if b.kernel.kind.value == "conv" and b.is_gradient is is_gradient
        )

    forward, step = of(""), of("sgd")
    assert {k.predictor for k in step.prediction.kernels} == {Predictor.LAW}
    ratio = convolutions_s(step, is_gradient=True) / convolutions_s(step, is_gradient=False)
    assert ratio == pytest.approx(2.0, rel=0.15)
    # two gradients for each product, and what reads statistics and parameters
    assert 2.3 < step.prediction.total.time_s / forward.prediction.total.time_s < 5
