"""Which way of dividing a model, and of computing again, trains it fastest on so many devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import ClassVar

from perfc.errors import ModelError, ParseError, PerfcError
from perfc.ir.record import record
from perfc.parallel import ALONE, Parallel
from perfc.passes.training.implementation import Policy

from .law import RunLaw
from .schedules import schedule_named, schedules
from .step import StepCost, cluster_of, step_cost
from .training import CHECKPOINTINGS, Training
from .work import Work

MICRO_BATCHES = (1, 2, 4, 8)
VIRTUAL = (2, 4)
MOST_TENSOR = 8
MOST_CONTEXT = 16
LONG = 16384
"""Tokens of a sample from which on ranks may share them."""
MOST_SETTINGS = 20_000
SHOWN = 12


@record
class PlanView:
    """A search.

    Args:
        model: that is trained.
        target: cluster, or GPU whose links are assumed.
        gpu: machine of each device.
        gpus: devices.
        batch: samples of a step.
        seq: tokens of each.
        capacity_bytes: of one device.
        settings: that were looked at.
        misfits: those whose memory does not hold them.
        best: fastest that fits; None where none does.
        pareto: settings that no other beats in time and in memory, the fastest first.
        smallest: setting that needs the least memory, where none fits.
    """

    document: ClassVar[str] = "perfc-plan/1"
    model: str
    target: str
    gpu: str
    gpus: int
    batch: int
    seq: int
    capacity_bytes: float
    settings: int
    misfits: int
    best: StepCost | None
    pareto: tuple[StepCost, ...]
    smallest: StepCost | None


def plan(
    work: Work, gpus: int, training: Training, *, fixed: Parallel = ALONE,
    checkpointings: Sequence[Policy] = CHECKPOINTINGS,
    micro_batches: Sequence[int] = MICRO_BATCHES, law: RunLaw | None = None,
) -> PlanView:  # fmt: skip
    """Look at every setting.

    Args:
        work: the model on its machine.
        gpus: devices.
        training: of a step; its micro-batch and checkpointing are chosen.
        fixed: degrees that are not 1 stay as they are.
        checkpointings: to choose from.
        micro_batches: samples that pass at once, to choose from.
        law: what runs take beside kernels and links.

    Raises:
        ParseError: no number of devices, or no such schedule.
        ModelError: nothing divides so; says what the first setting met.
    """
    if not 1 <= gpus <= 1 << 16:
        raise ParseError(f"{gpus} devices", where="--gpus", hint="1 to 65536")
    schedule_named(fixed.schedule)
    found: list[StepCost] = []
    failed: PerfcError | None = None
    settings = product(divisions(work, gpus, training.seq, fixed), micro_batches, checkpointings)
    for parallel, samples, again in islice(settings, MOST_SETTINGS):
        setting = replace(training, micro_batch=samples, checkpointing=again)
        try:
            found.append(step_cost(work, parallel, setting, law=law))
        except PerfcError as error:
            failed = failed or error
    if not found:
        raise failed or ModelError("nothing divides so", where=work.name)
    held = [c for c in found if c.fits]
    front = pareto(held)
    cluster = cluster_of(work)
    level = cluster.machine.level("device")
    return PlanView(
        work.name, cluster.name, cluster.machine.name, gpus, training.batch, training.seq,
        float(level.capacity_bytes) if level is not None else 0.0, len(found),
        len(found) - len(held), front[0] if front else None, front,
        None if held else min(found, key=lambda c: c.memory.total),
    )  # fmt: skip


def pareto(found: Sequence[StepCost]) -> tuple[StepCost, ...]:
    """Settings that no other beats in time and in memory, the fastest first."""
    best: list[StepCost] = []
    least = math.inf
    for cost in sorted(found, key=lambda c: (c.time_s, c.memory.total)):
        if cost.memory.total < least:
            best.append(cost)
            least = cost.memory.total
    return tuple(best)


def divisions(work: Work, gpus: int, seq: int, fixed: Parallel) -> Iterator[Parallel]:
    """Every way of dividing a model among devices that is of use."""
    within = cluster_of(work).gpus_per_node
    tensors = _degrees(fixed.tensor, min(MOST_TENSOR, within, gpus) if work.is_divisible else 1)
    contexts = _degrees(fixed.context, MOST_CONTEXT if seq >= LONG and work.is_divisible else 1)
    pipelines = _degrees(fixed.pipeline, min(work.depth, gpus) if work.is_divisible else 1)
    for tensor, context, pipeline in product(tensors, contexts, pipelines):
        each = tensor * context * pipeline
        if gpus % each:
            continue
        data = gpus // each
        experts = {1}
        if work.has_experts:
            ranks = tensor * context * data
            experts = {e for e in _degrees(fixed.expert, ranks) if e == 1 or e % tensor == 0}
        zeros = (fixed.zero,) if fixed.zero else (0, 1, 2, 3) if data * context > 1 else (0,)
        orders = list(_orders(work, pipeline, fixed))
        for expert, zero, (schedule, virtual) in product(sorted(experts), zeros, orders):
            if pipeline > 1 and zero > 1:
                continue  # every micro-batch would exchange all gradients or parameters
            yield Parallel(
                tensor, pipeline, expert, data=data, context=context,
                sequence=int(tensor > 1), zero=zero, schedule=schedule, virtual_stages=virtual,
            )  # fmt: skip


def _degrees(fixed: int, most: int) -> tuple[int, ...]:
    """Powers of two up to the most, or the one that is said."""
    if fixed > 1:
        return (fixed,)
    return tuple([1 << i for i in range(max(most, 1).bit_length()) if 1 << i <= most])


def _orders(work: Work, pipeline: int, fixed: Parallel) -> Iterator[tuple[str, int]]:
    """Schedules of a pipeline with the parts of a stage."""
    if pipeline == 1:
        yield ALONE.schedule, 1
        return
    for name, schedule in schedules().items():
        if name == "gpipe" or (fixed.schedule != ALONE.schedule and name != fixed.schedule):
            continue
        if not schedule.is_interleaved:
            yield name, 1
            continue
        several = (fixed.virtual_stages,) if fixed.virtual_stages > 1 else VIRTUAL
        yield from ((name, v) for v in several if v * pipeline <= work.depth)
