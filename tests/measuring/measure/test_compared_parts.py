"""Parts of a measured run beside what the analysis says of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from perfc.measuring.measure.matching.compare import compared


def test_parts_take_their_kernels_times_and_others_none() -> None:
    report: Any = SimpleNamespace(
        roofline=SimpleNamespace(kernels=["a", "b", "c"]),
        prediction=SimpleNamespace(kernels=[SimpleNamespace(time_s=s) for s in (1.0, 2.0, 4.0)]),
    )
    parts = [
        SimpleNamespace(kernels=(0, 2), runtime=("x",)),
        SimpleNamespace(kernels=(), runtime=("y", "z", "w")),
    ]
    attribution: Any = SimpleNamespace(parts=parts)
    first, second = compared(attribution, report)
    assert (first.bounds, first.prediction_s) == (("a", "c"), 5.0)
    assert (second.bounds, second.prediction_s) == ((), 0.0)
