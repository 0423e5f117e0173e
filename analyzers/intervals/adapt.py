"""Correct predictors on a new machine by a few kernels that were measured on it.

Each predictor has separate corrections, as their errors differ. The residual
``log(measured / predicted)`` of a kernel is the sum of an offset of the machine, an offset of its
class, a slope over the logarithm of the predicted time (launches and rates of a machine have
independent errors) and noise. All are Gaussian around zero with the deviations of predictions for
unmeasured machines: few rows change predictions little, many fully
(`perfc.analyzers.intervals.offsets`). Kernels of one network have a common error on every machine;
offsets of the network and of its classes absorb it, and do not apply to other networks.
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

from ..estimate.estimate import ROUNDING, Estimate, Predictor
from ..estimate.interval import Interval
from .offsets import Offsets

if TYPE_CHECKING:
    from perfc.machine import Machine

    from ..features.classes import Array

_FITTED = constants_next_to(__file__)
DEVIATIONS, UNRATED, RATED = (
    _FITTED[f"{name}_deviations"].by_name | _FITTED["network_deviations"].by_name
    for name in ("adapted", "unrated", "rated")
)
"""Prior standard deviations of the logarithms of errors on a new machine, by kind of offset: of any
predictor; of laws of processors at rates of a data sheet; of these laws at measured rates."""
PROFILER_S = _FITTED["profiler_s"].number
"""Time that profilers of runtimes other than PyTorch add to a kernel on a processor."""
SMALL_S, LARGE_S = 1e-5, 1e-3
"""Predicted times at which a correction is stored: about that of a launch, and one at which
launches no longer matter. Between them it is linear in the logarithm of the time."""
ANY = "any"
"""Name of the correction of classes without measured kernels."""
LEARNED = "learned"
"""Predictor whose corrections have the names of classes without a prefix (`key`)."""
STEPS = (0, 1, 2, 3, 5, 8, 12, 20, 30, 50)
"""Numbers of measured kernels at which the learning curve is computed; their distance grows,
since the error falls more and more slowly."""
DRAWS = 20
"""Random orders over which each step is averaged, as some kernels correct more than others."""
LEAST_TEST = 3
"""Minimum number of kernels that must remain to score a step on them."""
WORTH = 0.1
"""Least share of the error that further measured kernels must remove to be worth measuring."""


class AdaptError(PerfcError):
    """Rows that cannot adapt a machine."""


@record
class KernelResidual:
    """A measured kernel with its prediction.

    Args:
        class_name: name of its class.
        predicted_s: time of one launch by the predictor.
        measured_s: time of one launch measured on the machine.
        predictor: value of a ``Predictor``.
        network: name of its network; "" if unknown.
    """

    class_name: str
    predicted_s: float
    measured_s: float
    predictor: str = LEARNED
    network: str = ""

    @property
    def log_ratio(self) -> float:
        """Return the logarithm of measured over predicted time."""
        return math.log(self.measured_s / self.predicted_s)


@record
class Correction:
    """Factors that correct the predictions of one class on one machine.

    Args:
        small_ratio: factor of kernels with a predicted time of ``SMALL_S``.
        large_ratio: factor of kernels with a predicted time of ``LARGE_S``.
        low_ratio: 5 % quantile of measured over corrected time.
        high_ratio: 95 % quantile.
        samples: number of measured kernels of the class.
    """

    small_ratio: float
    large_ratio: float
    low_ratio: float
    high_ratio: float
    samples: int = 0

    def at(self, predicted_s: float) -> float:
        """Return the factor for a kernel.

        >>> Correction(1.0, 4.0, 0.9, 1.1).at(1e-4)
        2.0
        """
        share = place(predicted_s)
        small, large = math.log(self.small_ratio), math.log(self.large_ratio)
        return math.exp(small + (large - small) * share)


@record
class LearningPoint:
    """One step of a learning curve.

    Args:
        count: number of measured kernels that correct.
        error: relative error of the summed time of the other kernels.
    """

    count: int
    error: float


@record
class Adaptation:
    """Result of an adaptation to one machine.

    Args:
        corrections: corrections by name (`key`), for each class and under ``any`` for others.
        curve: learning curve of the predictor with most rows.
        enough: number of kernels after which more gain little; None if the error still falls.
        refused: predictors without corrections, which would worsen kernels that are left out.
    """

    corrections: Mapping[str, Correction]
    curve: tuple[LearningPoint, ...] = ()
    enough: int | None = None
    refused: tuple[str, ...] = ()


def place(predicted_s: float) -> float:
    """Return a time's position from ``SMALL_S`` (0) to ``LARGE_S`` (1) on a logarithmic scale."""
    # limited to 0 and 1, so that corrections are constant beyond both times; 1 ps stands for a
    # predicted time of 0, which has no logarithm
    share = math.log(max(predicted_s, 1e-12) / SMALL_S) / math.log(LARGE_S / SMALL_S)
    return min(max(share, 0.0), 1.0)


