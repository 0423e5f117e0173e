"""A few measured kernels of a new machine correct what was learned on others.

Every predictor is wrong in its own way, so each has corrections of its own. The residual
``log(measured / predicted)`` of a kernel is an offset of the machine, plus an offset of its class,
plus a slope over the logarithm of the predicted time (launches and rates of a machine
are wrong apart), plus noise. All are Gaussian around zero with deviations that say how wrong
predictions for machines nobody measured usually are: few rows move little, many move all
(`perfc.analyzers.intervals.offsets`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.errors import PerfcError
from perfc.ir import entity, record

from ..estimate.interval import Interval
from .offsets import Offsets

if TYPE_CHECKING:
    from perfc.machine import Machine

    from ..estimate.estimate import Estimate
    from ..features.classes import Array

_FITTED = constants_next_to(__file__)
_DEVIATIONS = _FITTED["adapted_deviations"].by_name
PROFILER_S = _FITTED["profiler_s"].number
"""Time that profilers of runtimes other than PyTorch add to a kernel on a processor."""
MACHINE_DEVIATION = _DEVIATIONS["machine"]
CLASS_DEVIATION = _DEVIATIONS["class"]
SLOPE_DEVIATION = _DEVIATIONS["slope"]
USUAL_NOISE = _DEVIATIONS["noise"]
"""Prior standard deviations of the logarithms of errors on a new machine."""
SMALL_S, LARGE_S = 1e-5, 1e-3
"""Predicted times at which a correction is written down; linear in the logarithm between."""
ANY = "any"
LEARNED = "learned"
"""The predictor whose corrections stand under the names of its classes alone."""
STEPS = (0, 1, 2, 3, 5, 8, 12, 20, 30, 50)
DRAWS = 20
LEAST_TEST = 3
WORTH = 0.1
"""A step of the learning curve is worth its kernels if it takes this share of the error away."""


class AdaptError(PerfcError):
    """Rows that cannot adapt a machine."""


@record
class KernelResidual:
    """A measured kernel beside its prediction.

    Args:
        class_name: class name of kernels.
        predicted_s: predicted time of one launch, by the predictor.
        measured_s: on the machine.
        predictor: value of a ``Predictor``.
    """

    class_name: str
    predicted_s: float
    measured_s: float
    predictor: str = LEARNED

    @property
    def log_ratio(self) -> float:
        """Measured over predicted."""
        return math.log(self.measured_s / self.predicted_s)


@record
class Correction:
    """Factors that correct the predictions of one class on one machine.

    Args:
        small_ratio: ratio of kernels predicted to take ``SMALL_S``.
        large_ratio: ratio of those predicted to take ``LARGE_S``.
        low_ratio: measured over corrected time, 5 % of kernels.
        high_ratio: 95 % of them.
        samples: kernels of the class that were measured.
    """

    small_ratio: float
    large_ratio: float
    low_ratio: float
    high_ratio: float
    samples: int = 0

    def at(self, predicted_s: float) -> float:
        """The factor for a kernel.

        >>> Correction(1.0, 4.0, 0.9, 1.1).at(1e-4)
        2.0
        """
        share = place(predicted_s)
        small, large = math.log(self.small_ratio), math.log(self.large_ratio)
        return math.exp(small + (large - small) * share)


@record
class LearningPoint:
    """One step of a learning curve: error of the kernels left out, as one run, after ``count``."""

    count: int
    error: float


@record
class Adaptation:
    """Result of an adaptation to one machine.

    Args:
        corrections: by name of a class, and of all others of a predictor under ``any``.
        curve: error of kernels left out against kernels measured, of the predictor of most rows.
        enough: kernels after which more were not worth their time; None where it still falls.
        refused: predictors that stay as they are: kernels left out would be predicted worse.
    """

    corrections: Mapping[str, Correction]
    curve: tuple[LearningPoint, ...] = ()
    enough: int | None = None
    refused: tuple[str, ...] = ()


def place(predicted_s: float) -> float:
    """Return a time's position from ``SMALL_S`` (0) to ``LARGE_S`` (1) on a logarithmic scale."""
    share = math.log(max(predicted_s, 1e-12) / SMALL_S) / math.log(LARGE_S / SMALL_S)
    return min(max(share, 0.0), 1.0)


@entity
class Posterior:
    """Offsets and slopes after the rows."""

    classes: tuple[str, ...]
    offsets: Offsets

    def log_ratio(self, class_name: str, predicted_s: float) -> float:
        """Expected residual."""
        return float(self.offsets.expected(row(self.classes, class_name, predicted_s)[None])[0])

    def deviation(self, class_name: str, predicted_s: float) -> float:
        """Return the deviation of a new kernel's residual: machine uncertainty and noise."""
        known = self.offsets.deviation(row(self.classes, class_name, predicted_s)[None])
        return math.hypot(float(known[0]), 0.0 if class_name in self.classes else CLASS_DEVIATION)


def row(classes: Sequence[str], class_name: str, predicted_s: float) -> Array:
    """The coefficients that a kernel's residual is the sum of: machine, classes, their slopes."""
    terms = np.zeros(1 + 2 * len(classes))
    terms[0] = 1.0
    if class_name in classes:
        i = classes.index(class_name)
        terms[1 + 2 * i] = 1.0
        terms[2 + 2 * i] = slope_of(predicted_s)
    return terms


def slope_of(predicted_s: float) -> float:
    """-1 at ``SMALL_S``, 1 at ``LARGE_S``."""
    return 2 * place(predicted_s) - 1


