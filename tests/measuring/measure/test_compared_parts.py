"""Parts of a measured run beside what the analysis says of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.measuring.measure.fitting import compare
from perfc.measuring.measure.fitting.compare import compared


def test_parts_take_their_kernels_times_and_others_the_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report: Any = SimpleNamespace(
        machine="m", kernels=SimpleNamespace(runtime=SimpleNamespace(name="ort")),
        roofline=SimpleNamespace(kernels=["a", "b", "c"]),
        prediction=SimpleNamespace(kernels=[SimpleNamespace(time_s=s) for s in (1.0, 2.0, 4.0)]),
    )  # fmt: skip
    parts = [SimpleNamespace(kernels=(0, 2), runtime=("x",)),
             SimpleNamespace(kernels=(), runtime=("y", "z", "w"))]  # fmt: skip
    attribution: Any = SimpleNamespace(parts=parts)
    monkeypatch.setattr(compare, "of_machine", lambda *_: SimpleNamespace(host_s=0.5))
    first, second = compared(attribution, report)
    assert (first.bounds, first.prediction_s) == (("a", "c"), 5.0)
    assert (second.bounds, second.prediction_s) == ((), 1.5)
    monkeypatch.setattr(compare, "of_machine", lambda *_: None)
    assert [c.prediction_s for c in compared(attribution, report)] == [5.0, 0.0]
