"""Scaling curve of a model: step time and its overheads on more and more devices.

`scale` computes a step with `step_cost` at each number of devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from perfc.analyzers.runs.run_law import NO_LAWS, RunLaw
from perfc.errors import ParseError, PerfcError
from perfc.ir import record
from perfc.machine.parallel import Parallel
from perfc.view.result import Result

from .costs.work import TrainingWork
from .step import DividedStepCost, capacity_bytes, cluster_of, covering, step_cost
from .training import Training

MOST_GPUS = 1024
"""Largest number of devices of a curve by default."""
MOST_TOKENS, MOST_SAMPLES = 65536, 256
"""Limits of a micro-batch that is not given, in tokens, and in samples where a sample is one token:
larger micro-batches hardly change utilization."""


@record
class ScalePoint:
    """Point of a scaling curve.

    Args:
        gpus: number of devices.
        cost: cost of a step; None if the model cannot be divided so.
        efficiency: tokens per second and device, relative to the fewest devices that fit.
        why: reason why it cannot be divided so; "" if it can.
    """

    gpus: int
    cost: DividedStepCost | None
    efficiency: float | None = None
    why: str = ""


@record
class ScalingCurve(Result):
    """Scaling curve of a model.

    Args:
        model: trained model.
        target: cluster, or GPU with assumed links.
        gpu: machine of each device.
        is_weak: True for weak scaling, where the samples of a step grow with the devices.
        seq: tokens per sample.
        micro_batch: samples of a micro-batch on each copy.
        is_largest: True if no micro-batch was given, so that it is the largest power of two that
            fits.
        capacity_bytes: memory of one device as its driver reports it, less the reserve.
        points: points by devices, fewest first, also those that do not fit in memory.
    """

    layout: ClassVar[str] = "perfc.distributed.views:SCALE"
    model: str
    target: str
    gpu: str
    is_weak: bool
    seq: int
    micro_batch: int
    is_largest: bool
    capacity_bytes: float
    points: tuple[ScalePoint, ...]


def counts(most: int = MOST_GPUS, least: int = 1) -> tuple[int, ...]:
    """Return ``least`` times the powers of two, up to ``most``.

    >>> counts(8)
    (1, 2, 4, 8)
    """
    result = [least]
    while result[-1] * 2 <= most:
        result.append(result[-1] * 2)
    return tuple(result)


def scale(
    work: TrainingWork,
    parallel: Parallel,
    training: Training,
    *,
    gpus: Sequence[int] = (),
    is_weak: bool = True,
    is_largest: bool = False,
    law: RunLaw | None = None,
    others: Mapping[str, RunLaw] = NO_LAWS,
) -> ScalingCurve:
    """Return the scaling curve of more and more copies, each divided by ``parallel``.

    Args:
        work: model on its machine.
        parallel: degrees of one copy; its ``data`` grows.
        training: step sizes; with weak scaling its samples are those of the fewest devices.
        gpus: devices of each point; by default powers of two up to 1,024.
        is_weak: True for weak scaling.
        is_largest: True if `largest_micro_batch` chose the micro-batch of ``training``.
        law: fitted run overhead.
        others: fits of single frameworks, which the intervals cover.

    Raises:
        ParseError: an invalid number of devices.
        ModelError: the model cannot be divided for any of them.
    """
    numbers = sizes_of(parallel, gpus)
    points: list[ScalePoint] = []
    base_rate: float | None = None
    failed: PerfcError | None = None
    # a number of devices that the model cannot be divided among is a point without cost
    for n in sorted(set(numbers)):
        try:
            cost = _cost_on(work, parallel, training, n, numbers, is_weak=is_weak, law=law)
            cost = covering(cost, work, others)
        except PerfcError as error:
            failed = failed or error
            points.append(ScalePoint(n, cost=None, why=error.message))
            continue
        rate = cost.tokens_per_s / n
        # the rate of the fewest devices that fit, to which efficiencies are relative
        base_rate = base_rate or (rate if cost.fits else None)
        points.append(ScalePoint(n, cost, rate / base_rate if base_rate else None))
    if failed is not None and all(p.cost is None for p in points):
        raise failed
    cluster = cluster_of(work)
    return ScalingCurve(
        work.name,
        target=cluster.name,
        gpu=cluster.machine.name,
        is_weak=is_weak,
        seq=training.seq,
        micro_batch=training.micro_batch,
        is_largest=is_largest,
        capacity_bytes=capacity_bytes(work, cluster.machine),
        points=tuple(points),
    )


def sizes_of(parallel: Parallel, gpus: Sequence[int]) -> tuple[int, ...]:
    """Return the given numbers of devices, else powers of two copies up to 1,024 devices.

    Raises:
        ParseError: an invalid number of devices.
    """
    if any(n < 1 for n in gpus):
        raise ParseError("a number of devices is 1 or more", where="--gpus")
    return tuple(gpus) or counts(MOST_GPUS, parallel.devices // parallel.data)


def micro_batches_of(parallel: Parallel) -> int:
    """Return the micro-batches of a copy if no samples are given: four per pipeline stage.

    The pipeline then idles for less than a quarter of the time that it computes.
    """
    return parallel.micro_batches or (4 * parallel.pipeline if parallel.pipeline > 1 else 1)


def largest_micro_batch(
    work: TrainingWork,
    parallel: Parallel,
    training: Training,
    gpus: Sequence[int],
    *,
    is_weak: bool,
) -> int:
    """Return the largest micro-batch, a power of two, that fits in memory; 1 if none does.

    It is chosen for the fewest devices that hold one sample, up to ``MOST_TOKENS`` tokens or
    ``MOST_SAMPLES`` samples.

    Args:
        work: model on its machine.
        parallel: degrees of one copy.
        training: step sizes; micro-batches divide its samples, unless there are 0.
        gpus: devices of each point; as in `scale`.
        is_weak: True if those samples are of the fewest devices, else of every number of them.
    """
    copy_gpus = parallel.devices // parallel.data
    # the point whose copies have the fewest samples: with strong scaling it has the most devices
    end = min if is_weak else max
    copies = max(end(sizes_of(parallel, gpus)) // copy_gpus, 1)
    # samples of one token are images or the like
    most = MOST_SAMPLES if training.seq == 1 else max(MOST_TOKENS // training.seq, 1)

    def fits(n: int, samples: int) -> bool:
        divided = replace(parallel, data=max(n // copy_gpus, 1))
        batch = samples * divided.data * micro_batches_of(parallel)
        setting = replace(training, micro_batch=samples, batch=batch)
        try:
            return step_cost(work, divided, setting).fits
        except PerfcError:
            return False

    place = next((n for n in sorted(sizes_of(parallel, gpus)) if fits(n, 1)), None)
    if place is None:
        return 1
    largest = 1
    while largest * 2 <= most and fits(place, largest * 2):
        # micro-batches must divide the samples of a step
        if training.batch % (copies * largest * 2):
            break
        largest *= 2
    return largest


def _cost_on(
    work: TrainingWork,
    parallel: Parallel,
    training: Training,
    gpus: int,
    wanted: Sequence[int],
    *,
    is_weak: bool,
    law: RunLaw | None,
) -> DividedStepCost:
    """Return the cost of a step on ``gpus`` devices, with the data-parallel degree adapted.

    Weak scaling also multiplies the global batch by ``gpus / min(wanted)``.
    """
    copy_gpus = parallel.devices // parallel.data
    if gpus % copy_gpus:
        raise ParseError(f"{gpus} devices are not a multiple of {copy_gpus}", where="--gpus")
    # the point of the fewest devices has the given samples
    batch = training.batch * gpus // min(wanted) if is_weak else training.batch
    divided = replace(parallel, data=gpus // copy_gpus)
    return step_cost(work, divided, replace(training, batch=batch), law=law)
