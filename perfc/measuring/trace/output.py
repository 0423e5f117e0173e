"""A summary of a trace as a document, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from perfc.ir import record
from perfc.view.report.formats import comma
from perfc.view.report.formats.document import (
    Amount,
    Cell,
    Column,
    Document,
    Fact,
    Facts,
    Name,
    Note,
    Part,
    Section,
    Table,
)
from perfc.view.report.formats.json_form import enveloped, strict
from perfc.view.report.units import LOWER_BOUND, Unit, plural, quantity, share

from .analyses.breakdown import Breakdown, breakdown_csv, breakdown_sections
from .analyses.collectives import CollectiveTime, collective_sections, collectives_of
from .analyses.prediction import PredictionGap
from .analyses.prediction_output import gap_csv, gap_sections
from .analyses.rates import (
    OperatorView,
    ProductShape,
    ProductView,
    operators_of,
    products_of,
    rate_sections,
)
from .classes import HEAD, TracedClass, kernel_name
from .facts import TraceSource
from .notes import notes_of
from .summary import DeviceTime, KernelTime, TraceSummary

SCHEMA = "perfc-trace/1"
PACKED = frozenset(c.value for c in (TracedClass.MATMUL, TracedClass.CONV, TracedClass.ATTENTION))
"""Classes of kernels whose weights a runtime may pack."""
WITHHELD = "withheld"


@record
class DeviceView:
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
    def of(cls, d: DeviceTime) -> DeviceView:
        """Build the view of a device."""
        times = (d.span_ns, d.busy_ns, d.late_ns, d.pending_ns, d.unknown_ns, d.exposed_ns)
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
class TracedKernelView:
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
        limit: part of the hardware that sets the bound; empty without one, ``withheld`` for one
            above the measured time, of which one must be wrong.
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
    def of(cls, k: KernelTime, total_ns: int) -> TracedKernelView:
        """Build the view of a kernel."""
        floor, time_s = k.floor, k.operator_ns * 1e-9
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
    """Launches of one step, and the time of their kernels."""

    number: int
    launches: int
    kernel_s: float


@record
class TraceView:
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
        earlier_s: their time.
        collectives: by kind, message and group, the longest first.
        breakdown: time by what the host did; null unless it is selected.
        prediction: the trace against the prediction of a model; null without one.
    """

    path: str
    source: str
    runs: int
    target: str
    kernel_s: float
    devices: tuple[DeviceView, ...]
    classes: tuple[ClassView, ...]
    kernels: tuple[TracedKernelView, ...]
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
    def of(cls, path: str, summary: TraceSummary) -> TraceView:
        """Build the view of a trace."""
        total = summary.kernel_ns
        classes = tuple(
            ClassView(c.name.value, c.launches, c.time_ns * 1e-9, c.time_ns / total)
            for c in summary.classes
        )
        return cls(
            path,
            summary.trace.source.value,
            summary.trace.runs,
            summary.target.name if summary.target else "",
            total * 1e-9,
            tuple(map(DeviceView.of, summary.devices)),
            classes,
            tuple(TracedKernelView.of(k, total) for k in summary.kernels),
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


def to_json(view: TraceView) -> str:
    """Return the JSON document, schema ``perfc-trace/1``."""
    return strict(enveloped(SCHEMA, view), indent=2) + "\n"


def to_csv(view: TraceView) -> str:
    """Return one row per kernel, operator and shapes, in base units; or per kernel of a model."""
    if view.breakdown is not None:
        return breakdown_csv(view.breakdown)
    if view.prediction is not None:
        return gap_csv(view.prediction)
    *names, _ = (f.name for f in fields(TracedKernelView))
    names[names.index("class_name")] = "class"
    extents = [f.name for f in fields(ProductShape)]
    rows = (
        [getattr(k, f.name) for f in fields(k)[:-1]]
        + [getattr(k.product, e, None) for e in extents]
        for k in view.kernels
    )
    return comma.records((*names, *extents), rows)


def document(view: TraceView, top: int | None) -> Document:
    """Return the sections: devices, then what was measured, or predicted and measured."""
    title = f"trace: {view.path}" + (f" against {view.target}" if view.target else "")
    devices = [Section(f"device-{d.device}", heading(d), (device_facts(d),)) for d in view.devices]
    if view.breakdown is not None:
        parts = breakdown_sections(view.breakdown, top)
        return Document(title, (*noted(view.notes), *devices, *parts))
    if view.prediction is not None:
        return Document(title, (*noted(view.notes), *devices, *gap_sections(view.prediction, top)))
    classes = Section("classes", "Kernels by class", (class_table(view),))
    kernels = Section("kernels", "Kernels", tuple(kernel_parts(view, top)))
    sent = collective_sections(view.collectives, top)
    rates = rate_sections(view.operators[:top], view.products[:top])
    return Document(title, (*noted(view.notes), *devices, classes, kernels, *sent, *rates))


def noted(notes: Sequence[str]) -> Iterator[Section]:
    """Yield the section of notes, if there are any."""
    if notes:
        yield Section("notes", "Notes", tuple(map(Note, notes)))


def heading(d: DeviceView) -> str:
    """Return the title of a device."""
    return f"Device {d.device}" + (f": {d.name or d.target}" if d.name or d.target else "")


def device_facts(d: DeviceView) -> Facts:
    """Return the times of one device."""
    count = plural(d.launches, "launch", "launches")
    rows = [Fact("kernel time", Amount(d.kernel_s, Unit.SECOND), count)]
    if d.span_s is not None and d.busy_s is not None:
        idle_s = d.span_s - d.busy_s
        late_s, pending_s = d.late_s or 0.0, d.pending_s or 0.0
        rows = [
            Fact("span", Amount(d.span_s, Unit.SECOND), "from the first kernel to the last"),
            Fact(
                "busy", Amount(d.busy_s, Unit.SECOND), f"{share(d.busy_s / d.span_s)} of the span"
            ),
            *rows,
            Fact("idle", Amount(idle_s, Unit.SECOND), f"{share(idle_s / d.span_s)} of the span"),
        ]
        waits = (("launch-bound", late_s, "until"), ("launch latency", pending_s, "after"))
        for name, time_s, when in waits if late_s or pending_s or not d.unknown_s else ():
            text = f"{share(time_s / d.span_s)} of the span: idle {when} the host launched"
            rows.append(Fact(name, Amount(time_s, Unit.SECOND), text))
        if d.unknown_s:
            text = "idle, and the trace does not have the launch"
            rows.append(Fact("launch not recorded", Amount(d.unknown_s, Unit.SECOND), text))
        if d.exposed_s:
            text = f"{share(d.exposed_s / d.span_s)} of the span: nothing else ran"
            rows.append(Fact("exposed communication", Amount(d.exposed_s, Unit.SECOND), text))
    return Facts(tuple(rows))


def class_table(view: TraceView) -> Table:
    """Return one row per class."""
    columns = (
        Column("class_name", "class", is_name=True),
        Column("launches", "launches", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "of time", Unit.SHARE),
    )
    return Table(columns, tuple(tuple(getattr(c, n.name) for n in columns) for c in view.classes))


def kernel_parts(view: TraceView, top: int | None) -> Iterator[Part]:
    """Yield the table of kernels, and what it leaves out."""
    bounded = [k for k in view.kernels if k.floor_s is not None]
    has_operators = any(k.operator for k in view.kernels)
    columns = [
        Column("kernel", "kernel", is_name=True),
        Column("class", "class", is_spare=True),
        Column("launches", "launches", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "of time", Unit.SHARE),
    ]
    if has_operators:
        columns[1:1] = [Column("operator", "operator"), Column("shapes", "shapes", is_spare=True)]
    if bounded:
        columns += [
            Column("flop", "flop", Unit.FLOP, "of one execution", is_spare=True),
            Column("bytes", "bytes", Unit.BYTE, "of one execution", is_spare=True),
            Column("floor_s", "floor", Unit.SECOND, f"{LOWER_BOUND} of all executions"),
            Column("floor_share", "floor %", Unit.SHARE, "floor over time of the operator"),
            Column("flop_per_s", "achieved", Unit.FLOP_PER_S, "by the operator", is_spare=True),
            Column("bytes_per_s", "bandwidth", Unit.BYTE_PER_S, "by the operator", is_spare=True),
            Column("limit", "limited by", is_spare=True),
        ]
    rows = (cells(k, has_operators, bool(bounded)) for k in view.kernels[:top])
    yield Table(tuple(columns), tuple(rows))
    hidden = len(view.kernels) - len(view.kernels[:top])
    if hidden:
        yield Note(f"and {plural(hidden, 'kernel')} with less time; --top all")
    if bounded:
        time_s = sum(k.operator_s for k in bounded)
        floor_s = sum(k.floor_s or 0.0 for k in bounded)
        text = f"operators with a {LOWER_BOUND}: {quantity(time_s, Unit.SECOND)}"
        text += f", {share(time_s / view.kernel_s)} of the kernel time"
        sent = TracedClass.COMMUNICATION.value
        rest_s = sum(k.time_s for k in view.kernels if k.class_name != sent)
        if 0 < rest_s < view.kernel_s:
            bounded_s = sum(k.operator_s for k in bounded if k.class_name != sent)
            text += f" ({share(bounded_s / rest_s)} without communication)"
        text += "; "
        yield Note(f"{text}their {LOWER_BOUND} is {quantity(floor_s, Unit.SECOND)}")
    if withheld := [k for k in view.kernels if k.limit == WITHHELD]:
        text = f"{plural(len(withheld), 'operator')} without: its {LOWER_BOUND} is above its time, "
        lost = share(sum(k.operator_s for k in withheld) / view.kernel_s)
        yield Note(f"{text}so that one of the two is wrong ({lost} of the kernel time)")
    packed = [k for k in view.kernels if k.class_name in PACKED and k.floor_s is None]
    if view.source == TraceSource.ORT.value and view.target and packed:
        text = f"no {LOWER_BOUND} for {plural(len(packed), 'kernel')} of products: onnxruntime "
        yield Note(f"{text}leaves packed weights out of its profile")
    if has_operators and not view.target:
        yield Note(f"the trace names no known target: --target gives a {LOWER_BOUND}")


def cells(k: TracedKernelView, has_operators: bool, is_bounded: bool) -> tuple[Cell, ...]:
    """Return the cells of a kernel."""
    operator, rates = tuple[Cell, ...](), tuple[Cell, ...]()
    if has_operators:
        shapes = Name(k.shapes, k.shapes, HEAD) if k.shapes else None
        operator = k.operator.removeprefix("aten::") or None, shapes
    if is_bounded:
        rates = k.flop, k.bytes, k.floor_s, k.floor_share, k.flop_per_s, k.bytes_per_s
        rates = *rates, k.limit or None
    return kernel_name(k.kernel), *operator, k.class_name, k.launches, k.time_s, k.share, *rates