def posterior(rows: Sequence[KernelResidual]) -> Posterior:
    """Offsets and slopes; the noise is what the rows scatter around them."""
    classes = tuple(sorted({r.class_name for r in rows}))
    deviations = [MACHINE_DEVIATION] + [CLASS_DEVIATION, SLOPE_DEVIATION] * len(classes)
    table = [row(classes, r.class_name, r.predicted_s) for r in rows]
    residual = np.array([r.log_ratio for r in rows])
    shaped = np.array(table).reshape(len(rows), len(deviations))
    return Posterior(classes, Offsets.learned(shaped, residual, np.array(deviations), USUAL_NOISE))


def adapt(rows: Sequence[KernelResidual]) -> Adaptation:
    """Corrections of every class among the rows, and of the others, with a learning curve.

    Raises:
        AdaptError: no rows, or times that are no positive numbers.
    """
    if not rows:
        raise AdaptError("no row of a class that has weights", hint="perfc eval lists the classes")
    for r in rows:
        if not (math.isfinite(r.measured_s) and r.measured_s > 0):
            raise AdaptError(f"a kernel that takes {r.measured_s} s", hint="drop such rows")
    groups: dict[str, list[KernelResidual]] = {}
    for r in rows:
        groups.setdefault(r.predictor, []).append(r)
    corrections: dict[str, Correction] = {}
    curves = {predictor: learning_curve(group) for predictor, group in groups.items()}
    refused = [name for name, c in curves.items() if c and c[-1].error > c[0].error]
    for predictor, group in groups.items():
        if predictor in refused:
            continue
        fitted = posterior(group)
        for name in (*fitted.classes, ANY):
            count = sum(r.class_name == name for r in group)
            corrections[key(predictor, name)] = correction(fitted, name, count)
    curve = curves[max(groups, key=lambda name: len(groups[name]))]
    return Adaptation(corrections, curve, enough(curve), tuple(refused))


def key(predictor: str, class_name: str) -> str:
    """The name that a correction has in a target file.

    >>> key("learned", "matmul"), key("roofline", "conv")
    ('matmul', 'roofline.conv')
    """
    return class_name if predictor == LEARNED else f"{predictor}.{class_name}"


def correction(fitted: Posterior, name: str, samples: int) -> Correction:
    """A class's correction; the interval is that of a kernel in the middle."""
    small, large = (math.exp(fitted.log_ratio(name, s)) for s in (SMALL_S, LARGE_S))
    reach = 1.645 * fitted.deviation(name, math.sqrt(SMALL_S * LARGE_S))
    return Correction(small, large, math.exp(-reach), math.exp(reach), samples)


def learning_curve(rows: Sequence[KernelResidual], seed: int = 0) -> tuple[LearningPoint, ...]:
    """Mean error of the run of all kernels left out, after 0, 1, 2, 3, 5 … others are measured."""
    import random

    rng = random.Random(seed)
    points: list[LearningPoint] = []
    for count in STEPS:
        if len(rows) - count < LEAST_TEST:
            break
        errors: list[float] = []
        for _ in range(DRAWS if count else 1):
            order = rng.sample(range(len(rows)), len(rows))
            fitted = posterior([rows[i] for i in order[:count]])
            total_s = 0.0
            others = [rows[i] for i in order[count:]]
            for r in others:
                expected = fitted.log_ratio(r.class_name, r.predicted_s) if count else 0.0
                total_s += math.exp(expected) * r.predicted_s
            errors.append(abs(total_s / math.fsum(r.measured_s for r in others) - 1))
        points.append(LearningPoint(count, math.fsum(errors) / len(errors)))
    return tuple(points)


def enough(curve: Sequence[LearningPoint]) -> int | None:
    """The stop rule: the first count whose error no later one improves by ``WORTH`` of it."""
    for i, point in enumerate(curve[:-1]):
        if all(later.error > (1 - WORTH) * point.error for later in curve[i + 1 :]):
            return point.count
    return None


def of_machine(machine: Machine) -> Mapping[str, Correction]:
    """The corrections in a target file, by class; empty where it has none."""
    numbers: dict[str, dict[str, float]] = {}
    for key, rate in machine.facts.items():
        if key.startswith("adaptation."):
            name, _, number = key.removeprefix("adaptation.").rpartition(".")
            numbers.setdefault(name, {})[number] = rate.value
    return {
        name: Correction(n["small_ratio"], n["large_ratio"], n["low_ratio"], n["high_ratio"])
        for name, n in numbers.items()
        if {"small_ratio", "large_ratio", "low_ratio", "high_ratio"} <= n.keys()
    }


def of_class(
    corrections: Mapping[str, Correction], predictor: str, class_name: str
) -> Correction | None:
    """The correction of a predictor's class, None where nothing of the predictor was measured."""
    known = corrections.get(key(predictor, class_name))
    return known if known is not None else corrections.get(key(predictor, ANY))


def corrected(
    estimate: Estimate, launches: float, corrections: Mapping[str, Correction]
) -> Estimate:
    """A prediction times what kernels measured on the machine took of theirs."""
    correction = of_class(corrections, estimate.predictor.value, estimate.class_name)
    if correction is None or not launches:
        return estimate
    ratio = correction.at(estimate.time_s / launches)
    time_s = max(estimate.time_s * ratio, estimate.floor_s)
    return replace(
        estimate,
        time=Interval(
            max(time_s * correction.low_ratio, estimate.floor_s),
            time_s,
            time_s * correction.high_ratio,
        ),
        is_extrapolating=False,
        is_measured=True,
        in_run=None,
        correction=ratio,
    )
