"""Steps of a recurrent layer wait for one another, however little each has to do.

A roofline counts what all steps do together, and so do factors learned from layers that have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.ir.problem import Recurrence
from perfc.ir.symbolic.evaluate import evaluate

from ..estimate.interval import Interval

if TYPE_CHECKING:
    from perfc.passes.fusion.kernel import Kernel
    from perfc.passes.roofline.roofline import KernelBound

    from ..estimate.estimate import Estimate

STEP_S = Interval(1e-6, 5e-6, 30e-6)
"""Seconds from one step to the next: a product that needs the state before it, and a barrier.

Assumed: from a barrier among multiprocessors that keep their weights (cuDNN's persistent
kernels) to several launches a step. No public row of a recurrent layer was learned from.
"""


def chained_s(kernel: Kernel, env: Mapping[str, int]) -> Interval | None:
    """What the steps of a recurrent kernel take one after another; None for other kernels.

    Directions run side by side. Left out: what a step computes, which the roofline has.
    """
    match kernel.problem:
        case Recurrence(steps):
            count = float(evaluate(steps, env))
            return STEP_S * count if count else None
    return None


def chained(found: Estimate, bound: KernelBound, env: Mapping[str, int]) -> Estimate:
    """The estimate of a kernel, with the steps of a recurrent one; nobody measured how fast."""
    steps = chained_s(bound.kernel, env)
    if steps is None:
        return found
    return replace(
        found,
        time=found.time + steps * bound.launches,
        is_extrapolating=True,
        is_measured=False,
        in_run=None,
    )
