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
"""Law that is the prior: a law fitted to few rows stays near it."""
WEIGHT = 4.0
"""Weight of the prior, in rows whose error is ``ERROR``, for a number that lies ``SCALE`` away."""
ROBUST = 8
"""Rounds of weighing rows by their errors."""
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
"""Distance of each number from the prior that weighs as much as one row's error."""
LEAST: Mapping[str, float] = {
    "products": 0.8,
    "attention": 0.8,
    "experts": 0.5,
    "pointwise": 0.8,
    "exchanges": 0.4,
}
"""Lower bounds: rows that do not distinguish two numbers must not make one of them free of cost."""
ERROR = 0.05
"""Relative error of one row, as repeats of one setting have it."""


def group_of(row: RunRow) -> str:
    """Return the group whose law a row trains: framework and generation."""
    return f"{row.framework} {load_machine(row.cluster).arch}"


def usable(rows: Sequence[RunRow], say: Say) -> Iterator[RunRow]:
    """Yield the rows that can be predicted; the others are named."""
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
    """Derivative of the predicted time of a row by the law, near the prior: nearly a plane.

    Args:
        time_s: predicted time at the prior.
        slopes: derivative by each number of the law, in the order of ``LEARNED``.
    """

    time_s: float
    slopes: tuple[float, ...]

    @classmethod
    def of(cls, row: RunRow) -> Tangent:
        """Differentiate by a small step from the prior in each number."""
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
    # relative times are a plane: slope · law + offset, which has to be 1
    wanted = 1 - (np.array([t.time_s for t in row_tangents]) / measured - slope @ base)
    weight = np.sqrt(_weights(rows)) / ERROR
    keep = math.sqrt(WEIGHT)
    least = np.array([LEAST.get(name, 0.0) for name in LEARNED])
    law = base
    for _ in range(ROBUST):
        # further rows pull each number to the prior (ridge)
        a = np.concatenate([slope * weight[:, None], np.diag(keep / width)])
        b = np.concatenate([wanted * weight, keep * base / width])
        # nnls bounds unknowns at 0, the law at `least`: the difference of both is the unknown
        law = least + nnls(a, b - a @ least)[0]
        # robust reweighting: weight over error, so that outliers such as disturbed runs count less
        error = np.abs(slope @ law - wanted)
        weight = np.sqrt(_weights(rows) / np.maximum(error, ERROR) / ERROR)
    values: dict[str, Any] = {n: float(v) for n, v in zip(LEARNED, law, strict=True)}
    return replace(PRIOR, **values)


def _weights(rows: Sequence[RunRow]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return weights by which the repeats of one setting count as one row together."""
    keys = [(r.model, r.cluster, r.weights, r.parallel, r.training) for r in rows]
    return np.array([1.0 / keys.count(k) for k in keys])
