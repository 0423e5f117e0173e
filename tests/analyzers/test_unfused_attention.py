"""Fused attention in a type that nobody measured it in takes no longer than its parts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import perfc
from perfc.analyzers.estimate.estimate import Estimate
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.estimators import forest
from perfc.analyzers.estimators.unfused import bounded, parts
from perfc.analyzers.features.lowering import Lowered
from perfc.api import Report

MODELS = Path(__file__).parents[2] / "examples" / "models"


def attention(report: Report) -> list[Estimate]:
    return [k for k in report.prediction.kernels if k.class_name == "attention_prefill"]


@pytest.fixture(scope="module")
def report() -> Report:
    return perfc.analyze(MODELS / "vit-b16.onnx.gz", "a100", dtype="f32", runtime="inductor")


def test_its_range_ends_where_that_of_its_parts_does(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = attention(report)
    assert len(kernels) == 12
    assert len({id(k) for k in kernels}) == 1
    monkeypatch.setattr(forest, "FUSED", frozenset())
    plain = attention(report.with_("a100", runtime="inductor", batch=1))
    assert kernels[0].low_s == plain[0].low_s
    assert kernels[0].time_s == plain[0].time_s
    assert kernels[0].high_s < plain[0].high_s / 2
    # no faster than both products alone, at the rate of the sheet's vector units
    assert kernels[0].high_s > 2 * 2 * 12 * 197**2 * 64 / 19.5e12


def test_a_run_in_f32_is_told_within_a_factor_of_six(report: Report) -> None:
    total = report.prediction.total
    assert total.high_s / total.low_s < 6


def test_types_that_were_measured_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    path = MODELS / "vit-b16.onnx.gz"
    known = attention(perfc.analyze(path, "a100", dtype="bf16", runtime="inductor"))
    monkeypatch.setattr(forest, "FUSED", frozenset())
    assert known == attention(perfc.analyze(path, "a100", dtype="bf16", runtime="inductor"))


def test_parts_do_the_work_of_the_whole() -> None:
    row = Lowered(
        "attention_decode",
        "f32",
        {"batch": 3.0, "heads": 8.0, "head_dim": 64.0, "value_dim": 32.0, "cached_len": 99.0},
    )
    first, scaled, masked, softmax, second = parts(row)
    mac = [math.prod(p.parameters[n] for n in ("batch", "m", "n", "k")) for p in (first, second)]
    assert mac == [3 * 8 * 100 * 64, 3 * 8 * 100 * 32]
    assert softmax.parameters == {"rows": 24.0, "cols": 100.0}
    assert scaled.parameters["write_bytes"] == 4 * 24 * 100
    assert masked.parameters["read_bytes"] == 2 * 4 * 24 * 100


def test_an_end_is_never_below_the_expected_time() -> None:
    assert bounded(Interval(1, 4, 16), [Interval(1, 1, 2)]) == Interval(1, 4, 4)
    assert bounded(Interval(1, 4, 16), [Interval(9, 20, 30)]) == Interval(1, 4, 16)
