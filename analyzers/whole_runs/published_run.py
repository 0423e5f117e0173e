"""Predict training steps by two fits to published steps.

One fit is to steps of convolutional networks, the other to runs of trainers of language models.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfc.deployment.fields import RUN_LAW, STEP_LAW
from perfc.ir import Module, Phase, evaluate

from ..estimate.estimate import CandidateRun
from ..estimate.interval import Interval

if TYPE_CHECKING:
    from perfc.deployment import Deployment

    from ..estimators import Execution
    from ..runs.prediction import PredictionTable
    from ..runs.run_law import RunLaw


def by_published_steps(
    table: PredictionTable, source: Module, execution: Execution, deployment: Deployment
) -> CandidateRun | None:
    """Return the step by the fit to published steps of convolutional networks; None for others.

    Args:
        table: estimates of the kernels.
        source: typed module as read.
        execution: kernels on their machine.
        deployment: deployment of the step.
    """
    if not deployment.train:
        return None
    from ..runs.step_law import law, step_time

    result = step_time(execution, table, deployment, source)
    if result is None:
        return None
    time, is_own = result  # is_own: steps on this machine were published
    fit = law()
    words = (
        f"the {STEP_LAW} predictor, fitted to {fit.steps} published steps of "
        f"{fit.architectures} convolutional networks, data loading included"
    )
    outside = () if is_own else (f"no published training step on {execution.machine.name}",)
    return CandidateRun(execution.bounds.floor_s, time, STEP_LAW, words, is_own, outside)


def by_published_runs(
    table: PredictionTable, execution: Execution, deployment: Deployment
) -> CandidateRun | None:
    """Return the step with the overhead of published runs, as `perfc plan` has it on one device.

    None unless the runtime is that of a trainer of language models.

    Args:
        table: estimates of the kernels.
        execution: kernels on their machine.
        deployment: deployment of the step.
    """
    if not deployment.train or not execution.kernels.runtime.is_trainer:
        return None
    from ..runs.run_law import F32_TYPES, framework_laws, law_on

    machine, dtype = execution.machine, deployment.dtype
    default_law = law_on(machine, dtype)
    others = framework_laws(machine.arch, is_f32=dtype in F32_TYPES)
    time_s = of_law(table, execution, default_law)
    times_by_law = [
        (time_s, default_law),
        *((of_law(table, execution, law), law) for law in others.values()),
    ]
    total = table.timeline
    # each framework has the wider of its error and of the kernels' interval, both relative to the
    # time; the interval of the step reaches over those of all frameworks
    low, high = (end / total.time_s if total.time_s else 1.0 for end in (total.low_s, total.high_s))
    time = Interval(
        min([s * min(law.low, low) for s, law in times_by_law]),
        time_s,
        max([s * max(law.high, high) for s, law in times_by_law]),
    ).at_least(execution.bounds.floor_s)
    words = (
        f"the {RUN_LAW} predictor, fitted to {default_law.rows} published steps of language models"
    )
    is_own = bool(others)  # runs on this architecture were published
    outside = () if is_own else (f"no published training run on {machine.arch or machine.name}",)
    return CandidateRun(execution.bounds.floor_s, time, RUN_LAW, words, is_own, outside)


def of_law(table: PredictionTable, execution: Execution, law: RunLaw) -> float:
    """Return the time of a step by a law of runs, in seconds.

    Each kernel takes its estimate times the factor of what it does; a constant time per micro-batch
    and a time per layer of experts are added.
    """
    from ..runs.run_law import Doing

    level = execution.machine.level("device")
    # a machine without a memory level has no bound by memory
    rate = (level.sustained or level.nominal).value if level is not None else math.inf
    factors, env = law.factors, execution.bounds.env
    time_s, layers = 0.0, 0
    for bound, estimate in zip(execution.bounds.kernels, table.launched, strict=True):
        kernel = bound.kernel
        phase, doing = kernel.anchor.loc.phase, Doing.of(kernel)
        if phase is Phase.OPTIMIZER:  # elementwise over all weights: bound by device memory
            time_s += bound.launches * evaluate(kernel.traffic.nbytes, env) / rate
            continue
        time_s += factors[doing] * estimate.time_s
        # one routing per layer: its experts are counted in the forward pass only
        layers += phase is Phase.FORWARD and doing is Doing.EXPERTS
    return time_s + law.micro_s + law.routing_s * layers
