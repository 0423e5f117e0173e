"""Headline of a report: time, confidence, limits, memory and energy."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.interval import Interval
from perfc.deployment.device import runtimes_for
from perfc.ir import DType, Value, evaluate, record
from perfc.passes.memory.storage import BufferRole

from ..amounts import open_symbols
from ..names import machine_title, runtime_title
from ..units import Unit, quantity, share, time_text
from .confidence import Confidence, confidence
from .limits import LimitShare, limits
from .phases import Step, step_of
from .plain_export import optimizer_of

if TYPE_CHECKING:
    from perfc.api import Report

COLOR_CHANNELS = (1, 3, 4)
"""Channels of image inputs: gray, RGB, RGBA."""
TOKENS = re.compile(r"(^|[._])(input_?ids|tokens?|token_ids|ids)([._]?\d+)?$")
"""Names of inputs with one token per element."""
END_SHARE = 0.95
"""Probability of times up to the upper end of a 90 % interval."""
CACHED = re.compile(r"(^|[._])(past|cache|caches)([._]|$)")
"""Names of cache inputs, some of which have as many axes as images."""


class Item(Enum):
    """Items that throughput counts."""

    IMAGE = "images"
    TOKEN = "tokens"
    RUN = "runs"


@record
class Throughput:
    """Throughput of a run.

    Args:
        item: counted item.
        per_run: items per run.
        per_s: items per second at the predicted time.
    """

    item: Item
    per_run: int
    per_s: float


@record
class MemoryNeed:
    """Device memory of one run and the capacity of the machine.

    Args:
        weight_bytes: stored tensors.
        activation_bytes: what the allocator reserves beyond the weights.
        capacity_bytes: memory reported by the driver, minus ``--reserve``; None if the target does
            not declare it.
        is_bound: True if more may be needed, because something is unknown.
        held_bytes: margin that stays free.
        context_bytes: memory of the driver and the libraries.
    """

    weight_bytes: int
    activation_bytes: int
    capacity_bytes: int | None
    is_bound: bool
    held_bytes: int = 0
    context_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Return the weights, activations and context."""
        return self.weight_bytes + self.activation_bytes + self.context_bytes

    @property
    def fits(self) -> bool | None:
        """Return True if the machine has this much memory; None if its memory is unknown."""
        if self.capacity_bytes is None:
            return None
        return self.total_bytes + self.held_bytes <= self.capacity_bytes


@record
class Verdict:
    """Headline of one report. Times are of one run, in seconds.

    Args:
        model: file name, or the name of the graph of a model in memory.
        target: name of the machine.
        machine: product name of the machine.
        runtime: title of the runtime.
        expected: predicted time with its 90 % prediction interval. Without a prediction all three
            are the time at measured rates.
        is_predicted: True if ``expected`` is a prediction.
        floor_s: lower bound of the time.
        throughput: throughput at the predicted time.
        memory: memory of the run and of the machine.
        energy: energy of the board in one run, in joules; None without a fitted power model.
        confidence: confidence in the predicted time; None without a prediction.
        limits: shares of the predicted time by limit, as `limits` returns them. Empty if
            nothing takes time.
        step: phases of a training step; None for a forward pass.
        is_bound: True if the time is only a lower bound, as the counts of its kernels are.
    """

    model: str
    target: str
    machine: str
    runtime: str
    expected: Interval
    is_predicted: bool
    floor_s: float
    throughput: Throughput
    memory: MemoryNeed
    energy: Interval | None
    confidence: Confidence | None
    limits: tuple[LimitShare, ...]
    step: Step | None = None
    is_bound: bool = False

    @property
    def time_s(self) -> float:
        """Return the predicted time."""
        return self.expected.mid

    def place_of(self, measured_s: float) -> str:
        """Return where a measured time lies in the prediction, and what to do if it is outside."""
        words = f"measured {time_text(measured_s)}"
        if measured_s < self.floor_s:
            hint = "check sizes and precision, and that the device had finished"
            return f"{words} is below the lower bound of {time_text(self.floor_s)}: {hint}"
        below = self.expected.share_below(measured_s)
        times = quantity(measured_s / self.time_s, Unit.RATIO)
        words = f"{words}, {times} the prediction: longer than {share(below)} of such runs"
        if below > END_SHARE:
            return f"{words}; perfc trace TRACE --model MODEL names the causes"
        if below < 1 - END_SHARE:
            return f"{words}; perfc adapt learns from measured runs"
        largest = f", limited most by {self.limits[0].title}" if self.limits else ""
        return f"{words}, as expected{largest}"

    @classmethod
    def of(cls, report: Report, *, predict: bool = True) -> Verdict:
        """Create the headline of ``report``.

        Args:
            report: result of ``perfc.analyze``.
            predict: use the predicted time; otherwise the time at measured rates.
        """
        table = report.prediction if predict else None
        roof = report.roofline
        time = table.total.time if table is not None else Interval.exactly(roof.time_s)
        energy = None
        if table is not None and (total := table.energy) is not None:
            energy = Interval(total.low_j, total.energy_j, total.high_j)
        return cls(
            PurePath(report.path.removesuffix("/config.json")).name or report.source.name,
            report.machine.name,
            machine_title(report.machine),
            runtime_words(report),
            expected=time,
            is_predicted=table is not None,
            floor_s=roof.floor_s,
            throughput=throughput(report, time.mid),
            memory=memory_need(report),
            energy=energy,
            confidence=None if table is None else confidence(report, table),
            limits=limits(roof, table),
            step=step_of(report, table),
            is_bound=report.cost.is_bound,
        )


