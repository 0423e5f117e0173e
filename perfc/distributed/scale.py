"""A model on more and more devices: what a step takes, and what keeps it from taking less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from perfc.errors import ParseError, PerfcError
from perfc.ir.record import record
from perfc.parallel import Parallel

from .law import RunLaw
from .step import StepCost, cluster_of, step_cost
from .training import Training
from .work import Work

MOST_GPUS = 1024


@record
class ScalePoint:
    """A number of devices.

    Args:
        gpus: devices.
        cost: of a step; None where it cannot be divided so.
        efficiency: tokens a second of each device, over those of the fewest devices.
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
        points: by devices, fewest first.
    """

    document: ClassVar[str] = "perfc-scale/1"
    model: str
    target: str
    gpu: str
    is_weak: bool
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
    is_weak: bool = True, law: RunLaw | None = None,
) -> ScaleView:  # fmt: skip
    """More copies of the model, divided as ``parallel`` says.

    Args:
        work: the model on its machine.
        parallel: of one copy; its ``data`` is what grows.
        training: of a step; with weak scaling its samples are those of the fewest devices.
        gpus: devices of each point; powers of two up to 1,024 by default.
        is_weak: whether samples of a step grow with the devices.
        law: what runs take beside kernels and links.

    Raises:
        ParseError: no number of devices.
        ModelError: nothing divides so.
    """
    each = parallel.devices // parallel.data
    wanted = tuple(gpus) or counts(MOST_GPUS, each)
    if any(n < 1 for n in wanted):
        raise ParseError("a number of devices is 1 or more", where="--gpus")
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
        first = first or rate
        points.append(ScalePoint(n, cost, rate / first))
    if failed is not None and first is None:
        raise failed
    cluster = cluster_of(work)
    return ScaleView(work.name, cluster.name, cluster.machine.name, is_weak, tuple(points))


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
