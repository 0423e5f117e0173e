"""A summary of a trace in base units: devices, classes of kernels, kernels and steps.

The records are the objects of JSON ``perfc-trace/1``, and rows of the tables of `output`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from perfc.ir import record
from perfc.view.result import Result

from .analyses.breakdown import Breakdown
from .analyses.collectives import CollectiveTime, collectives_of
from .analyses.prediction import PredictionGap
from .analyses.rates import OperatorView, ProductShape, ProductView, operators_of, products_of
from .notes import notes_of
from .summary import DeviceTime, KernelTime, TraceSummary

WITHHELD = "withheld"
"""Value of ``limit`` if the lower bound is above the measured time: one of the two is wrong."""


@record
class TracedDevice:
    """Times of one device.

    Args:
        device: the tool's number of the device.
        name: as the driver prints it; empty if not recorded.
        target: name of its target; empty if none is known.
        launches: kernels and copies.
        kernel_s: time of all kernels, overlaps counted several times.
        span_s: from the first begin to the last end; null without a time line.
        busy_s: part of the span in which a kernel ran; null without a time line.
        late_s: idle before the host began the next launch; null without a time line.
        pending_s: idle after the host began that launch; null without a time line.
        unknown_s: idle with an unknown launch; null without a time line.
        exposed_s: only communication ran; null without a time line.
    """

    device: str
    name: str
    target: str
    launches: int
    kernel_s: float
    span_s: float | None
    busy_s: float | None
    late_s: float | None
    pending_s: float | None
    unknown_s: float | None
    exposed_s: float | None

    @classmethod
    def of(cls, d: DeviceTime) -> TracedDevice:
        """Build the view of a device."""
        times = (d.span_ns, d.busy_ns, d.late_ns, d.pending_ns, d.unknown_ns, d.exposed_ns)
        # a profile without a time line has no span and no idle times
        line = [t * 1e-9 if d.span_ns else None for t in times]
        return cls(d.key, d.facts.name, d.target, d.launches, d.kernel_ns * 1e-9, *line)


@record
class ClassView:
    """Time of one class of kernels; ``share`` is that of the time of all kernels."""

    class_name: str
    launches: int
    time_s: float
    share: float


@record
class TracedKernel:
    """A kernel with the operator that launched it.

    Args:
        kernel: name.
        class_name: class.
        operator: operator; empty if not recorded.
        shapes: extents of its tensors; empty if not recorded.
        launches: count.
        time_s: time of all launches.
        share: of the time of all kernels.
        operator_s: time of all kernels of that operator with those shapes.
        executions: executions of the operator.
        flop: operations of one execution; null for an operator without a formula, and for a
            kernel that is not the longest of its operator.
        bytes: compulsory bytes of one execution; null as ``flop``.
        floor_s: lower bound of all executions on the target; null as ``flop``.
        limit: part of the hardware that sets the bound; empty without a bound. ``withheld`` if the
            bound is above the measured time, so that one of the two must be wrong.
        floor_share: lower bound over the operator's time; null as ``flop``.
        flop_per_s: achieved rate of the operator; null as ``flop``.
        bytes_per_s: compulsory bytes over its time; null as ``flop``.
        product: extents of a matrix product; null for other operators.
    """

    kernel: str
    class_name: str
    operator: str
    shapes: str
    launches: int
    time_s: float
    share: float
    operator_s: float
    executions: int
    flop: float | None
    bytes: float | None
    floor_s: float | None
    limit: str
    floor_share: float | None = None
    flop_per_s: float | None = None
    bytes_per_s: float | None = None
    product: ProductShape | None = None

    @classmethod
    def of(cls, k: KernelTime, total_ns: int) -> TracedKernel:
        """Build the view of a kernel."""
        floor, time_s = k.floor, k.operator_ns * 1e-9
        # fields from `flop` on; the last four have defaults
        bound: tuple[Any, ...] = (None, None, None, WITHHELD if k.is_withheld else "")
        if floor is not None:
            floor_s, each_s = floor.floor_s * k.executions, time_s / k.executions
            rate = None if floor.flop is None else floor.flop / each_s
            bound = (
                floor.flop,
                floor.nbytes,
                floor_s,
                floor.limit,
                floor_s / time_s,
                rate,
                floor.nbytes / each_s,
                ProductShape.of(floor),
            )
        return cls(
            k.kernel,
            k.class_name.value,
            k.operator,
            k.shapes,
            k.launches,
            k.time_ns * 1e-9,
            k.time_ns / total_ns,
            time_s,
            k.executions,
            *bound,
        )


@record
class TracedStep:
    """Number of one step, its launches, and the time of their kernels."""

    number: int
    launches: int
    kernel_s: float


@record
class TracedRun(Result):
    """A trace without its model.

    Args:
        path: path of the trace.
        source: tool that wrote it.
        runs: runs over which its times are averaged; 1 for a time line.
        target: target of the lower bounds; empty without one.
        kernel_s: time of all kernels.
        devices: devices that executed something.
        classes: classes of kernels, the longest first.
        kernels: kernels by operator and shapes, the longest first.
        operators: operators by name with their rates, the longest first.
        products: matrix products by shape, the longest first.
        withheld: operators whose lower bound is above their time.
        notes: sentences on what the trace lacks.
        steps: steps of the file.
        step: number of the step that this is; null for all launches.
        earlier_launches: launches from before the trace began, which are not in any step.
        earlier_s: time of these launches.
        collectives: by kind, message and group, the longest first.
        breakdown: time by what the host did; null unless it is selected.
        prediction: the trace against the prediction of a model; null without one.
    """

    layout: ClassVar[str] = "perfc.measuring.trace.output:LAYOUT"
    path: str
    source: str
    runs: int
    target: str
    kernel_s: float
    devices: tuple[TracedDevice, ...]
    classes: tuple[ClassView, ...]
    kernels: tuple[TracedKernel, ...]
    operators: tuple[OperatorView, ...] = ()
    products: tuple[ProductView, ...] = ()
    withheld: int = 0
    notes: tuple[str, ...] = ()
    steps: tuple[TracedStep, ...] = ()
    step: int | None = None
    earlier_launches: int = 0
    earlier_s: float = 0.0
    collectives: tuple[CollectiveTime, ...] = ()
    breakdown: Breakdown | None = None
    prediction: PredictionGap | None = None

    @classmethod
    def of(cls, path: str, summary: TraceSummary) -> TracedRun:
        """Build the view of a trace."""
        total = summary.kernel_ns
        classes = tuple(
            ClassView(c.name.value, c.launches, c.time_ns * 1e-9, c.time_ns / total)
            for c in summary.classes
        )
        # in the order of the fields
        return cls(
            path,
            summary.trace.source.value,
            summary.trace.runs,
            summary.target.name if summary.target else "",
            total * 1e-9,
            tuple(map(TracedDevice.of, summary.devices)),
            classes,
            tuple(TracedKernel.of(k, total) for k in summary.kernels),
            operators_of(summary.kernels, total),
            products_of(summary.kernels, total),
            len(summary.withheld),
            notes_of(summary.trace),
            tuple(
                TracedStep(s.number, s.launches, s.kernel_ns * 1e-9) for s in summary.trace.steps
            ),
            summary.trace.step,
            summary.trace.earlier[0],
            summary.trace.earlier[1] * 1e-9,
            collectives_of(summary.trace, summary.target),
        )
