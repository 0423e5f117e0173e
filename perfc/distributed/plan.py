"""Search for the parallelism and checkpointing with the fastest training step.

`plan` computes each permitted setting with `step_cost`, and returns those that fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, ClassVar

from perfc.analyzers.runs.run_law import NO_LAWS, RunLaw
from perfc.errors import ModelError, ParseError, PerfcError
from perfc.ir import record
from perfc.machine.parallel import ALONE, KEYS, Parallel
from perfc.passes.training.implementation import RecomputePolicy
from perfc.view.result import Result

from .costs.work import TrainingWork
from .scale import counts
from .schedules import schedule_named, schedules
from .step import DividedStepCost, capacity_bytes, cluster_of, covering, step_cost
from .training import CHECKPOINTINGS, Training

if TYPE_CHECKING:
    from perfc.study.tasks import Each

MICRO_BATCHES = (1, 2, 4, 8)
"""Micro-batch sizes that a search tries; users may give another one."""
VIRTUAL = (2, 4)
"""Numbers of virtual stages that are tried where a schedule has them."""
MOST_TENSOR = 8
"""Maximum degree of tensor parallelism: its exchanges in every layer stay within a node of 8."""
MOST_CONTEXT = 16
"""Maximum degree of context parallelism of a sample of at least `LONG` tokens."""
LONG = 16384
"""Sample length in tokens from which context parallelism is considered."""
MOST_SETTINGS = 20_000
"""Maximum settings of a search, which bounds its time for models with many divisors."""
SHOWN = 12
"""Maximum rows of the Pareto front that are printed."""


Degrees = Mapping[str, int | str]
"""Given fields of a `Parallel` by name."""


@record
class TrainingPlan(Result):
    """Result of a search.

    Args:
        model: trained model.
        target: cluster, or GPU with assumed links.
        gpu: machine of each device.
        gpus: number of devices.
        batch: samples per step.
        seq: tokens per sample.
        capacity_bytes: memory of one device as its driver reports it, less the reserve.
        settings: number of settings considered.
        misfits: number of those that do not fit in memory.
        best: fastest setting that fits; None if none does.
        pareto: settings that no other beats in both time and memory, fastest first.
        smallest: setting that needs the least memory, if none fits.
    """

    layout: ClassVar[str] = "perfc.distributed.views:PLAN"
    model: str
    target: str
    gpu: str
    gpus: int
    batch: int
    seq: int
    capacity_bytes: float
    settings: int
    misfits: int
    best: DividedStepCost | None
    pareto: tuple[DividedStepCost, ...]
    smallest: DividedStepCost | None


def plan(
    work: TrainingWork,
    gpus: int,
    training: Training,
    *,
    fixed: Degrees,
    checkpointings: Sequence[RecomputePolicy] = CHECKPOINTINGS,
    micro_batches: Sequence[int] = MICRO_BATCHES,
    law: RunLaw | None = None,
    others: Mapping[str, RunLaw] = NO_LAWS,
    each: Each = map,
) -> TrainingPlan:
    """Return the fastest setting and the Pareto front of time and memory.

    Args:
        work: model on its machine.
        gpus: number of devices.
        training: step sizes; micro-batch and checkpointing are searched.
        fixed: fields of a `Parallel` that stay fixed; the others are searched.
        checkpointings: policies to choose from.
        micro_batches: micro-batch sizes to choose from.
        law: fitted run overhead.
        others: fits of single frameworks, which the intervals cover.
        each: applies a function to all settings: `map`, or elsewhere.

    Raises:
        ParseError: an invalid number of devices or schedule.
        ModelError: no setting is possible; the message is that of the first setting, or says that
            the degrees do not multiply to the devices.
    """
    if not 1 <= gpus <= 65536:  # the limit of every degree
        raise ParseError(f"{gpus} devices", where="--gpus", hint="1 to 65536")
    schedule_named(str(fixed.get("schedule", ALONE.schedule)))
    settings = product(divisions(work, gpus, training.seq, fixed), micro_batches, checkpointings)
    answers = list(each(partial(cost_of, work, training, law), islice(settings, MOST_SETTINGS)))
    results = [a for a in answers if isinstance(a, DividedStepCost)]
    if not results:
        # the error of the first setting, or there is none
        raise next(iter(answers), None) or undivided(work, gpus, training.seq, fixed)
    fitting = [c for c in results if c.fits]
    front = tuple(covering(c, work, others) for c in pareto(fitting))
    cluster = cluster_of(work)
    least = None if fitting else min(results, key=lambda c: c.memory.total)
    return TrainingPlan(
        work.name,
        target=cluster.name,
        gpu=cluster.machine.name,
        gpus=gpus,
        batch=training.batch,
        seq=training.seq,
        capacity_bytes=capacity_bytes(work, cluster.machine),
        settings=len(results),
        misfits=len(results) - len(fitting),
        best=front[0] if front else None,
        pareto=front,
        smallest=least and covering(least, work, others),
    )


def cost_of(
    work: TrainingWork,
    training: Training,
    law: RunLaw | None,
    setting: tuple[Parallel, int, RecomputePolicy],
) -> DividedStepCost | PerfcError:
    """Return the cost of a step in a setting, or why it has none."""
    parallel, samples, policy = setting
    step = replace(training, micro_batch=samples, checkpointing=policy)
    try:
        return step_cost(work, parallel, step, law=law)
    except PerfcError as error:
        return error


def pareto(settings: Sequence[DividedStepCost]) -> tuple[DividedStepCost, ...]:
    """Return the settings that no other beats in both time and memory, fastest first."""
    best: list[DividedStepCost] = []
    least = math.inf
    # settings come with the fastest first: a later one is on the front only with less memory
    for cost in sorted(settings, key=lambda c: (c.time_s, c.memory.total)):
        if cost.memory.total < least:
            best.append(cost)
            least = cost.memory.total
    return tuple(best)


def divisions(work: TrainingWork, gpus: int, seq: int, fixed: Degrees) -> Iterator[Parallel]:
    """Yield every useful division of a model among devices.

    Args:
        work: model on its machine.
        gpus: number of devices.
        seq: tokens per sample.
        fixed: fields of a `Parallel` that are given; the others are searched.
    """
    for tensor, context, pipeline in product(*_choices(work, gpus, seq, fixed).values()):
        copy_gpus = tensor * context * pipeline
        data = gpus // copy_gpus
        if gpus % copy_gpus or fixed.get("data", data) != data:
            continue
        experts = {1}
        if work.has_experts:
            ranks = tensor * context * data
            # ranks that share products (tensor parallelism) are in the same group of experts
            experts = {e for e in counts(ranks) if e == 1 or e % tensor == 0}
        # without copies there is nothing to shard
        zeros = (0, 1, 2, 3) if data * context > 1 else (0,)
        settings = product(
            _given(fixed, "expert", sorted(experts)),
            _given(fixed, "zero", zeros),
            _orders(work, pipeline, fixed),
        )
        for expert, zero, (schedule, virtual) in settings:
            if pipeline > 1 and zero > 1 and "pipeline" not in fixed:
                continue  # ZeRO 2 and 3 are pipelined only on request, see `_choices`
            parallel = Parallel(
                tensor,
                pipeline,
                expert,
                data=data,
                context=context,
                # splits an all-reduce into a reduce-scatter and an all-gather, between which ranks
                # divide the activations
                sequence=int(tensor > 1),
                zero=zero,
                schedule=schedule,
                virtual_stages=virtual,
            )
            yield replace(parallel, **fixed)  # type: ignore[arg-type]


def _choices(work: TrainingWork, gpus: int, seq: int, fixed: Degrees) -> dict[str, tuple[int, ...]]:
    """Return the permitted degrees of tensor, context and pipeline parallelism, by field."""
    within = cluster_of(work).gpus_per_node
    # ZeRO 2 and 3 would exchange all gradients or parameters in every micro-batch of a pipeline:
    # they are combined only if both are given
    stages = 1 if int(fixed.get("zero", 0)) > 1 else min(work.depth, gpus)
    largest = {
        "tensor": min(MOST_TENSOR, within, gpus),
        "context": MOST_CONTEXT if seq >= LONG else 1,
        "pipeline": stages,
    }
    return {
        name: _given(fixed, name, counts(n if work.is_divisible else 1))
        for name, n in largest.items()
    }


def undivided(work: TrainingWork, gpus: int, seq: int, fixed: Degrees) -> ModelError:
    """Return the error for a device count that no permitted degrees multiply to.

    It lists the range of every degree under the name of its option.
    """
    names = {field: key for key, field in KEYS.items()}
    choices = _choices(work, gpus, seq, fixed)
    if "data" in fixed:
        choices["data"] = _given(fixed, "data", ())
    # by the option of each: tp 1 to 8
    words = [
        f"{names[field]} {' to '.join(dict.fromkeys((str(each[0]), str(each[-1]))))}"
        for field, each in choices.items()
    ]
    message = f"no product of {', '.join(words)} {'is' if 'data' in fixed else 'divides'} {gpus}"
    hint = "given degrees stay fixed"
    if int(fixed.get("zero", 0)) > 1 and "pipeline" not in fixed:
        hint = f"{hint}, and --zero {fixed['zero']} is pipelined only with --pp"
    return ModelError(message, where="--gpus", hint=hint)


def _given(fixed: Degrees, name: str, every: Sequence[int]) -> tuple[int, ...]:
    """Return the degree that the user set, else all permitted degrees."""
    return (int(fixed[name]),) if name in fixed else tuple(every)


def _orders(work: TrainingWork, pipeline: int, fixed: Degrees) -> Iterator[tuple[str, int]]:
    """Yield the pipeline schedules with the number of virtual stages."""
    if pipeline == 1:
        yield ALONE.schedule, 1
        return
    for name, schedule in schedules().items():
        # gpipe has the bubble of 1f1b and holds the activations of every micro-batch
        if name != fixed.get("schedule", name) or (name == "gpipe" and "schedule" not in fixed):
            continue
        if not schedule.is_interleaved:
            yield name, 1
            continue
        several = _given(fixed, "virtual_stages", VIRTUAL)
        yield from ((name, v) for v in several if v * pipeline <= work.depth)
