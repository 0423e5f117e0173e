"""Write the card of a trained predictor of whole models; list the predictors to train here.

A card is a JSON file next to weights; `perfc.analyze` reads both.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfc.analyzers.graph.predictor import GraphPredictor, Say, predictor, predictors
from perfc.analyzers.graph.rows import Measurements
from perfc.analyzers.graph.weights import GraphCard
from perfc.errors import MissingExtraError

SMALL = 0.05
"""Quantile of the peak memory of runs below which a run counts as small.

It is of the training rows of one machine, precision, mode and framework.
"""


def card_of(
    trained: GraphPredictor, train: Measurements, split: str, metrics: Mapping[str, float]
) -> GraphCard:
    """Return the card of a predictor that was trained on some rows."""
    name = trained.name.replace("-", "_") + (f":{trained.variant}" if trained.variant else "")
    graphs = [train.graphs[g].ops for g in {r.graph for r in train.rows}]
    # a model with less memory than the small peak of its kind of run is extrapolated
    peaks = dict(sorted(small_peaks(train).items()))
    return GraphCard(
        name,
        trained.title,
        quantity=trained.quantity.value,
        dataset=train.dataset,
        data=train.digest,
        split=split,
        targets=tuple(train.targets),
        modes=tuple(sorted({r.part for r in train.rows})),
        rows=len(train),
        architectures=len(train.architectures),
        most_operators=max(map(len, graphs), default=0),
        factor=trained.factor,
        metrics=metrics,
        meta=trained.meta(),
        runs=tuple(peaks),
        operators=tuple(sorted({name for g in graphs for name in g.ops})),
        small_peaks=tuple(peaks.values()),
        factors=trained.factors,
    )


def small_peaks(train: Measurements) -> dict[tuple[str, str, str, str], float]:
    """Return the peak bytes below which runs are small, by machine, precision, mode, framework."""
    peaks: dict[tuple[str, str, str, str], list[float]] = {}
    for r in train.rows:
        run = r.target, r.setting.precision.value, r.part, r.setting.framework
        peak_bytes = train.graphs[r.graph].ops.whole_at(r.batch)["peak_bytes"]
        peaks.setdefault(run, []).append(peak_bytes)
    return {run: float(np.quantile(of_run, SMALL)) for run, of_run in peaks.items()}


def usable(say: Say) -> tuple[str, ...]:
    """Return the predictors whose packages and weights are installed; report others to ``say``."""
    result = []
    for name in predictors():
        try:
            candidate = predictor(name)
        except MissingExtraError as error:
            say(f"{name} is left out: {error}")
            continue
        if candidate.begins_from:
            say(f"{name} is left out: it begins from what `{candidate.begins_from}` writes")
        else:
            result.append(name)
    return tuple(result)
