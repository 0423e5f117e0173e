"""A comparison as a document of the report, as JSON, and as comma-separated values."""

from __future__ import annotations

import json
from dataclasses import fields

from perfc.report import comma
from perfc.report.document import Cell, Column, Document, Name, Note, Section, Table
from perfc.report.json_form import enveloped
from perfc.report.units import DASH, Unit, plural, quantity

from .blame import EXPLAINED
from .figures import BY_KEY, Metric
from .views import SCHEMA, ChangeRow, DiffViews, KernelRow, TotalRow, in_words, percent, signed

NAMES = ("totals", "blame", "kernels", "changes")
NOTICEABLE = 1e-3
"""Part of all changes of time below which a kernel with equal counts is not shown."""


def document(views: DiffViews, top: int | None = 20) -> Document:
    """Totals, what explains them, kernels and nodes that changed; lists cut at ``top`` rows."""
    title = f"{views.old} -> {views.new} on {views.target}"
    return Document(
        title, (totals(views), blame(views, top), kernels(views, top), nodes(views, top))
    )


def to_json(views: DiffViews) -> str:
    """Everything, keys sorted."""
    return json.dumps(enveloped(SCHEMA, views), indent=2, sort_keys=True, allow_nan=False) + "\n"


def to_csv(views: DiffViews) -> str:
    """Every pair of kernels, one line each, in execution order."""
    names = [f.name for f in fields(KernelRow)]
    return comma.records(names, ((getattr(r, n) for n in names) for r in views.kernels))


def totals(views: DiffViews) -> Section:
    """Old, new and difference of every metric."""
    columns = (
        Column("metric", "metric"),
        Column("old", "old"),
        Column("new", "new"),
        Column("delta", "change"),
        Column("relative", "%"),
        Column("origin", "origin", is_spare=True),
    )
    rows = tuple(total_cells(r) for r in views.totals)
    parts: list[Table | Note] = []
    if views.settings:
        words = "; ".join(f"{k} {a} -> {b}" for k, (a, b) in views.settings.items())
        parts.append(Note(f"also different: {words}"))
    parts.append(Table(columns, rows))
    if not views.is_complete:
        text = "totals are lower bounds: some operators have unknown cost (see perfc analyze)"
        parts.append(Note(text, is_warning=True))
    return Section("totals", "totals", tuple(parts))


def total_cells(r: TotalRow) -> tuple[str, ...]:
    """One metric as text."""
    metric = BY_KEY[r.metric]
    at_least = "≥ " if r.is_bound and metric is not Metric.FLOOR else ""
    change = signed(r.delta, metric.unit)
    if r.delta_low is not None and r.delta_high is not None:
        low, high = signed(r.delta_low, metric.unit), signed(r.delta_high, metric.unit)
        change += f" [{low} .. {high}]"
    return (
        metric.title,
        DASH if r.old is None else at_least + quantity(r.old, metric.unit),
        DASH if r.new is None else at_least + quantity(r.new, metric.unit),
        change,
        percent(r.relative) if r.delta else "",
        r.origin,
    )


def blame(views: DiffViews, top: int | None) -> Section:
    """The line that names what explains nine tenths, and a table."""
    metric = BY_KEY[views.blame_metric]
    if not views.blame:
        return Section("blame", "blame", (Note(unchanged(views)),))
    whole = sum(r.is_named for r in views.blame)
    line = (
        f"{100 * EXPLAINED:.0f} % of the change in {metric.title} comes from "
        f"{plural(whole, 'cause')}: {in_words(views.blame)}"
    )
    columns = (
        Column("share", "share", Unit.SHARE),
        Column("time_s", "time"),
        Column("flop", "work", is_spare=True),
        Column("traffic_bytes", "traffic", is_spare=True),
        Column("parameters", "parameters", is_spare=True),
        Column("energy_j", "energy", is_spare=True),
        Column("count", "count", Unit.COUNT),
        Column("op_type", "operator", is_name=True),
        Column("what", "what", is_name=True),
        Column("node", "node", is_name=True),
    )
    rows = tuple(
        (
            r.share,
            signed(r.time_s, Unit.SECOND),
            signed(r.flop, Unit.FLOP),
            signed(r.traffic_bytes, Unit.BYTE),
            signed(r.parameters, Unit.COUNT),
            signed(r.energy_j, Unit.JOULE),
            r.count,
            operators(r.op_type),
            r.what,
            Name(r.node, r.node),
        )
        for r in views.blame[:top]
        if r.time_s or r.flop or r.traffic_bytes or r.parameters
    )
    shifted = [r for r in views.kernels if r.status == "same" and r.time_s_new != r.time_s_old]
    notes = [Note(line)]
    if shifted:
        moved_s = sum(r.time_s_new - r.time_s_old for r in shifted)
        text = f"unchanged kernels: {signed(moved_s, Unit.SECOND)}, by their shares of the totals"
        notes.append(Note(f"{text} in a whole-run prediction"))
    return Section("blame", "blame", (*notes, told(columns, rows)))


