"""Documents, JSON and CSV output of a diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from perfc.view.report.formats.document import (
    Column,
    Document,
    Name,
    Note,
    Section,
    Table,
    tabulate,
)
from perfc.view.report.units import DASH, Unit, plural, quantity
from perfc.view.result import Field, Fields, ResultLayout

from .blame import EXPLAINED
from .figures import BY_KEY, NANOSECOND, Metric, percent, signed
from .views import ChangeRow, DiffViews, KernelPairRow, TotalRow, in_words

NAMES = ("totals", "blame", "kernels", "changes")
"""Names of the sections of the document."""
NOTICEABLE = 1e-3
"""Minimum share of all time changes for a kernel with equal counts to be shown."""


def document(views: DiffViews, top: int | None = 20) -> Document:
    """Return totals, blame, changed kernels and changed nodes, each limited to ``top`` rows."""
    title = f"{views.old} -> {views.new} on {views.target}"
    return Document(
        title, (totals(views), blame(views, top), kernels(views, top), nodes(views, top))
    )


def totals(views: DiffViews) -> Section:
    """Return the section of totals: old, new and difference of every metric."""
    columns = (
        Column("metric"),
        Column("old"),
        Column("new"),
        Column("delta", "change"),
        Column("relative", "%", is_spare=True),
        Column("origin", is_spare=True),
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
    """Return the cells of one metric."""
    metric = BY_KEY[r.metric]
    # the lower bound of the time is one by definition
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
    """Return the section of causes: a line names those of 90 % of the change, a table has all."""
    metric = BY_KEY[views.blame_metric]
    if not any(r.share for r in views.blame):
        return Section("blame", "blame", (Note(unchanged(views)),))
    named_count = sum(r.is_named for r in views.blame)
    line = (
        f"{100 * EXPLAINED:.0f} % of the change in {metric.title} comes from "
        f"{plural(named_count, 'cause')}: {in_words(views.blame)}"
    )
    columns = (
        Column("share", "share", Unit.SHARE),
        delta("time_s", "time", Unit.SECOND, is_spare=False),
        delta("flop", "work", Unit.FLOP),
        delta("traffic_bytes", "traffic", Unit.BYTE),
        delta("parameters", "parameters", Unit.COUNT),
        delta("energy_j", "energy", Unit.JOULE),
        Column("count", "count", Unit.COUNT),
        Column("op_type", "operator", is_name=True, cell=lambda r: operators(r.op_type)),
        Column("what", is_name=True),
        Column("source", is_name=True),
        Column("node", is_name=True, cell=lambda r: Name(r.node, r.node)),
    )
    notes = [*map(Note, map(str, views.lines[:top])), Note(line)]
    fixed_s = views.fixed_s_new - views.fixed_s_old
    if abs(fixed_s) >= NANOSECOND:
        notes.append(Note(f"fixed time: {signed(fixed_s, Unit.SECOND)}"))
    if abs(views.factor_s) >= NANOSECOND:
        words = "run factors differ"
        notes.append(Note(f"run factor: {signed(views.factor_s, Unit.SECOND)}, {words}"))
    return Section("blame", "blame", (*notes, nonempty(tabulate(columns, views.blame[:top]))))


def delta(name: str, title: str, unit: Unit, *, is_spare: bool = True) -> Column:
    """Return the column of a change, with its sign."""
    cell = attrgetter(name)
    return Column(name, title, is_spare=is_spare, cell=lambda r: signed(cell(r), unit))


def grown(name: str, title: str, unit: Unit, *, is_spare: bool = True) -> Column:
    """Return the column of the new value of a kernel less the old one."""
    old, new = attrgetter(f"{name}_old"), attrgetter(f"{name}_new")
    return Column(
        f"{name}_delta", title, is_spare=is_spare, cell=lambda r: signed(new(r) - old(r), unit)
    )


def nonempty(table: Table) -> Table:
    """Return a table without columns that have no difference."""
    empty = {"", "0", DASH}  # cells without a difference
    shown = [i for i, cells in enumerate(zip(*table.rows, strict=True)) if {*cells} - empty]
    return table.only(shown)


def operators(label: str) -> Name:
    """Return the operators of a kernel, of which narrow pages show nine characters and the end."""
    return Name(label, label.replace("Normalization", "Norm"), leading=9)


def unchanged(views: DiffViews) -> str:
    """Return the note for a diff without changed costs."""
    if views.is_equal:
        nodes = (
            f"{', '.join(by_status(views.changes))} nodes" if views.changes else "the same nodes"
        )
        return f"no difference: {nodes} with the same costs"
    metrics = [BY_KEY[r.metric].title for r in views.totals if r.delta != 0]
    return f"no cause to name; changed totals: {', '.join(metrics)}"


def by_status(rows: Sequence[ChangeRow], *listed: str) -> list[str]:
    """Return the number of nodes of each status; ``listed`` statuses appear even with zero."""
    counts = Counter(dict.fromkeys(listed, 0))
    counts.update(r.status for r in rows)
    return [f"{count} {status}" for status, count in counts.items()]


def kernels(views: DiffViews, top: int | None) -> Section:
    """Return the section of changed kernels, largest change of time first."""
    moved = [r for r in views.kernels if r.status != "same"]
    moved.sort(key=lambda r: (-abs(r.time_s_new - r.time_s_old), -abs(r.flop_new - r.flop_old)))
    columns = (
        Column("status", ""),
        Column(
            "time_s_old",
            "old",
            Unit.SECOND,
            cell=lambda r: None if r.status == "added" else r.time_s_old,
        ),
        Column(
            "time_s_new",
            "new",
            Unit.SECOND,
            cell=lambda r: None if r.status == "removed" else r.time_s_new,
        ),
        grown("time_s", "change", Unit.SECOND, is_spare=False),
        grown("flop", "work", Unit.FLOP),
        grown("traffic_bytes", "traffic", Unit.BYTE),
        grown("parameters", "parameters", Unit.COUNT),
        delta("energy_j_delta", "energy", Unit.JOULE),
        grown("live_bytes", "live", Unit.BYTE),
        Column("label", "kernel", is_name=True, cell=lambda r: operators(r.label)),
        Column("node", is_name=True, cell=lambda r: Name(r.node, r.node)),
    )
    least_s = NOTICEABLE * sum(abs(r.time_s_new - r.time_s_old) for r in moved)
    noticed = [r for r in moved if is_noticeable(r, least_s)]
    shown = [] if views.is_equal else moved if top is None else noticed[:top]
    same = len(views.kernels) - len(moved)
    title = f"kernels: {len(moved)} changed, {same} unchanged"
    if len(shown) < len(moved):
        title += f" ({len(shown)} shown; --top all)"
    words = "costs moved, their sums are equal" if moved else "no kernel changed in cost"
    parts = (nonempty(tabulate(columns, shown)),) if shown else (Note(words),)
    return Section("kernels", title, parts)


def is_noticeable(r: KernelPairRow, least_s: float) -> bool:
    """Return True if the kernel is on one side only, its counts changed, or its time noticeably."""
    counts_old = (r.flop_old, r.traffic_bytes_old, r.parameters_old)
    counts_new = (r.flop_new, r.traffic_bytes_new, r.parameters_new)
    is_gone = r.status in ("added", "removed")
    return is_gone or counts_old != counts_new or abs(r.time_s_new - r.time_s_old) > least_s


def nodes(views: DiffViews, top: int | None) -> Section:
    """Return the section of changed nodes; those that only follow from other changes come last."""
    columns = (
        Column("status", ""),
        Column("op_type", "operator", is_name=True),
        Column("node", is_name=True, cell=lambda r: Name(r.node, r.node)),
        Column("details", "what", is_name=True, cell=what),
    )
    # edits before consequences; sorting is stable, so that both stay in the order of nodes
    ordered = sorted(views.changes, key=lambda r: r.is_carried)
    edited = [r for r in ordered if not r.is_carried]
    shown = () if views.is_equal else ordered[:top]
    counts = by_status(ordered, "added", "removed", "changed")
    title = f"nodes: {', '.join(counts)}, {len(ordered) - len(edited)} of them as a consequence"
    note = Note(
        f"{plural(views.aligned_nodes, 'node')} aligned by structure, "
        f"{views.aligned_products} of {views.products} with multiply-accumulates"
    )
    parts = (tabulate(columns, shown), note) if shown else (note,)
    return Section("changes", title, parts)


def what(r: ChangeRow) -> str:
    """Return the differences of one node, and what they are due to."""
    follows = f"due to {r.cause}: " if r.is_carried and r.cause != r.node else ""
    return follows + "; ".join(r.details)


LAYOUT = ResultLayout(
    "perfc-diff/1",
    Fields.every(DiffViews, {"kernels": Field(of=Fields.every(KernelPairRow))}),
    document,
    rows="kernels",
    is_sorted=True,
)
