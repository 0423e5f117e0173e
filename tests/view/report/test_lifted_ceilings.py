"""What is left of a run whose ceilings are lifted, and what its time goes to: by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfc.analyzers.estimate.estimate import Estimate, Predictor, RunEstimate
from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.runs.prediction import PredictionTable
from perfc.ir.tensors.types import DType
from perfc.passes.roofline.ceilings import Ceiling, KernelBound
from perfc.view.report.amounts import title
from perfc.view.report.sections.bottlenecks import ChangedRun, scaled
from perfc.view.report.sections.limits import FIXED, HOST, limits


def bound(gap_s: float = 0.0, launches: float = 1.0, **sustained_s: float) -> KernelBound:
    found = {Ceiling[name.upper()]: time_s for name, time_s in sustained_s.items()}
    nothing = cast(Any, None)
    return KernelBound(nothing, nothing, launches, {}, found, gap_s, 0.0, DType.F16)


def test_limits_add_up_to_the_whole_run() -> None:
    busy = [bound(device=3.0), bound(device=1.0), bound(matrix=2.0), bound()]
    table = SimpleNamespace(
        kernels=[SimpleNamespace(device_s=t, gap_s=w) for t, w in ((3, 1), (1, 1), (2, 0), (0, 1))],
        wait_s=0.75,
        total=SimpleNamespace(fixed_s=0.25),
    )
    found = limits(cast(Any, SimpleNamespace(kernels=busy)), cast(Any, table))
    assert [(x.key, x.share) for x in found] == [
        ("device", 0.4),
        ("launch", pytest.approx(0.3)),
        ("matrix", 0.2),
        (HOST, 0.075),
        (FIXED, 0.025),
    ]
    assert found[0].title == title("device")
    assert math.isclose(sum(x.share for x in found), 1.0)
    alone = limits(cast(Any, SimpleNamespace(kernels=busy[:1])), None)
    assert [(x.key, x.share) for x in alone] == [("device", 1.0)]


def repeated(count: int, launches: float = 1.0, **sustained_s: float) -> Any:
    kernel = bound(launches=launches, **sustained_s)
    return SimpleNamespace(
        indices=range(count), count=count, kernel=kernel, predicted=None, time_s=7.0
    )


def test_a_run_with_a_ceiling_lifted_takes_what_is_left_of_each_kernel() -> None:
    kernels = [repeated(2, matrix=4.0, waves=5.0, device=3.0), repeated(1, device=1.0)]
    run = ChangedRun(kernels, 2.0, None, 12.0)
    assert run.retimed(scaled(Ceiling.L1, 0.0)) == 2 * 5.0 + 2.0
    assert run.retimed(scaled(Ceiling.WAVES, 0.0)) == 2 * 4.0 + 2.0
    assert run.retimed(scaled(Ceiling.MATRIX, 0.0)) == 2 * 3.0 + 2.0
    assert run.retimed(scaled(Ceiling.MATRIX, 0.7)) == 2 * 3.5 + 2.0
    assert run.retimed(scaled(Ceiling.LAUNCH, 0.0)) == 2 * 5.0 + 1.0
    assert run.retimed(scaled(Ceiling.DEVICE, 0.0)) == 2 * 5.0 + 2.0


def test_a_predicted_kernel_keeps_its_gap_and_never_waits_twice() -> None:
    def run_of(time_s: float, gap_s: float, **sustained_s: float) -> ChangedRun:
        time = Interval.exactly(time_s)
        kernels = (Estimate(0.0, time, Predictor.LEARNED, "x", gap_s=gap_s),)
        table = PredictionTable(kernels, RunEstimate(0.0, time), launched=kernels)
        return ChangedRun([repeated(1, **sustained_s)], 3.0, table, 10.0)

    run = run_of(10.0, 2.0, device=4.0)
    assert run.retimed(scaled(Ceiling.L1, 0.0)) == 8.0
    assert run.retimed(scaled(Ceiling.DEVICE, 0.5)) == 4.0
    assert run.retimed(scaled(Ceiling.DEVICE, 0.0)) == 3.0
    assert run_of(1.0, 0.5, device=4.0).retimed(scaled(Ceiling.DEVICE, 0.0)) == 1.0
    assert run_of(10.0, 2.0).retimed(scaled(Ceiling.L1, 0.0)) == 8.0
