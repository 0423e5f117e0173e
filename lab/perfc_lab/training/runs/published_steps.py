"""Fit the law of published training steps, and score it on architectures left out.

The law predicts a step as the sum of its kernels' estimates, each multiplied by the factors of the
kernel's traits. These factors are fitted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.intervals.conformal import COVERAGE, Band
from perfc.analyzers.runs.step_law import KernelTrait, StepLaw, is_convolutional
from perfc.ir.record import record

from ...splitting import leave_out
from ...tables.published_steps import PublishedStep, SkipReason

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

RIDGE = 0.1
"""Weight of the squared logarithms of factors against the losses of all steps.

It leaves a factor near 1 that few steps depend on.
"""
HUBER = 0.3
"""Logarithmic error beyond which the loss grows linearly, so that outliers count less."""


@record
class SummedStep:
    """A published step and its kernels.

    Args:
        step: row of the table.
        stored: precision, by the names of `run_table.precision`.
        sums: summed estimates of its kernels in seconds, by traits that the kernels share.
        printed_s: time that `perfc analyze` prints; for convolutional networks without a law.
        low_s: lower end of its interval.
        high_s: upper end of its interval.
        floor_s: lower bound of the time.
    """

    step: PublishedStep
    stored: str
    sums: dict[tuple[KernelTrait, ...], float]
    printed_s: float
    low_s: float
    high_s: float
    floor_s: float

    @property
    def kernels_s(self) -> float:
        """Return the sum of the kernels' estimates, without a law."""
        return math.fsum(self.sums.values())

    def predicted_s(self, law: StepLaw) -> float:
        """Predict the step's time by a law."""
        return math.fsum(law.factor(parts) * time_s for parts, time_s in self.sums.items())


def learnable(steps: Sequence[SummedStep]) -> list[SummedStep]:
    """Return the steps of convolutional networks that are not left out for a reason."""
    return [s for s in steps if s.step.left_out is None and is_convolutional(s.sums)]


def learned(steps: Sequence[SummedStep]) -> StepLaw:
    """Return the law fitted to steps, without a band.

    Args:
        steps: steps of convolutional networks.
    """
    from scipy.optimize import minimize

    names = sorted(
        {p for s in steps for parts in s.sums for p in parts}, key=list(KernelTrait).index
    )
    # of each step the estimates of its groups of kernels, and the traits of each group as 0 and 1
    tables = [
        (
            np.array(list(s.sums.values())),
            np.array([[float(name in parts) for name in names] for parts in s.sums]),
        )
        for s in steps
    ]
    measured = np.log([s.step.time_s for s in steps])
    # all architectures have the same weight, however many steps they have
    rows = Counter(s.step.architecture for s in steps)
    weights = np.array([1 / rows[s.step.architecture] for s in steps])
    weights /= weights.mean()

    def loss(logs: Array) -> float:
        predicted = np.array([np.log((t * np.exp(x @ logs)).sum()) for t, x in tables])
        error = (measured - predicted) / HUBER
        # pseudo-Huber, and a penalty on factors other than 1
        losses = 2 * HUBER**2 * (np.sqrt(1 + error**2) - 1)
        return float((weights * losses).sum() + RIDGE * (logs**2).sum())

    solution = minimize(loss, np.zeros(len(names)), method="L-BFGS-B").x
    factors = {name: float(np.exp(value)) for name, value in zip(names, solution, strict=True)}
    configurations = sorted({(s.step.deployment.target, s.stored) for s in steps})
    return StepLaw(factors, Band(0.0, 0.0), tuple(configurations), len(steps), len(rows))


def left_out(steps: Sequence[SummedStep]) -> list[tuple[SummedStep, float]]:
    """Return the log of each step's time over its prediction by a law of other architectures."""
    result: list[tuple[SummedStep, float]] = []
    for _, train, tested in leave_out(steps, [s.step.architecture for s in steps]):
        law = learned(train)
        result += [(s, math.log(s.step.time_s / s.predicted_s(law))) for s in tested]
    return result


def band_of(logs: Sequence[float]) -> Band:
    """Return the band of 90 % of further steps: quantiles with the finite-sample correction."""
    ordered = np.sort(np.asarray(logs))
    rank = math.ceil((len(ordered) + 1) * (1 + COVERAGE) / 2)
    high = min(rank, len(ordered)) - 1
    # equally many steps lie beyond either end
    return Band(float(ordered[len(ordered) - 1 - high]), float(ordered[high]))


def held(errors: Sequence[tuple[SummedStep, float]]) -> Iterator[bool]:
    """Yield True for each step within the band of the other architectures' errors."""
    for step, error in errors:
        others = [e for s, e in errors if s.step.architecture != step.step.architecture]
        band = band_of(others)
        yield band.low <= error <= band.high


def with_band(law: StepLaw, errors: Sequence[tuple[SummedStep, float]]) -> StepLaw:
    """Return the law with the band of the errors of architectures left out."""
    band = band_of([error for _, error in errors])
    return StepLaw(law.factors, band, law.measured, law.steps, law.architectures)


def reasons(steps: Sequence[PublishedStep]) -> Counter[SkipReason]:
    """Return how many rows are left out, by reason."""
    return Counter(s.left_out for s in steps if s.left_out is not None)