def terms(class_name: str, predicted_s: float, network: str = "") -> dict[tuple[str, str], float]:
    """Return the coefficient of each offset in a kernel's residual, by kind and name of offset.

    Kinds are those of `DEVIATIONS`.
    """
    coefficients = {("machine", ""): 1.0, ("class", class_name): 1.0}
    # short and long kernels of a class may err in opposite directions
    coefficients["slope", class_name] = slope_of(predicted_s)
    if network:
        coefficients |= {
            ("network", network): 1.0,
            ("class_in_network", f"{network} {class_name}"): 1.0,
        }
    return coefficients


@entity
class Posterior:
    """Posterior distribution of offsets after measured rows.

    Args:
        columns: kind and name of each offset.
        offsets: distribution of their values.
        deviations: prior deviations by kind.
        network: name that stands for any unmeasured network; "" if the rows have no networks.
    """

    columns: tuple[tuple[str, str], ...]
    offsets: Offsets
    deviations: Mapping[str, float]
    network: str

    def log_ratio(self, class_name: str, predicted_s: float) -> float:
        """Return the expected residual of a kernel of another network."""
        coefficients = terms(class_name, predicted_s)
        return float(self.offsets.expected(table([coefficients], self.columns))[0])

    def deviation(self, class_name: str, predicted_s: float) -> float:
        """Return the standard deviation of a new kernel's residual: of offsets, and noise."""
        coefficients = terms(class_name, predicted_s, self.network)
        # offsets that no row has, such as those of a new network, have their prior deviations
        known = self.offsets.deviation(table([coefficients], self.columns))
        others = {key: x for key, x in coefficients.items() if key not in self.columns}
        return math.hypot(
            float(known[0]), *(x * self.deviations[kind] for (kind, _), x in others.items())
        )


def table(
    each: Sequence[Mapping[tuple[str, str], float]], columns: Sequence[tuple[str, str]]
) -> Array:
    """Return the coefficients of offsets as a matrix, ``[kernels, offsets]``."""
    rows = [[coefficients.get(key, 0.0) for key in columns] for coefficients in each]
    return np.array(rows).reshape(len(each), len(columns))


def slope_of(predicted_s: float) -> float:
    """Return the coefficient of the slope: -1 at ``SMALL_S``, 1 at ``LARGE_S``."""
    return 2 * place(predicted_s) - 1


def posterior(
    rows: Sequence[KernelResidual], deviations: Mapping[str, float] = DEVIATIONS
) -> Posterior:
    """Return the distribution of offsets and slopes given rows.

    The noise is the scatter of the rows around them.
    """
    coefficients = [terms(r.class_name, r.predicted_s, r.network) for r in rows]
    columns = tuple(dict.fromkeys(key for row_terms in coefficients for key in row_terms))
    prior = np.array([deviations[kind] for kind, _ in columns])
    residual = np.array([r.log_ratio for r in rows])
    learned = Offsets.learned(table(coefficients, columns), residual, prior, deviations["noise"])
    is_named = any(r.network for r in rows)
    return Posterior(columns, learned, deviations, "another" * is_named)  # "" unless named


