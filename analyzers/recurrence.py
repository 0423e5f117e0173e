"""Steps of a recurrent layer wait for one another, however little each has to do.

A roofline counts what all steps do together, and so do factors learned from layers that have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.ir.evaluate import evaluate
from perfc.ir.op import Kind

from .spread import Spread

if TYPE_CHECKING:
    from perfc.passes.fuse import Kernel
    from perfc.passes.roofline import KernelBound

    from .prediction import KernelPrediction

STEP_S = Spread(1e-6, 5e-6, 30e-6)
"""Seconds from one step to the next: a product that needs the state before it, and a barrier.

Assumed: from a barrier among multiprocessors that keep their weights (cuDNN's persistent
kernels) to several launches a step. No public row of a recurrent layer was learned from.
"""


def chained_s(kernel: Kernel, env: Mapping[str, int]) -> Spread | None:
    """What the steps of a recurrent kernel take one after another; None for other kernels.

    Directions run side by side. Left out: what a step computes, which the roofline has.
    """
    steps = 0.0
    for node in kernel.nodes:
        if node.op.kind is Kind.RECURRENT:
            ins, outs = node.inputs, tuple([v.type for v in node.results])
            steps += float(evaluate(node.op.extents(ins, outs).get("t", 0), env))
    if not steps:
        return None
    return Spread(steps * STEP_S.low, steps * STEP_S.mid, steps * STEP_S.high)


def chained(
    found: KernelPrediction, bound: KernelBound, env: Mapping[str, int]
) -> KernelPrediction:
    """The prediction of a kernel, with the steps of a recurrent one; nobody measured how fast."""
    steps = chained_s(bound.kernel, env)
    if steps is None:
        return found
    n = bound.launches
    return replace(
        found,
        time_s=found.time_s + n * steps.mid,
        low_s=found.low_s + n * steps.low,
        high_s=found.high_s + n * steps.high,
        is_extrapolating=True,
        is_measured=False,
        in_run=None,
    )
