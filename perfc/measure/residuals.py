"""How far measured times lie from fitted ones, on models that the fit had not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.passes.fitted import Ratios
from perfc.passes.fitted.classes import classify
from perfc.passes.fitted.efficiencies import HOST, WHOLE

from .evaluate import Outcome
from .fit import LEAST_SAMPLES, Sample, fit

GROUPS = 5
"""Parts of the models; each is predicted by a fit to the others."""
COVER = 0.9
"""Share of kernels between the two ratios."""


def ratios(
    samples: Sequence[Sample], host: Sequence[float], outcomes: Sequence[Outcome]
) -> dict[str, Ratios]:
    """Ratios of every class that was left out often enough, and of whole runs.

    Conformal: ranks of the residuals of models that were left out, so that another kernel of the
    class lies between with probability ``COVER`` if its model is like these.
    Source: Lei et al. 2018, Distribution-free predictive inference for regression.

    Args:
        samples: timed kernels.
        host: times of nodes that launch nothing in our reading.
        outcomes: whole runs, each predicted by a fit to other models.
    """
    found: dict[str, list[float]] = {}
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
                found.setdefault(name, []).append(ratio)
    spread = {name: between(r) for name, r in found.items() if len(r) >= LEAST_SAMPLES}
    if outcomes:
        spread[WHOLE] = between([1 / (1 + o.error) for o in outcomes])
    spread.pop(HOST, None)
    return spread


def between(found: Sequence[float], cover: float = COVER) -> Ratios:
    """The ranks that the next one lies between; the extremes where there are too few for that."""
    ordered = sorted(found)
    n, tail = len(ordered), (1 - cover) / 2
    low = ordered[max(math.floor((n + 1) * tail) - 1, 0)]
    high = ordered[min(math.ceil((n + 1) * (1 - tail)) - 1, n - 1)]
    return Ratios(min(low, 1.0), max(high, 1.0))
