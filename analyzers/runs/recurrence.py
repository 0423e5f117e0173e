"""Latency of the steps of a recurrent layer, which run in sequence.

A roofline counts the work of all steps together, and fitted factors come from other layers. Neither
includes the time that each step waits for the previous one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to
from perfc.ir import Env, Numbers
from perfc.ir.problem import Recurrence

from ..estimate.interval import Interval

if TYPE_CHECKING:
    from perfc.passes.fusion.fuse import KernelTable
    from perfc.passes.fusion.kernel import Kernel
    from perfc.passes.roofline.roofline import KernelBound

    from ..estimate.estimate import Estimate

STEP_S = Interval(*constants_next_to(__file__)["recurrent_step_s"].numbers)
"""Time from one step to the next: a product that needs the state before it, and a barrier."""


def chained_s(kernel: Kernel, at: Numbers) -> Interval | None:
    """Return the latency of the steps of a recurrent kernel; None for other kernels.

    Both directions of a bidirectional layer run concurrently. The computation of steps is left out:
    the roofline contains it.
    """
    match kernel.problem:
        case Recurrence(steps):
            count = float(at(steps))
            return STEP_S * count if count else None  # 0: the number of steps is unknown
    return None


def has_steps(table: KernelTable, env: Env) -> bool:
    """Return True if some kernel is recurrent."""
    at = table.numbers(env)
    return any(chained_s(kernel, at) is not None for kernel in table.kernels)


def chained(estimate: Estimate, bound: KernelBound, at: Numbers) -> Estimate:
    """Return a kernel's estimate plus the assumed latency of its recurrent steps."""
    steps = chained_s(bound.kernel, at)
    if steps is None:
        return estimate
    return replace(
        estimate,
        time=estimate.time + steps * bound.launches,
        # the latency of a step is assumed, so that errors do not cancel in a run either
        is_extrapolating=True,
        is_measured=False,
        in_run=None,
    )
