"""View of a run's device memory: parts, allocator, timeline and the node at the peak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.ir.record import project

from ..formats.document import Bars, Column, Fact, Facts, Part, in_bytes, tabulate
from ..units import Unit, plural, size_text
from .footprint import Footprint
from .recompute import CurvePoint, curve_of, curve_parts

if TYPE_CHECKING:
    from perfc.api import Report

CONTEXT, ALLOCATOR = "context", "allocator"
"""Parts that hold no tensor of the model."""
WORDS = {
    "parameters": "stored tensors of the model",
    "optimizer": "optimizer state, kept from step to step",
    "gradients": "parameter gradients, kept until the next step",
    "saved": "forward results saved for the backward pass",
    "cache": "keys and values of earlier tokens",
    "inputs": "inputs of the model",
    "activations": "intermediate results",
    "workspace": "workspace of matrix products",
    "copies": "copies of weights made while loading, whose place the heap keeps",
    ALLOCATOR: "allocator overhead: rounding and fragmentation",
    CONTEXT: "driver and libraries, assumed",
}


@record
class MemoryPart:
    """One part of the device memory.

    Args:
        name: name of the part.
        nbytes: size at the peak.
    """

    name: str
    nbytes: int


@record
class PhaseMemory:
    """Memory of one phase of a run.

    Args:
        phase: forward, loss, recompute, backward or optimizer.
        kernels: number of kernels.
        peak_bytes: peak of live bytes during the phase.
    """

    phase: str
    kernels: int
    peak_bytes: int


@record
class DeviceMemory:
    """Device memory of a run, kernel by kernel, under the allocator of the runtime.

    Only optimizers write in place here. The peak of activations in the report is lower: it assumes
    that storage is reused as soon as its last reader has run.

    Args:
        parts: parts at the peak, including allocator overhead and context; they add up to
            ``total_bytes`` if the allocator holds most at the peak.
        live_bytes: live bytes at the peak.
        reserved_bytes: peak of bytes reserved by the allocator.
        total_bytes: reserved bytes plus the context.
        capacity_bytes: memory reported by the driver, minus ``--reserve``; null if the target does
            not declare it.
        margin_bytes: safety margin of the capacity.
        fits: True if the run fits; null if unknown.
        allocator: allocator of the runtime.
        peak_node: node that runs at the peak.
        peak_phase: phase of the training step at the peak.
        phases: phases in order.
        line_bytes: live bytes while each kernel runs.
        is_bound: True if more may be needed.
        checkpoints: cost of saving fewer activations, with ``--checkpointing optimal``.
    """

    parts: tuple[MemoryPart, ...]
    live_bytes: int
    reserved_bytes: int
    total_bytes: int
    capacity_bytes: int | None
    margin_bytes: int
    fits: bool | None
    allocator: str
    peak_node: str
    peak_phase: str
    phases: tuple[PhaseMemory, ...]
    line_bytes: tuple[int, ...]
    is_bound: bool
    checkpoints: tuple[CurvePoint, ...] = ()

    @classmethod
    def of(cls, report: Report) -> DeviceMemory:
        """Create the view of a report."""
        return replace(cls.shown(report.footprint), checkpoints=curve_of(report))

    @classmethod
    def shown(cls, footprint: Footprint) -> DeviceMemory:
        """Create the view of a footprint."""
        named = [(role.value, n) for role, n in footprint.parts.items()]
        named += [(ALLOCATOR, footprint.allocator_bytes), (CONTEXT, footprint.context_bytes)]
        parts = tuple(MemoryPart(name, n) for name, n in named if n > 0)
        phases, live = tuple(_phases(footprint)), footprint.live
        return project(cls, footprint, parts=parts, phases=phases, line_bytes=live, checkpoints=())


def _phases(footprint: Footprint) -> Iterator[PhaseMemory]:
    lines: dict[str, list[int]] = {}
    for phase, nbytes in zip(footprint.phases, footprint.live, strict=True):
        lines.setdefault(phase.value, []).append(nbytes)
    for name, line in lines.items():
        yield PhaseMemory(name, len(line), max(line))


def parts_of(view: DeviceMemory) -> Iterator[Part]:
    """Yield the parts of the view in a document."""
    if not view.line_bytes:
        return
    total = size_text(view.total_bytes)
    capacity = "" if view.capacity_bytes is None else f" of {size_text(view.capacity_bytes)}"
    bound = "at least " if view.is_bound else ""
    reserved = f"{view.allocator} holds {size_text(view.reserved_bytes)}"
    too_much = ", does not fit" if view.fits is False else ""
    yield Facts((Fact("device", None, f"{bound}{total}{capacity}{too_much}; {reserved}"),))
    total_bytes = max(view.total_bytes, 1)
    columns = (
        Column("part", cell=lambda p: p.name),
        Column("nbytes", "at the peak", cell=lambda p: in_bytes(p.nbytes)),
        Column("share", unit=Unit.SHARE, cell=lambda p: p.nbytes / total_bytes),
        Column("words", "contents", is_name=True, cell=lambda p: WORDS[p.name]),
    )
    ordered = sorted(view.parts, key=lambda p: -p.nbytes)
    yield tabulate(columns, ordered)
    spans = ", ".join(
        f"{p.phase} {size_text(p.peak_bytes)} in {plural(p.kernels, 'kernel')}" for p in view.phases
    )
    peak = size_text(view.live_bytes)
    caption = f"peak {peak} at {view.peak_node}, {view.peak_phase}; {spans}"
    yield Bars(tuple(map(float, view.line_bytes)), Unit.BYTE, caption)
    yield from curve_parts(view.checkpoints)
