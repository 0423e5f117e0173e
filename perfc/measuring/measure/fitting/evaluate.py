"""Accuracy of fitted efficiencies on held-out models."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.analyzers.estimators.fitted_rates import Efficiencies
from perfc.ir import record

from ..tables.rows import KernelRow, ModelRow, subject_of
from .fit import FitSample, Key, fit, key_of, runtime_count


@record
class PredictedRun:
    """One measured run, predicted.

    Args:
        model: its name.
        dims: values of the symbols.
        time_s: measured.
        prediction_s: by the fit.
        floor_s: no run can be faster.
    """

    model: str
    dims: str
    time_s: float
    prediction_s: float
    floor_s: float

    @property
    def error(self) -> float:
        """Relative error with its sign."""
        return self.prediction_s / self.time_s - 1


def predict(
    kernels: Sequence[KernelRow], models: Sequence[ModelRow], efficiencies: Efficiencies
) -> list[PredictedRun]:
    """Total time of every run in ``models``; ``kernels`` are its rows."""
    totals: dict[Key, float] = {}
    for r in kernels:
        key = key_of(r)
        if r.kernel < 0:
            time_s: float | None = efficiencies.host_s * runtime_count(r.runtime_ops)
        else:
            time_s = efficiencies.kernel_s(subject_of(r))
        totals[key] = totals.get(key, 0.0) + (r.sustained_s if time_s is None else time_s)
    return [
        PredictedRun(m.model, m.dims, m.time_s, totals[key_of(m)], m.floor_s)
        for m in models
        if key_of(m) in totals
    ]


def leave_one_out(
    kernels: Sequence[KernelRow],
    models: Sequence[ModelRow],
    samples: Sequence[FitSample],
    host: Sequence[float],
) -> list[PredictedRun]:
    """Each model predicted by a fit to all the others."""
    outcomes: list[PredictedRun] = []
    for digest in dict.fromkeys(m.digest for m in models):
        others = [s for s in samples if s.run[0] != digest]
        if not others:
            continue
        efficiencies = fit(others, host)
        held_out = [m for m in models if m.digest == digest]
        outcomes += predict([k for k in kernels if k.digest == digest], held_out, efficiencies)
    return outcomes
