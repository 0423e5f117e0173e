"""Limits of a run's time by related deployments."""

from __future__ import annotations

import pytest

import perfc
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.whole_runs.coherence import Bound, fusing, launching

TIME = Interval(1.0, 4.0, 16.0)


@pytest.mark.parametrize(
    ("limit", "is_lower", "is_sure", "expected"),
    [
        (Interval(2.0, 3.0, 5.0), True, True, Interval(2.0, 4.0, 16.0)),
        (Interval(2.0, 3.0, 5.0), True, False, TIME),
        (Interval(4.5, 5.0, 20.0), True, True, Interval(4.5, 5.0, 20.0)),
        (Interval(3.0, 5.0, 8.0), False, True, Interval(1.0, 4.0, 8.0)),
        (Interval(3.0, 5.0, 8.0), False, False, TIME),
        (Interval(0.5, 2.0, 3.0), False, True, Interval(0.5, 2.0, 3.0)),
    ],
)
def test_a_limit_moves_the_time_and_narrows_its_interval(
    limit: Interval, is_lower: bool, is_sure: bool, expected: Interval
) -> None:
    assert Bound(limit, is_lower, "", is_sure).limited(TIME) == expected


def test_runtimes_are_ordered_by_what_they_merge() -> None:
    assert fusing("eager") == ["ort", "torchscript", "tensorrt"]
    assert launching("tensorrt") == ["torchscript", "ort", "eager"]
    assert launching("ort") == ["eager"]


def test_torchscript_takes_no_longer_than_eager_and_is_as_certain() -> None:
    model = "examples/models/vit-b16.onnx.gz"
    times = [
        perfc.analyze(model, "mi300x", runtime=name, dtype="f16", batch=4).prediction.total.time
        for name in ("torchscript", "eager")
    ]
    assert times[0].mid <= times[1].mid
    assert times[0].high / times[0].low < 15
