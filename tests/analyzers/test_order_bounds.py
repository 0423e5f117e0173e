"""Totals within the limits of related deployments."""

from __future__ import annotations

import perfc


def test_torchscript_takes_no_longer_than_eager_and_is_as_certain() -> None:
    model = "examples/models/vit-b16.onnx.gz"
    times = [
        perfc.analyze(model, "mi300x", runtime=name, dtype="f16", batch=4).prediction.total.time
        for name in ("torchscript", "eager")
    ]
    assert times[0].mid <= times[1].mid
    assert times[0].high <= 1.01 * times[1].high