def runtime_words(report: Report) -> str:
    """Return the title of the runtime.

    The words also say that the runtime stands in for that of the model, and that the model is a
    plain export.
    """
    deployment, title = report.deployment, runtime_title(report.kernels.runtime)
    usual = runtimes_for(report.model) if "runtime" in deployment.usual else ()
    words = f"as under {title}" if usual and deployment.table not in usual else title
    return words if optimizer_of(report) is None else f"{words}, plain export"


def memory_need(report: Report) -> MemoryNeed:
    """Return the memory of a run as in `perfc fit`: what the allocator reserves, and context."""
    need = report.footprint
    weights = sum(need.parts.get(role, 0) for role in (BufferRole.PARAMETER, BufferRole.STATE))
    return MemoryNeed(
        weights,
        need.reserved_bytes - weights,
        need.capacity_bytes,
        need.is_bound,
        held_bytes=need.margin_bytes,
        context_bytes=need.context_bytes,
    )


def throughput(report: Report, time_s: float) -> Throughput:
    """Return the throughput in images or tokens if the inputs tell, otherwise in runs.

    Images are inputs with four axes and 1, 3 or 4 channels that are no caches; tokens are integer
    inputs with one or two axes and a name such as ``input_ids``.
    """
    item, per_run = Item.RUN, 1
    unset = open_symbols(report)
    for value in report.source.graph.inputs:
        counted = None if unset else items(value, report.env)
        if counted is not None:
            item, per_run = counted
            per_run *= report.deployment.accumulate
            break
    return Throughput(item, per_run, per_run / time_s if time_s > 0 else 0.0)


def items(value: Value, env: Mapping[str, int]) -> tuple[Item, int] | None:
    """Return item and count of an input; None if neither shape nor name tells."""
    shape = value.shape
    if shape is None:
        return None
    name = value.name.lower()
    is_pixel = (value.dtype.is_float or value.dtype is DType.U8) and not CACHED.search(name)
    match len(shape):
        # channels are the second axis or the last
        case 4 if is_pixel and (shape[1] in COLOR_CHANNELS or shape[3] in COLOR_CHANNELS):
            counted, item = shape[:1], Item.IMAGE
        case 1 | 2 if not value.dtype.is_float and TOKENS.search(name):
            counted, item = shape, Item.TOKEN
        case _:
            return None
    count = math.prod(int(evaluate(d, env)) for d in counted)
    return (item, count) if count > 0 else None
