"""Estimates of kernels that were never timed alone, learned from whole steps of models."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfc.ir import record

from ..estimate.estimate import Estimate, Predictor
from ..steps.kernels import covered, kernel_times, launch_times, launches_of
from .estimator import Estimator, Execution


@record
class LaunchReason:
    """A launch that a kernel is, or that is made for it, and what steps say of it.

    Args:
        kind: kind of the launch, as ``copy`` or ``grouped convolution``.
        times: how often it is launched in a run.
        scale_s: physical estimate of one launch.
        factor: what that is multiplied with, learned through the times of steps.
        time_s: time of all repetitions.
    """

    kind: str
    times: float
    scale_s: float
    factor: float
    time_s: float


@record
class StepReason:
    """Why steps say what they say of a kernel.

    Args:
        weights: name of the card.
        setting: mode, precision and framework of the steps, as text.
        machines: number of machines that ran them.
        is_own: whether this machine is one of them.
        launches: reason of each launch of the kernel, in order.
        error: typical error of a step of such launches, as a ratio.
    """

    weights: str
    setting: str
    machines: int
    is_own: bool
    launches: tuple[LaunchReason, ...]
    error: float


class StepFactors(Estimator):
    """Predicts kernels with factors per launch, fitted to the times of whole training steps."""

    predictor = Predictor.STEPS

    def estimate(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Return the times of kernels whose runtime and type were measured in whole steps."""
        return self._times(execution, wanted, copies_alone=False)

    def copies(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Return the times of copies that the framework makes for kernels, of views and casts."""
        return self._times(execution, wanted, copies_alone=True)

    def why(self, execution: Execution, index: int) -> StepReason | None:
        """Return the launches of a kernel, each with its scale and factor."""
        if execution.module is None:
            return None
        bounds = execution.bounds
        parts = covered(
            bounds, execution.kernels, execution.module, [index],
            autocast=execution.autocast, folder=execution.folder,
        )  # fmt: skip
        for part in parts:
            made = launches_of(part.listing, bounds, [index], copies_alone=False)
            each = launch_times(part.weights, made, bounds, part.setting)
            card, setting = part.weights.card, part.setting
            columns = (each.scale_s, each.factor, each.time_s)
            numbers = zip(*(column.tolist() for column in columns), strict=True)
            return StepReason(
                card.name,
                f"{setting.mode.value}, {setting.precision.value}, {setting.framework}",
                len(card.targets),
                bounds.machine.name in card.targets,
                tuple(
                    LaunchReason(launch.kind.value, launch.times, *of_launch)
                    for launch, of_launch in zip(made.launches, numbers, strict=True)
                ),
                math.exp(float(max(each.down.max(), each.up.max()))),
            )
        return None

    def _times(
        self, execution: Execution, wanted: Sequence[int], *, copies_alone: bool
    ) -> dict[int, Estimate]:
        if execution.module is None:
            return {}
        return kernel_times(
            execution.bounds, execution.kernels, execution.module, wanted,
            copies_alone=copies_alone, autocast=execution.autocast, folder=execution.folder,
        )  # fmt: skip