def told(columns: tuple[Column, ...], rows: tuple[tuple[Cell, ...], ...]) -> Table:
    """A table without the columns in which nothing differs."""
    empty = ("", "0", DASH)
    kept = [i for i in range(len(columns)) if any(row[i] not in empty for row in rows)]
    return Table(
        tuple(columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows)
    )


def operators(label: str) -> Name:
    """The operators of a kernel, with less of them where there is little room."""
    return Name(label, label.replace("Normalization", "Norm"), kept=9)


def unchanged(views: DiffViews) -> str:
    """What to say where nothing costs more or less."""
    if not views.changes:
        return "no difference: the same nodes with the same costs"
    return f"{plural(len(views.changes), 'node')} changed, without a change in cost"


def kernels(views: DiffViews, top: int | None) -> Section:
    """Kernels whose numbers changed, the largest change of time first."""
    moved = [r for r in views.kernels if r.status != "same"]
    moved.sort(key=lambda r: (-abs(r.time_s_new - r.time_s_old), -abs(r.flop_new - r.flop_old)))
    columns = (
        Column("status", ""),
        Column("time_s_old", "old", Unit.SECOND),
        Column("time_s_new", "new", Unit.SECOND),
        Column("time_s_delta", "change"),
        Column("flop_delta", "work", is_spare=True),
        Column("traffic_bytes_delta", "traffic", is_spare=True),
        Column("parameters_delta", "parameters", is_spare=True),
        Column("energy_j_delta", "energy", is_spare=True),
        Column("live_bytes_delta", "live", is_spare=True),
        Column("label", "kernel", is_name=True),
        Column("node", "node", is_name=True),
    )
    least = NOTICEABLE * sum(abs(r.time_s_new - r.time_s_old) for r in moved)
    noticed = [r for r in moved if is_noticeable(r, least)]
    shown = moved if top is None else noticed[:top]
    same = len(views.kernels) - len(moved)
    title = f"kernels: {len(moved)} changed, {same} unchanged"
    if len(shown) < len(moved):
        title += f" ({len(shown)} shown; --top all)"
    rows = tuple(kernel_cells(r) for r in shown)
    parts = (told(columns, rows),) if rows else (Note("no kernel changed in cost"),)
    return Section("kernels", title, parts)


def is_noticeable(r: KernelRow, least_s: float) -> bool:
    """Whether more than its floor, or more of its time than rounding hides, is another."""
    counts_old = (r.flop_old, r.traffic_bytes_old, r.parameters_old)
    counts_new = (r.flop_new, r.traffic_bytes_new, r.parameters_new)
    is_gone = r.status in ("added", "removed")
    return is_gone or counts_old != counts_new or abs(r.time_s_new - r.time_s_old) > least_s


def kernel_cells(r: KernelRow) -> tuple[Cell, ...]:
    """One pair of kernels."""
    return (
        r.status,
        None if r.status == "added" else r.time_s_old,
        None if r.status == "removed" else r.time_s_new,
        signed(r.time_s_new - r.time_s_old, Unit.SECOND),
        signed(r.flop_new - r.flop_old, Unit.FLOP),
        signed(r.traffic_bytes_new - r.traffic_bytes_old, Unit.BYTE),
        signed(r.parameters_new - r.parameters_old, Unit.COUNT),
        signed(r.energy_j_delta, Unit.JOULE),
        signed(r.live_bytes_new - r.live_bytes_old, Unit.BYTE),
        operators(r.label),
        Name(r.node, r.node),
    )


def nodes(views: DiffViews, top: int | None) -> Section:
    """Nodes added, removed and changed; those that only follow come last."""
    columns = (
        Column("status", ""),
        Column("op_type", "operator", is_name=True),
        Column("node", "node", is_name=True),
        Column("details", "what", is_name=True),
    )
    ordered = sorted(views.changes, key=lambda r: r.is_carried)
    own = [r for r in ordered if not r.is_carried]
    shown = ordered[:top]
    counts = [f"{sum(r.status == s for r in ordered)} {s}" for s in ("added", "removed", "changed")]
    title = f"nodes: {', '.join(counts)}, {len(ordered) - len(own)} of them as a consequence"
    note = Note(
        f"{plural(views.aligned_nodes, 'node')} aligned by structure, "
        f"{views.aligned_products} of {views.products} with multiply-accumulates"
    )
    table = Table(columns, tuple(change_cells(r) for r in shown))
    return Section("changes", title, (table, note) if shown else (note,))


def change_cells(r: ChangeRow) -> tuple[str | Name, ...]:
    """One node."""
    follows = f"due to {r.cause}: " if r.is_carried and r.cause != r.node else ""
    return (r.status, r.op_type, Name(r.node, r.node), follows + "; ".join(r.details))
