"""The answer in one value: how long, how sure, what limits it, what it needs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.interval import Interval
from perfc.ir.dim import Dim
from perfc.ir.evaluate import evaluate
from perfc.ir.record import record
from perfc.ir.types import DType, TensorType
from perfc.passes.storage import Role

from .amounts import open_symbols
from .confidence import Confidence, confidence
from .footprint import footprint, workspace_bytes
from .limits import LimitShare, limits
from .names import machine_title, runtime_title
from .phases import Step, step_of

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.ir.graph import Value

COLOUR_CHANNELS = (1, 3, 4)
"""Channels of inputs that are images: grey, RGB, RGBA."""
TOKENS = re.compile(r"(^|[._])(input_?ids|tokens?|token_ids|ids)([._]?\d+)?$")
"""Names of inputs that hold one token an element."""
CACHED = re.compile(r"(^|[._])(past|cache|caches)([._]|$)")
"""Names of inputs that earlier tokens left, of which some have as many axes as images."""


class Item(Enum):
    """What a run works through, as throughput counts it."""

    IMAGE = "images"
    TOKEN = "tokens"
    RUN = "runs"


@record
class Throughput:
    """How much gets done in a second.

    Args:
        item: what is counted.
        per_run: how many one run works through.
        per_s: how many a second, at the expected time.
    """

    item: Item
    per_run: int
    per_s: float


@record
class MemoryNeed:
    """Device memory of one run against what the machine has.

    Args:
        weight_bytes: stored tensors.
        activation_bytes: most that live at once, weights not counted.
        capacity_bytes: that the driver reports, less what is held back with ``--reserve``; None
            where the target does not say.
        is_bound: whether more may be needed, because something is not known.
        held_bytes: of the capacity, for the context, the workspace of products and the margin.
        context_bytes: of the driver and the libraries, where they are counted: of a training step,
            whose activations are those that its allocator holds.
    """

    weight_bytes: int
    activation_bytes: int
    capacity_bytes: int | None
    is_bound: bool
    held_bytes: int = 0
    context_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All that is counted."""
        return self.weight_bytes + self.activation_bytes + self.context_bytes

    @property
    def fits(self) -> bool | None:
        """Whether the machine has that much to give; None where its memory is not known."""
        if self.capacity_bytes is None:
            return None
        return self.total_bytes + self.held_bytes <= self.capacity_bytes


@record
class Verdict:
    """The headline of one report. Times are of one run, in seconds.

    Args:
        model: the file's name; the graph's where the model was given in memory.
        target: name of the machine.
        machine: its product name.
        runtime: whose kernels run, in words.
        expected: the time and the ends that hold nine in ten such runs. Without a prediction all
            three are the time at measured rates.
        is_predicted: whether it is a prediction.
        floor_s: no run on the machine is faster.
        throughput: at the expected time.
        memory: against the machine's.
        energy: joules of the board in one run; None where nobody fitted the power of such a
            machine.
        confidence: how far the expected time is to be trusted; None without a prediction.
        limits: what the expected time goes to, the most first; shares add up to 1. Empty where
            nothing takes time.
        step: the parts of a training step; None of a forward pass.
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

    @property
    def time_s(self) -> float:
        """The expected time."""
        return self.expected.mid

    @classmethod
    def of(cls, report: Report, *, predict: bool = True) -> Verdict:
        """The headline of ``report``.

        Args:
            report: what ``perfc.analyze`` returned.
            predict: the predicted time; else the time at measured rates.
        """
        table = report.prediction if predict else None
        roof = report.roofline
        time = table.total.time if table is not None else Interval.exactly(roof.time_s)
        energy = None if table is None or table.energy is None else table.energy
        return cls(
            PurePath(report.path).name or report.source.name,
            report.machine.name,
            machine_title(report.machine),
            runtime_title(report.kernels.runtime),
            time,
            table is not None,
            roof.floor_s,
            throughput(report, time.mid),
            memory_need(report),
            None if energy is None else Interval(energy.low_j, energy.energy_j, energy.high_j),
            None if table is None else confidence(report, table),
            limits(roof, table),
            step_of(report, table),
        )


def memory_need(report: Report) -> MemoryNeed:
    """Weights and the peak of activations; of a training step all that its device holds."""
    if report.deployment.train:
        return need_of_step(report)
    table, env, capacity = report.liveness, report.env, report.deployment.capacity(report.machine)
    need = int(evaluate(report.weight_bytes, env)), int(table.peak(env)[0])
    if capacity is None:
        return MemoryNeed(*need, None, table.is_bound)
    workspace = workspace_bytes(report, report.kernels.runtime.framework)
    held = capacity.context_bytes + capacity.margin_bytes + workspace
    return MemoryNeed(*need, capacity.usable_bytes, table.is_bound, held)


def need_of_step(report: Report) -> MemoryNeed:
    """What a training step holds, as `perfc fit` says: its allocator and contexts included."""
    found = footprint(report)
    weights = sum(found.parts.get(role, 0) for role in (Role.PARAMETER, Role.STATE))
    return MemoryNeed(
        weights, found.reserved_bytes - weights, found.capacity_bytes, found.is_bound,
        found.margin_bytes, found.context_bytes,
    )  # fmt: skip


def throughput(report: Report, time_s: float) -> Throughput:
    """What a run works through: images or tokens where the inputs say so, else runs.

    An input is images where it has four axes and 1, 3 or 4 channels and caches nothing, tokens
    where it has one axis or two, integers, and a name such as ``input_ids``.
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
    """What an input holds and how many; None where neither shape nor name says."""
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.shape is None:
        return None
    shape: tuple[Dim, ...] = type_.shape
    name = value.name.lower()
    is_pixel = (type_.dtype.is_float or type_.dtype is DType.U8) and not CACHED.search(name)
    match len(shape):
        case 4 if is_pixel and (shape[1] in COLOUR_CHANNELS or shape[3] in COLOUR_CHANNELS):
            counted, item = shape[:1], Item.IMAGE
        case 1 | 2 if not type_.dtype.is_float and TOKENS.search(name):
            counted, item = shape, Item.TOKEN
        case _:
            return None
    count = math.prod(int(evaluate(d, env)) for d in counted)
    return (item, count) if count > 0 else None
