"""How far errors hang together is chosen on runs of other networks."""

from __future__ import annotations

import pytest

from perfc.analyzers.intervals.summing import Side
from perfc.analyzers.runs.end_to_end import Run, Spent
from perfc.analyzers.training.experiments.neusight_runs import Timed, correlation

KERNELS = 4


def timed(off: float) -> Timed:
    """A run of four equal kernels of 1 s, each within a tenth, measured ``off`` seconds longer."""
    sides = {Side("matmul_f32", True, 0.1 + i * 1e-12): 1.0 for i in range(KERNELS)}
    made = Run(Spent(float(KERNELS), (sides,), (sides,)), Spent(0.0))
    return Timed("v100", "net", "inf", KERNELS + off, made)


def test_errors_that_cancel_need_none() -> None:
    assert correlation(timed(off) for off in (0.05, 0.1, 0.19)) == 0.0


def test_the_least_that_holds_nine_in_ten() -> None:
    inside, far = [timed(0.1)] * 8, timed(9.0)
    asked = 0.3
    # variance of the sum: rho (4 w)^2 + (1 - rho) 4 w^2
    need = ((asked / 0.1) ** 2 - KERNELS) / (KERNELS**2 - KERNELS)
    found = correlation([*inside, timed(asked), far])
    assert found == pytest.approx(need, abs=0.01)
    assert found >= need


def test_one_error_where_none_holds_as_many() -> None:
    assert correlation([timed(9.0)] * 3) == 1.0
