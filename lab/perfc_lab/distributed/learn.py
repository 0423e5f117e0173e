"""Fit laws of runs to published rows: a few numbers for each framework and generation of GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from perfc.analyzers.runs.run_law import LEARNED, RunLaw
from perfc.errors import PerfcError
from perfc.ir.record import record
from perfc.machine import load_machine

from . import RunRow
from .predicted import cost_of

Say = Callable[[str], None]
PRIOR = RunLaw()
"""The law that a fit starts from; a law fitted to few rows stays near it."""
WEIGHT = 4.0
"""Weight of the prior: a number that is `SCALE` away from it costs as much as so many rows that are
off by `ERROR`."""
ROBUST = 8
"""Rounds of the fit, each with rows weighed by their errors in the round before."""
NUDGE = 0.05
"""Step of a numeric derivative, as a share of `SCALE`."""
SCALE: Mapping[str, float] = {
    "products": 0.15,
    "attention": 0.5,
    "experts": 0.5,
    "pointwise": 0.5,
    "exchanges": 0.7,
    "contention": 0.2,
    "straggling": 0.02,
    "micro_s": 0.005,
    "routing_s": 0.002,
}
"""Distance from the prior that is usual for each number, by which `WEIGHT` is counted."""
LEAST: Mapping[str, float] = {
    "products": 0.8,
    "attention": 0.8,
    "experts": 0.5,
    "pointwise": 0.8,
    "exchanges": 0.4,
}
"""Lower bounds of factors, 0 for the others: where rows do not separate two numbers, the fit must
not make one of them cost nothing."""
ERROR = 0.05
"""Usual relative error of a row: repeats of one setting differ by so much."""


def group_of(row: RunRow) -> str:
    """Return the group whose law a row trains: framework and generation."""
    return f"{row.framework} {load_machine(row.cluster).arch}"


def usable(rows: Sequence[RunRow], say: Say) -> Iterator[RunRow]:
    """Yield the rows that can be predicted; ``say`` gets each of the others with the cause."""
    for row in rows:
        try:
            cost_of(row)
        except PerfcError as error:
            say(f"{row.source} {row.model} ({row.parallel.described()}): {error}")
        else:
            yield row


def predicted_s(row: RunRow, law: RunLaw) -> float:
    """Return the predicted time of a step."""
    return cost_of(row, law).time_s


@record
class Tangent:
    """Predicted time of a row as a linear function of the numbers of the law, near the prior.

    The time is nearly linear there, so that a fit needs no further predictions.

    Args:
        time_s: predicted time at the prior.
        slopes: derivative by each number of the law, in the order of ``LEARNED``.
    """

    time_s: float
    slopes: tuple[float, ...]

    @classmethod
    def of(cls, row: RunRow) -> Tangent:
        """Return the tangent of a row, by a small step from the prior in each number."""
        time_s = predicted_s(row, PRIOR)
        slopes = []
        for name in LEARNED:
            step = NUDGE * SCALE[name]
            moved = replace(PRIOR, **{name: getattr(PRIOR, name) + step})
            slopes.append((predicted_s(row, moved) - time_s) / step)
        return cls(time_s, tuple(slopes))


def fit(rows: Sequence[RunRow], tangents: Mapping[int, Tangent]) -> RunLaw:
    """Return the law that has the least relative errors, near the prior where rows say little.

    Args:
        rows: measured runs.
        tangents: tangent of each row, by ``id`` of the row.
    """
    if not rows:
        return PRIOR
    base = np.array([getattr(PRIOR, name) for name in LEARNED])
    width = np.array([SCALE[name] for name in LEARNED])
    row_tangents = [tangents[id(r)] for r in rows]
    measured = np.array([r.step_s for r in rows])
    slope = np.array([t.slopes for t in row_tangents]) / measured[:, None]
    # predicted over measured time is `slope · law + offset` and should be 1: `wanted` is 1 - offset
    wanted = 1 - (np.array([t.time_s for t in row_tangents]) / measured - slope @ base)
    weight = np.sqrt(_weights(rows)) / ERROR
    keep = math.sqrt(WEIGHT)
    least = np.array([LEAST.get(name, 0.0) for name in LEARNED])
    law = base
    for _ in range(ROBUST):
        # below the rows of measurements, a row per number pulls it to the prior (ridge regression)
        a = np.concatenate([slope * weight[:, None], np.diag(keep / width)])
        b = np.concatenate([wanted * weight, keep * base / width])
        # nnls keeps unknowns at or above 0; the law is to stay above `least`, so that the unknown
        # is the law less `least`
        law = least + nnls(a, b - a @ least)[0]
        # squared, a weight falls as 1 / error above `ERROR`: outliers, as disturbed runs, count
        # less
        error = np.abs(slope @ law - wanted)
        weight = np.sqrt(_weights(rows) / np.maximum(error, ERROR) / ERROR)
    values: dict[str, Any] = {n: float(v) for n, v in zip(LEARNED, law, strict=True)}
    return replace(PRIOR, **values)


def _weights(rows: Sequence[RunRow]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return weights by which the repeats of one setting count as one row together."""
    keys = [(r.model, r.cluster, r.weights, r.parallel, r.training) for r in rows]
    return np.array([1.0 / keys.count(k) for k in keys])
