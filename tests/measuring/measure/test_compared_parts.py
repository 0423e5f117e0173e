"""Parts of a measured run beside what the analysis says of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.measuring.measure.matching.compare import compared


@pytest.mark.parametrize(("kind", "predicted_s"), [("cpu", 5.0), ("cuda", 3.5)])
def test_parts_take_their_kernels_times_and_others_none(kind: str, predicted_s: float) -> None:
    times = [SimpleNamespace(time_s=s, device_s=0.7 * s) for s in (1.0, 2.0, 4.0)]
    report: Any = SimpleNamespace(
        machine=SimpleNamespace(kind=kind),
        roofline=SimpleNamespace(kernels=["a", "b", "c"]),
        prediction=SimpleNamespace(kernels=times),
    )
    parts = [
        SimpleNamespace(kernels=(0, 2), runtime=("x",)),
        SimpleNamespace(kernels=(), runtime=("y", "z", "w")),
    ]
    attribution: Any = SimpleNamespace(parts=parts)
    first, second = compared(attribution, report)
    assert (first.bounds, first.prediction_s) == (("a", "c"), pytest.approx(predicted_s))
    assert (second.bounds, second.prediction_s) == ((), 0.0)
