"""Accuracy of fitted efficiencies on held-out models."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.analyzers.estimators.fitted_rates import Efficiencies
from perfc.analyzers.estimators.fitted_rates.classes import classify
from perfc.ir.record import record

from ..tables.rows import KernelRow, ModelRow, subject_of
from .fit import LEAST_SAMPLES, FitSample, Key, fit, key_of, runtime_count


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


def mean_error(outcomes: Sequence[PredictedRun]) -> float:
    """Mean absolute relative error."""
    return sum(abs(o.error) for o in outcomes) / max(len(outcomes), 1)


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


def choose(kernels: Sequence[KernelRow], count: int) -> list[str]:
    """Digests of the models to fit to, so that their kernels cover classes and sizes of all.

    Greedy: next the model that adds most to the classes with too few kernels, weighted by the time
    their kernels would take at measured rates. What was measured plays no part.
    Source: Nemhauser, Wolsey & Fisher 1978, greedy maximisation of submodular functions.
    """
    have: dict[str, dict[str, int]] = {}
    weight: dict[str, float] = {}
    for r in kernels:
        if r.kernel < 0:
            continue
        decade = math.floor(2 * math.log10(max(r.sustained_s, 1e-9)))
        name = f"{classify(subject_of(r)).names[0]} {decade}"
        counts = have.setdefault(r.digest, {})
        counts[name] = counts.get(name, 0) + 1
        weight[name] = weight.get(name, 0.0) + r.sustained_s**0.5
    chosen: list[str] = []
    covered: dict[str, int] = {}
    enough = 4 * LEAST_SAMPLES

    def gain(digest: str) -> float:
        return sum(
            weight[n] * (min(covered.get(n, 0) + c, enough) - min(covered.get(n, 0), enough))
            for n, c in have[digest].items()
        )

    while len(chosen) < min(count, len(have)):
        best = max((d for d in have if d not in chosen), key=gain)
        chosen.append(best)
        for n, c in have[best].items():
            covered[n] = covered.get(n, 0) + c
    return chosen
