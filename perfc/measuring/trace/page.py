"""HTML page of a trace: facts of devices, time line, classes, and tables that sort."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.view.html.blocks import section_block
from perfc.view.html.page import PRINTED, filled
from perfc.view.html.payload import Json, interned, table, text
from perfc.view.report.formats.document import Name, Note, Section, Table
from perfc.view.report.units import Unit, quantity, share

if TYPE_CHECKING:
    from perfc.measuring.trace.analyses.lanes import Lane, TimeLanes
    from perfc.measuring.trace.analyses.rates import ProductShape
    from perfc.measuring.trace.views import TracedRun

SCRIPTS = ("format", "theme", "selection", "table", "sort", "timeline", "ready")
"""Scripts of the page, in the order in which they run."""


def trace_page(view: TracedRun, line: TimeLanes) -> str:
    """Return a trace with its time line as a self-contained HTML document."""
    from perfc.measuring.trace.output import document, kernel_parts

    sections = document(view, None).sections
    above = [s for s in sections if s.name == "notes" or s.name.startswith("device-")]
    below = [s for s in sections if s not in above and s.name not in ("classes", "kernels")]
    every, *notes = kernel_parts(view, None)
    assert isinstance(every, Table)
    # kernels, in column 0, by their short names: full ones begin with the same namespaces, and a
    # narrow cell cuts the end, where they differ
    rows = (
        (c.short if isinstance(c, Name) and not i else c for i, c in enumerate(r))
        for r in every.rows
    )
    kernels = Table(every.columns, tuple(map(tuple, rows)))
    # a browser without scripts shows the first rows; with scripts all are in the payload
    parts = Table(kernels.columns, kernels.rows[:PRINTED]), *notes, *map(Note, line.notes)
    title = Path(view.path).name + (f" against {view.target}" if view.target else "")
    return filled(
        "trace.html.j2",
        f"trace: {title}",
        payload(view, line, kernels),
        SCRIPTS,
        places=[*(s.name for s in above[:1]), "timeline", "kernels", *(s.name for s in below)],
        above=[*map(section_block, above)],
        kernels=section_block(Section("kernels", "kernels", parts)),
        sections=[*map(section_block, below)],
        spans=f"{sum(len(each.which) for each in line.lanes):,}",
        classes=[
            {
                "name": c.class_name,
                "launches": c.launches,
                "percent": round(100 * c.share, 2),
                "time": quantity(c.time_s, Unit.SECOND),
                "share": share(c.share),
            }
            for c in view.classes
        ],
    )


def payload(view: TracedRun, line: TimeLanes, kernels: Table) -> Json:
    """Return the data of the page's scripts: rows of kernels, spans of the time line, and groups.

    A group lists the kernels that a row of another table selects.
    """
    from perfc.measuring.trace.classes import TracedClass

    # indices of kernels by call, by operator and by shape of a product
    by_call: dict[tuple[str, str], list[int]] = {}
    by_operator: dict[str, list[int]] = {}
    for at, k in enumerate(view.kernels):
        by_call.setdefault((k.operator, k.shapes), []).append(at)
        by_operator.setdefault(k.operator, []).append(at)
    by_shape: dict[ProductShape, list[int]] = {}
    for k in view.kernels:
        if k.product is not None:
            by_shape.setdefault(k.product, []).extend(by_call[k.operator, k.shapes])
    return {
        # the page has no graph, so its search has no names of nodes
        "reports": [{"kernels": {"table": table(kernels)}, "graph": {"names": [], "value_of": []}}],
        "classes": [c.value for c in TracedClass],
        "names": interned(lambda i: text(view.kernels[i].kernel), len(view.kernels)),
        "executions": [k.executions for k in view.kernels],
        "groups": {
            "operators": [by_operator[o.operator] for o in view.operators],
            "products": [by_shape[p.shape] for p in view.products],
        },
        "timeline": {
            "lanes": [*map(spans, line.lanes)],
            "operators": [[text(name), text(of)] for name, of in line.operators],
            "begin_ns": line.begin_ns,
            "end_ns": line.end_ns,
        },
    }


def spans(lane: Lane) -> Json:
    """Return a lane; each begin is the time since the one before, which has fewer digits."""
    columns = {
        "which": lane.which,
        "start_ns": [b - a for a, b in pairwise((0, *lane.start_ns))],
        "duration_ns": lane.duration_ns,
        "wait_ns": lane.wait_ns,
        "level": lane.level,
    }
    # a column of equal numbers is one number
    compact = {name: v[0] if min(v) == max(v) else [*v] for name, v in columns.items()}
    title = text(f"{lane.group}: {lane.title}")
    return {"kind": lane.kind.value, "title": title, "count": len(lane.which), **compact}
