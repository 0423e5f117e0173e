"""A model on more and more devices: what a step takes, and what keeps it from taking less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from perfc.errors import ParseError, PerfcError
from perfc.frontend.config.parallel import Parallel
from perfc.ir.record import record

from .law import RunLaw
from .step import StepCost, capacity_bytes, cluster_of, step_cost
from .training import Training
from .work import Work

MOST_GPUS = 1024
MOST_TOKENS, MOST_SAMPLES = 65536, 256
"""Of a micro-batch that nobody gives: further ones change the utilisation little."""


@record
class ScalePoint:
    """A number of devices.

    Args:
        gpus: devices.
        cost: of a step; None where it cannot be divided so.
        efficiency: tokens a second of each device, over those of the fewest devices that fit.
        why: it cannot be divided so; "" where it can.
    """

    gpus: int
    cost: StepCost | None
    efficiency: float | None = None
    why: str = ""


@record
class ScaleView:
    """A model on more and more devices.

    Args:
        model: that is trained.
        target: cluster, or GPU whose links are assumed.
        gpu: machine of each device.
        is_weak: whether samples of a step grow with the devices; else they stay.
        seq: tokens of a sample.
        micro_batch: samples that pass at once on each copy.
        is_largest: whether that is the largest power of two that fits, as nobody gives one.
        capacity_bytes: that the driver of one device reports, less what is held back.
        points: by devices, fewest first; also those whose memory does not hold the model.
    """

    document: ClassVar[str] = "perfc-scale/1"
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
    """Powers of two from ``least`` times one on.

    >>> counts(8)
    (1, 2, 4, 8)
    """
    found = [least]
    while found[-1] * 2 <= most:
        found.append(found[-1] * 2)
    return tuple(found)


def scale(
    work: Work, parallel: Parallel, training: Training, *, gpus: Sequence[int] = (),
    is_weak: bool = True, is_largest: bool = False, law: RunLaw | None = None,
) -> ScaleView:  # fmt: skip
    """More copies of the model, divided as ``parallel`` says.

    Args:
        work: the model on its machine.
        parallel: of one copy; its ``data`` is what grows.
        training: of a step; with weak scaling its samples are those of the fewest devices.
        gpus: devices of each point; powers of two up to 1,024 by default.
        is_weak: whether samples of a step grow with the devices.
        is_largest: whether the micro-batch of ``training`` was chosen by `largest_micro_batch`.
        law: what runs take beside kernels and links.

    Raises:
        ParseError: no number of devices.
        ModelError: nothing divides so.
    """
    wanted = sizes_of(parallel, gpus)
    points: list[ScalePoint] = []
    first: float | None = None
    failed: PerfcError | None = None
    for n in sorted(set(wanted)):
        try:
            cost = _at(work, parallel, training, n, wanted, is_weak, law)
        except PerfcError as error:
            failed = failed or error
            points.append(ScalePoint(n, None, None, error.message))
            continue
        rate = cost.tokens_per_s / n
        first = first or (rate if cost.fits else None)
        points.append(ScalePoint(n, cost, rate / first if first else None))
    if failed is not None and all(p.cost is None for p in points):
        raise failed
    cluster = cluster_of(work)
    return ScaleView(
        work.name, cluster.name, cluster.machine.name, is_weak, training.seq,
        training.micro_batch, is_largest, capacity_bytes(work, cluster.machine), tuple(points),
    )  # fmt: skip


def sizes_of(parallel: Parallel, gpus: Sequence[int]) -> tuple[int, ...]:
    """Numbers of devices: those given, else powers of two copies up to 1,024 devices.

    Raises:
        ParseError: no number of devices.
    """
    if any(n < 1 for n in gpus):
        raise ParseError("a number of devices is 1 or more", where="--gpus")
    return tuple(gpus) or counts(MOST_GPUS, parallel.devices // parallel.data)


def micro_batches_of(parallel: Parallel) -> int:
    """Micro-batches of a copy where no number of samples is given: four for each stage."""
    return parallel.micro_batches or (4 * parallel.pipeline if parallel.pipeline > 1 else 1)


def largest_micro_batch(
    work: Work, parallel: Parallel, training: Training, gpus: Sequence[int], *, is_weak: bool
) -> int:
    """The largest power of two of samples at once that memory holds; 1 where it holds none.

    It is that of the fewest devices that hold one sample, up to ``MOST_TOKENS`` tokens or
    ``MOST_SAMPLES`` samples.

    Args:
        work: the model on its machine.
        parallel: of one copy.
        training: of a step; its samples are those that micro-batches divide.
        gpus: devices of each point; as in `scale`.
        is_weak: whether those samples are of the fewest devices; else of all numbers of them.
    """
    each = parallel.devices // parallel.data
    end = min if is_weak else max
    copies = max(end(sizes_of(parallel, gpus)) // each, 1)
    most = MOST_SAMPLES if training.seq == 1 else max(MOST_TOKENS // training.seq, 1)

    def fits(n: int, samples: int) -> bool:
        divided = replace(parallel, data=max(n // each, 1))
        batch = samples * divided.data * micro_batches_of(parallel)
        setting = replace(training, micro_batch=samples, batch=batch)
        try:
            return step_cost(work, divided, setting).fits
        except PerfcError:
            return False

    place = next((n for n in sorted(sizes_of(parallel, gpus)) if fits(n, 1)), None)
    if place is None:
        return 1
    found = 1
    while found * 2 <= most and fits(place, found * 2):
        if training.batch % (copies * found * 2):
            break
        found *= 2
    return found


def _at(
    work: Work, parallel: Parallel, training: Training, gpus: int, wanted: Sequence[int],
    is_weak: bool, law: RunLaw | None,
) -> StepCost:  # fmt: skip
    """A step on so many devices."""
    each = parallel.devices // parallel.data
    if gpus % each:
        raise ParseError(f"{gpus} devices are no copies of {each}", where="--gpus")
    copies = gpus // each
    batch = training.batch
    if is_weak:
        batch = batch * gpus // min(wanted)
    return step_cost(work, replace(parallel, data=copies), replace(training, batch=batch), law=law)
