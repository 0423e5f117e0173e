"""A summary of a trace as a document, JSON and CSV, for `perfc trace`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Part,
    Section,
    Table,
    excerpt,
    tabulate,
)
from perfc.view.report.units import LOWER_BOUND, Unit, plural, quantity, share
from perfc.view.result import Records, ResultLayout

from .analyses.breakdown import breakdown_records, breakdown_sections
from .analyses.collectives import collective_sections
from .analyses.prediction_output import gap_records, gap_sections
from .analyses.rates import (
    ProductShape,
    rate_sections,
)
from .classes import TracedClass, abbreviated, called, kernel_name
from .facts import TraceSource
from .views import WITHHELD, TracedDevice, TracedKernel, TracedRun

PACKED = frozenset(c.value for c in (TracedClass.MATMUL, TracedClass.CONV, TracedClass.ATTENTION))
"""Classes of kernels whose weights a runtime may store in a layout of its choice."""


def records(view: TracedRun) -> Records:
    """Return one row per kernel, operator and shapes, in base units; or per kernel of a model."""
    if view.breakdown is not None:
        return breakdown_records(view.breakdown)
    if view.prediction is not None:
        return gap_records(view.prediction)
    # the last field, the product, has columns of its extents
    *names, _ = (f.name for f in fields(TracedKernel))
    extents = [f.name for f in fields(ProductShape)]
    rows = [
        [getattr(k, name) for name in names] + [getattr(k.product, e, None) for e in extents]
        for k in view.kernels
    ]
    names[names.index("class_name")] = "class"
    return [*names, *extents], rows


def document(view: TracedRun, top: int | None = None) -> Document:
    """Return the sections: devices, then what was measured, or predicted and measured."""
    title = f"trace: {view.path}" + (f" against {view.target}" if view.target else "")
    devices = [Section(f"device-{d.device}", heading(d), (device_facts(d),)) for d in view.devices]
    if view.breakdown is not None:
        parts = breakdown_sections(view.breakdown, top)
        return Document(title, (*noted(view.notes), *devices, *parts))
    if view.prediction is not None:
        return Document(title, (*noted(view.notes), *devices, *gap_sections(view.prediction, top)))
    classes = Section("classes", "kernels by class", (class_table(view),))
    kernels = Section("kernels", "kernels", tuple(kernel_parts(view, top)))
    collectives = collective_sections(view.collectives, top)
    rates = rate_sections(view.operators[:top], view.products[:top])
    return Document(title, (*noted(view.notes), *devices, classes, kernels, *collectives, *rates))


def noted(notes: Sequence[str]) -> Iterator[Section]:
    """Yield the section of notes, if there are any."""
    if notes:
        yield Section("notes", "notes", tuple(map(Note, notes)))


def heading(d: TracedDevice) -> str:
    """Return the title of a device."""
    return f"Device {d.device}" + (f": {d.name or d.target}" if d.name or d.target else "")


def device_facts(d: TracedDevice) -> Facts:
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
        # if no launch is recorded both are 0 and have no row: the row after them says so
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


def class_table(view: TracedRun) -> Table:
    """Return one row per class."""
    columns = (
        Column("class_name", "class", is_name=True),
        Column("launches", "launches", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "of time", Unit.SHARE),
    )
    return tabulate(columns, view.classes)


def operator_of(k: TracedKernel) -> tuple[object, ...]:
    """Return what kernels of one operator with its shapes share."""
    return k.operator, k.shapes, k.operator_s, k.executions


def kernel_parts(view: TracedRun, top: int | None) -> Iterator[Part]:
    """Yield the table of kernels, and what it leaves out."""
    bounded = [k for k in view.kernels if k.floor_s is not None]
    # columns that would be empty are left out
    has_operators = any(k.operator for k in view.kernels)
    columns = [
        Column("kernel", is_name=True, cell=lambda k: kernel_name(k.kernel)),
        Column("class", is_spare=True, cell=lambda k: k.class_name),
        Column("launches", "launches", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND),
        Column("share", "of time", Unit.SHARE),
    ]
    # operator and shapes stand behind the name of the kernel
    if has_operators:
        columns[1:1] = [
            Column("operator", cell=lambda k: called(k.operator)),
            Column("shapes", is_spare=True, cell=lambda k: abbreviated(k.shapes)),
        ]
    if bounded:
        columns += [
            Column("flop", "flop", Unit.FLOP, "of one execution", is_spare=True),
            Column("bytes", "bytes", Unit.BYTE, "of one execution", is_spare=True),
            Column("floor_s", "floor", Unit.SECOND, f"{LOWER_BOUND} of all executions"),
            Column("floor_share", "floor %", Unit.SHARE, "floor over time of the operator"),
            Column("flop_per_s", "achieved", Unit.FLOP_PER_S, "by the operator", is_spare=True),
            Column("bytes_per_s", "bandwidth", Unit.BYTE_PER_S, "by the operator", is_spare=True),
            Column("limit", "limited by", is_spare=True, cell=lambda k: k.limit or None),
        ]
    shown = view.kernels[:top]
    yield from excerpt(columns, shown, len(view.kernels), "kernel with less time")
    if bounded:
        time_s = sum(k.operator_s for k in bounded)
        floor_s = sum(k.floor_s or 0.0 for k in bounded)
        text = f"operators with a {LOWER_BOUND}: {quantity(time_s, Unit.SECOND)}"
        text += f", {share(time_s / view.kernel_s)} of the kernel time"
        communication = TracedClass.COMMUNICATION.value
        # if there is communication, also the share of computation without it
        computing_s = sum(k.time_s for k in view.kernels if k.class_name != communication)
        if 0 < computing_s < view.kernel_s:
            # an operator with a bound may launch collectives too
            operators = {operator_of(k) for k in bounded}
            computing = (k for k in view.kernels if k.class_name != communication)
            bounded_s = sum(k.time_s for k in computing if operator_of(k) in operators)
            text += f" ({share(bounded_s / computing_s)} without communication)"
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


LAYOUT = ResultLayout("perfc-trace/1", TracedRun, document, rows=records)