def distinct(rows: Sequence[KernelResidual]) -> list[KernelResidual]:
    """Return one kernel, of median time, for all equal kernels of a network, as in repeated layers.

    Equal kernels have equal errors, so that they are one observation. Kernels without a network all
    stay.
    """
    groups: dict[object, list[KernelResidual]] = {}
    for i, r in enumerate(rows):
        equal = (r.predictor, r.class_name, r.predicted_s, r.network)
        groups.setdefault(equal if r.network else i, []).append(r)
    return [sorted(g, key=lambda r: r.measured_s)[len(g) // 2] for g in groups.values()]


def adapt(rows: Sequence[KernelResidual], *, is_rated: bool = False) -> Adaptation:
    """Return corrections of every class among the rows and of all others, with a learning curve.

    Args:
        rows: measured kernels of a machine.
        is_rated: True if its rates were measured, which makes laws of processors more accurate.

    Raises:
        AdaptError: no rows, or times that are no positive numbers.
    """
    if not rows:
        raise AdaptError("no row of a class that has weights", hint="perfc eval lists the classes")
    for r in rows:
        if not (math.isfinite(r.measured_s) and r.measured_s > 0):
            raise AdaptError(f"a kernel that takes {r.measured_s} s", hint="drop such rows")
    groups: dict[str, list[KernelResidual]] = {}
    for r in distinct(rows):
        groups.setdefault(r.predictor, []).append(r)
    corrections: dict[str, Correction] = {}
    law = RATED if is_rated else UNRATED
    priors = {p: law if p == Predictor.LAW.value else DEVIATIONS for p in groups}
    curves = {p: learning_curve(group, priors[p]) for p, group in groups.items()}
    # the last step of the curve has a larger error than the first, without any measured kernel
    refused = [name for name, c in curves.items() if c and c[-1].error > c[0].error]
    for predictor, group in groups.items():
        if predictor in refused:
            continue
        fitted = posterior(group, priors[predictor])
        for name in (*sorted({r.class_name for r in group}), ANY):
            count = sum(r.class_name == name for r in group)
            corrections[key(predictor, name)] = correction(fitted, name, count)
    # of the predictor with most rows
    curve = curves[max(groups, key=lambda name: len(groups[name]))]
    return Adaptation(corrections, curve, enough(curve), tuple(refused))


def key(predictor: str, class_name: str) -> str:
    """Return the name that a correction has in a target file.

    >>> key("learned", "matmul"), key("roofline", "conv")
    ('matmul', 'roofline.conv')
    """
    return class_name if predictor == LEARNED else f"{predictor}.{class_name}"


def correction(fitted: Posterior, name: str, samples: int) -> Correction:
    """Return a class's correction.

    Its interval is that of a kernel whose time is the geometric mean of the two stored times.
    """
    small, large = (math.exp(fitted.log_ratio(name, s)) for s in (SMALL_S, LARGE_S))
    # 1.645 standard deviations: 90 % of a normal distribution
    reach = 1.645 * fitted.deviation(name, math.sqrt(SMALL_S * LARGE_S))
    return Correction(small, large, math.exp(-reach), math.exp(reach), samples)


def learning_curve(
    rows: Sequence[KernelResidual], deviations: Mapping[str, float] = DEVIATIONS
) -> tuple[LearningPoint, ...]:
    """Return the mean error of the summed time of left-out kernels, for each number in `STEPS`."""
    import random

    # a fixed seed: the same rows give the same curve
    rng = random.Random(0)
    points: list[LearningPoint] = []
    for count in STEPS:
        if len(rows) - count < LEAST_TEST:
            break
        errors: list[float] = []
        # without measured kernels the order has no effect
        for _ in range(DRAWS if count else 1):
            order = rng.sample(range(len(rows)), len(rows))
            fitted = posterior([rows[i] for i in order[:count]], deviations)
            total_s = 0.0
            others = [rows[i] for i in order[count:]]
            for r in others:
                expected = fitted.log_ratio(r.class_name, r.predicted_s) if count else 0.0
                total_s += math.exp(expected) * r.predicted_s
            errors.append(abs(total_s / math.fsum(r.measured_s for r in others) - 1))
        points.append(LearningPoint(count, math.fsum(errors) / len(errors)))
    return tuple(points)


def enough(curve: Sequence[LearningPoint]) -> int | None:
    """Return the first count whose error no later one undercuts by the share ``WORTH``.

    None if the error still falls at the end of the curve.
    """
    for i, point in enumerate(curve[:-1]):
        if all(later.error > (1 - WORTH) * point.error for later in curve[i + 1 :]):
            return point.count
    return None


def of_machine(machine: Machine) -> Mapping[str, Correction]:
    """Return the corrections in a target file, by name (`key`); empty if it has none."""
    return {
        name: Correction(n["small_ratio"], n["large_ratio"], n["low_ratio"], n["high_ratio"])
        for name, n in machine.adaptation.items()
        if {"small_ratio", "large_ratio", "low_ratio", "high_ratio"} <= n.keys()
    }


def of_class(
    corrections: Mapping[str, Correction], predictor: str, class_name: str
) -> Correction | None:
    """Return the correction of a predictor's class; None if nothing of it was measured."""
    known = corrections.get(key(predictor, class_name))
    return known if known is not None else corrections.get(key(predictor, ANY))


def corrected(
    estimate: Estimate, launches: float, corrections: Mapping[str, Correction]
) -> Estimate:
    """Return an estimate times the correction of its class, with the interval of the correction.

    It stays as it is if its class has no correction, or if it has no launch.
    """
    correction = of_class(corrections, estimate.predictor.value, estimate.class_name)
    if correction is None or not launches:
        return estimate
    # corrections are of one launch, estimates of all launches
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
        in_run=None,  # the interval of the correction holds inside a run as well
        correction=ratio,
        is_clipped=estimate.time_s * ratio < estimate.floor_s * (1 - ROUNDING),
    )
