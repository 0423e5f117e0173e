"""A measurement of `perfc measure` as a document of tables, as JSON, or as rows of CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Section,
    Table,
    in_bytes,
    in_seconds,
    tabulate,
)
from perfc.view.report.units import Unit, change_text, plural, share, size_text, time_text
from perfc.view.result import Fields, Records, ResultLayout

from .json_form import FIELDS, NO_TARGET
from .matching.compare import FASTER, Compared, Measurement
from .tables.rows import MeasuredRow, kernel_rows

COMPARED = frozenset({"floor_s", "prediction_s", "residual_s", "badge", "ratio"})
"""Columns that require the target of the measured machine."""
GENERIC = "generic"
"""Vendor of fully assumed targets."""


def shown(m: Measurement, columns: Iterable[Column], items: Iterable[object]) -> Table:
    """Return a table, without a target only of measured columns."""
    return tabulate([c for c in columns if m.has_target or c.name not in COMPARED], items)


def title(m: Measurement) -> str:
    """Return the title: model, runtime and device."""
    labels = m.report.source.labels
    dims = ", ".join(f"{labels.get(k, k)} = {v}" for k, v in m.report.env.items())
    threads = f", {plural(m.setting.threads, 'thread')}" if m.setting.threads else ""
    where = f"{m.setting.version} on {m.setting.device}{threads}"
    target = f"target {m.report.machine.name}" if m.has_target else ""
    return ", ".join(t for t in (m.report.path, dims, where, target) if t)


def document(m: Measurement, top: int | None = None) -> Document:
    """Build the report of a measurement.

    Args:
        m: the measurement.
        top: number of kernels shown, slowest first; None for all, in execution order.
    """
    return Document(f"measured {title(m)}", (summary(m), classes(m), kernels(m, top)))


def summary(m: Measurement) -> Section:
    """Return the totals: lower bound, prediction, measured time, memory, notes."""
    what = f"median of {plural(m.runs, 'run')}" if m.is_whole else "sum of the profile's kernels"
    spread = f", iqr {time_text(m.total_iqr_s)}" if m.total_iqr_s else ""
    off = f"{signed(m.prediction_s, m.total_s)} of measured"
    analyzed = [
        Fact("lower bound", in_seconds(m.floor_s), "no run can be faster"),
        Fact("predicted", in_seconds(m.prediction_s), off),
    ]
    residual = Fact("residual", in_seconds(m.residual_s), "measured less predicted")
    facts = [
        *(analyzed if m.has_target else ()),
        Fact("measured", in_seconds(m.total_s), f"{what}{spread}"),
        *((residual,) if m.has_target else ()),
        Fact("in kernels", in_seconds(m.kernel_s), "with what profiling adds to each"),
        Fact("attributed", Amount(m.attribution.share, Unit.SHARE), "of it, to nodes of the model"),
    ]
    if m.peak_rss_bytes:
        base = size_text(m.base_rss_bytes)
        facts.append(
            Fact(
                "peak memory",
                in_bytes(m.peak_rss_bytes),
                f"resident, {base} before loading",
            )
        )
    notes: list[Note] = [Note(n) for n in m.notes]
    faster = [c for c in m.rows if c.badge and m.has_target]
    if not m.has_target:
        notes.append(Note(NO_TARGET, True))
    elif m.report.machine.vendor == GENERIC:
        notes.append(
            Note(f"the lower bound is of {m.report.machine.name}, which is hypothetical", True)
        )
    if m.badge:
        text = f"the run is {FASTER}: a bug of ours, of the target, or of the clock"
        notes.append(Note(text, True))
    if faster:
        kernels = plural(len(faster), "kernel")
        text = f"{FASTER}: {kernels}; a bug of ours, of the target, or of the clock"
        notes.append(Note(text, True))
    if m.attribution.lost:
        # a few names show what kernels they are; the attributed share counts all of them
        names = ", ".join(k.name for k in m.attribution.lost[:5])
        notes.append(
            Note(f"of {plural(len(m.attribution.lost), 'kernel')} no node was found: {names}", True)
        )
    return Section("summary", "summary", (Facts(tuple(facts)), *notes))


def signed(a: float, b: float) -> str:
    """Format the deviation of ``a`` from ``b`` in percent, ``+3.2 %``; ``>100 ×``."""
    if b <= 0:
        return "—"
    return change_text(a / b)


def classes(m: Measurement) -> Section:
    """Return the sums by class of kernel."""
    groups: dict[str, list[Compared]] = {}
    for c in m.rows:
        if c.is_measured:
            groups.setdefault(c.kind, []).append(c)
    if not groups:
        return Section("classes", "classes", (Note("no kernel was timed"),))
    columns = (
        Column("kind", "class", is_name=True, cell=lambda rows: rows[0].kind),
        Column("count", "n", Unit.COUNT, cell=len),
        Column("share", "% time", Unit.SHARE, cell=lambda rows: part_of(total("time_s")(rows), m)),
        Column("floor_s", "lower bound", Unit.SECOND, cell=total("floor_s")),
        Column("prediction_s", "predicted", Unit.SECOND, cell=total("prediction_s")),
        Column("time_s", "measured", Unit.SECOND, cell=total("time_s")),
        Column("ratio", "meas./pred.", Unit.RATIO, cell=ratio),
    )
    ordered = sorted(groups.values(), key=total("time_s"), reverse=True)
    return Section("classes", "classes", (shown(m, columns, ordered),))


def total(name: str) -> Callable[[Sequence[Compared]], float]:
    """Return the function that sums an attribute of kernels."""
    return lambda rows: math.fsum(map(attrgetter(name), rows))


def ratio(rows: Sequence[Compared]) -> float | None:
    """Return measured over predicted time."""
    predicted_s = total("prediction_s")(rows)
    return total("time_s")(rows) / predicted_s if predicted_s else None


def part_of(time_s: float, m: Measurement) -> float:
    """Return the share of a time in that of all kernels."""
    return time_s / m.kernel_s if m.kernel_s else 0.0


def kernels(m: Measurement, top: int | None) -> Section:
    """Return the table of kernels, always including those below their lower bound."""
    timed = [c for c in m.rows if c.is_measured]
    chosen = timed
    if top is not None:
        slowest = sorted(timed, key=lambda c: -c.time_s)
        # a time below the lower bound is an error, which no limit may hide
        chosen = slowest[:top] + [c for c in slowest[top:] if c.badge and m.has_target]
    carried = part_of(sum(c.time_s for c in chosen), m)
    name = f"kernels: {len(chosen)} of {len(timed)}, {share(carried)} of their time"
    if not chosen:
        return Section("kernels", "kernels", (Note("no kernel was timed"),))
    return Section("kernels", name, (shown(m, columns(m), chosen),))


def columns(m: Measurement) -> tuple[Column, ...]:
    """Return the columns of kernels."""
    # by identity, as rows of repeated layers may be equal
    places = {id(c): i for i, c in enumerate(m.rows)}
    spread = attrgetter("part.iqr_s")
    of_all = "share of the measured kernel time"
    return (
        Column("part", "#", Unit.COUNT, cell=lambda c: places[id(c)]),
        Column("share", "% time", Unit.SHARE, of_all, cell=lambda c: part_of(c.time_s, m)),
        Column("floor_s", "lower bound", Unit.SECOND, "no time can be below it"),
        Column(
            "prediction_s",
            "predicted",
            Unit.SECOND,
            "predicted; on a GPU without waits",
        ),
        Column("time_s", "measured", Unit.SECOND, "median of the runs"),
        Column("iqr_s", "iqr", Unit.SECOND, "distance of the quartiles", cell=spread),
        Column("residual_s", "residual", Unit.SECOND, "measured less predicted"),
        Column("badge"),
        Column("kernel", is_name=True, cell=name_of),
        Column("runtime", "runtime's", is_name=True, cell=runtime_names),
        Column("nodes", "<- ONNX nodes", is_name=True, cell=nodes_of),
    )


def name_of(c: Compared) -> str:
    """Return the name of a kernel, after a sign if several predicted kernels are one."""
    return f"≈ {c.label}" if len(c.bounds) > 1 else c.label


def nodes_of(c: Compared) -> str:
    """Return the nodes of a kernel."""
    return f"<- {', '.join(c.part.nodes)}"


def runtime_names(c: Compared) -> str:
    """Return the names that the runtime gives a kernel."""
    return " + ".join(dict.fromkeys(k.op or k.name for k in c.part.runtime))


def records(m: Measurement) -> Records:
    """Return the rows that ``--append`` would add."""
    return Fields.every(MeasuredRow).records(kernel_rows(m))


LAYOUT = ResultLayout("perfc-measure/1", FIELDS, document, rows=records)
