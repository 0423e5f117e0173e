"""Residuals of fitted times on held-out models."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.analyzers.estimators.fitted_rates import Ratios
from perfc.analyzers.estimators.fitted_rates.classes import classify
from perfc.analyzers.estimators.fitted_rates.efficiencies import HOST, WHOLE

from .evaluate import PredictedRun
from .fit import LEAST_SAMPLES, FitSample, fit

GROUPS = 5
"""Number of folds of models."""
COVER = 0.9
"""Fraction of kernels between the two ratios."""


def ratios(
    samples: Sequence[FitSample], host: Sequence[float], outcomes: Sequence[PredictedRun]
) -> dict[str, Ratios]:
    """Return the ratios of every class with enough held-out models, and of whole runs.

    Conformal: ranks of the residuals of held-out models. Errors of one model's kernels are
    correlated, so every model counts the same, however many kernels it has, and the correction
    for few samples counts models.
    Source: Lei et al. 2018, Distribution-free predictive inference for regression; Dunn,
    Wasserman & Ramdas 2023, Distribution-free prediction sets for two-layer hierarchical models.

    Args:
        samples: timed kernels.
        host: times of nodes that launch no analyzed kernel.
        outcomes: whole runs, each predicted by a fit to other models.
    """
    ratios: dict[str, dict[str, list[float]]] = {}
    models = sorted({s.run[0] for s in samples})
    part = {digest: i % GROUPS for i, digest in enumerate(models)}
    for held in range(GROUPS):
        others = [s for s in samples if part[s.run[0]] != held]
        if not others or len(others) == len(samples):
            continue
        efficiencies = fit(others, host)
        for s in samples:
            if part[s.run[0]] != held:
                continue
            predicted = efficiencies.kernel(s.subject)
            copied_s = efficiencies.moved_s(s.subject.moved_bytes)
            if predicted is None or predicted.time_s <= copied_s:
                continue
            ratio = s.time_s / (predicted.time_s - copied_s)
            for name in classify(s.subject).names:
                ratios.setdefault(name, {}).setdefault(s.run[0], []).append(ratio)
    spread = {
        name: between(list(by_model.values()))
        for name, by_model in ratios.items()
        if sum(map(len, by_model.values())) >= LEAST_SAMPLES
    }
    if outcomes:
        # few models are left out, and those chosen to differ: runs count one by one
        spread[WHOLE] = between([[1 / (1 + o.error)] for o in outcomes])
    spread.pop(HOST, None)
    return spread


def between(groups: Sequence[Sequence[float]], cover: float = COVER) -> Ratios:
    """Return the quantiles that contain a sample of another group; extremes if groups are few.

    >>> between([[0.5], [1.0], [2.0]])
    Ratios(low=0.5, high=2.0)
    """
    level = min((1 + cover) / 2 * (1 + 1 / len(groups)), 1.0)
    weighted = [(x, 1 / len(group)) for group in groups for x in group]
    high = quantile(weighted, level)
    low = -quantile([(-x, w) for x, w in weighted], level)
    return Ratios(min(low, 1.0), max(high, 1.0))


def quantile(weighted: Sequence[tuple[float, float]], level: float) -> float:
    """Return the smallest number with at least ``level`` of the weight at or below it."""
    ordered = sorted(weighted)
    wanted = level * math.fsum(w for _, w in ordered) - 1e-9
    total = 0.0
    for x, w in ordered:
        total += w
        if total >= wanted:
            return x
    return ordered[-1][0]
