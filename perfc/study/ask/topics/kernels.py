"""Kernels: which take most, how many there are, and what of a run is theirs."""

from __future__ import annotations

from collections import Counter

from perfc.view.report.amounts import title
from perfc.view.report.sections.kernels import KernelGroup, groups
from perfc.view.report.units import Unit, plural, quantity, share
from perfc.view.report.views import Views

from ..fact import Citation, ReportFact, Selection, Topic, cite, fact, listed, shown

MOST = 3
"""Number of kernel groups named by default."""


def slowest(views: Views, most: int = MOST) -> ReportFact | None:
    """Return the slowest groups of equal kernels."""
    ordered = groups(views.kernels)[:most]
    cited = [c for group in ordered for c in cite_group(group, views)]
    words = [words_of(group, views) for group in ordered]
    return fact("slowest kernels", "; ".join(words), *cited)


def words_of(group: KernelGroup, views: Views) -> str:
    """Describe a group: ``16 Conv 3x3 + Relu (conv1): 27.5 % of the time, 35.9 µs each, …``."""
    row = group.first
    time_s = views.verdict.time_s if row.predicted else views.summary.roofline_time_s.value or 0.0
    each = quantity(group.predicted_share * time_s / len(group.rows), Unit.SECOND)
    count = f"{len(group.rows)} " if len(group.rows) > 1 else ""
    return (
        f"{count}{row.title} ({row.anchor}): {share(group.predicted_share)} of the time, {each}"
        f"{' each' if count else ''}, limited by {title(row.held_by)}"
    )


def cite_group(group: KernelGroup, views: Views) -> tuple[Citation, Citation]:
    """Return the share of a group and the time of the run."""
    row = group.first
    equal = Selection("", f"alike==`{row.alike}`", group.rows)
    if row.predicted is None:
        return equal.total("roofline_share", Unit.SHARE), cite(views, "summary.roofline_time_s")
    mid = cite(views, "verdict.expected.mid", Unit.SECOND)
    return equal.total("predicted.share", Unit.SHARE), mid


def critical(views: Views) -> ReportFact | None:
    """Return the kernels that take most of the time, with reasons."""
    steps = views.critical.steps
    whole = cite(views, "critical.share", Unit.SHARE)
    by_time = sorted(range(len(steps)), key=lambda i: -steps[i].time_s)[:MOST]
    cited = [
        cite(views, f"critical.steps[{i}].{name}", unit)
        for i in by_time
        for name, unit in (("share", Unit.SHARE), ("reason", Unit.NONE))
    ]
    words = [
        f"{plural(len(steps[i].kernels), 'kernel')} "
        f"{views.kernels[steps[i].kernels[0]].title} {share(steps[i].share)}: {steps[i].reason}"
        for i in by_time
    ]
    text = f"{len(steps)} kinds of kernels take {shown(whole)} of the time; {'; '.join(words)}"
    return fact("critical kernels", text, whole, *cited) if steps else None


def count(views: Views) -> ReportFact | None:
    """Return the number of kernels by kind."""
    every = Selection("kernels", "", views.kernels).count()
    kinds = Counter(row.kind for row in views.kernels)
    cited = [of_kind(views, kind).count() for kind, _ in kinds.most_common()]
    words = [f"{number} {kind}" for kind, number in kinds.most_common()]
    text = f"{plural(len(views.kernels), 'kernel')}: {listed(words)}"
    return fact("kernel count", text, every, *cited)


def of_kind(views: Views, kind: str) -> Selection:
    """Return the kernels whose heaviest operator is of a kind."""
    rows = tuple(row for row in views.kernels if row.kind == kind)
    return Selection(f"{kind} kernels", f"kind=='{kind}'", rows)


def limited(views: Views) -> ReportFact | None:
    """Return the number of kernels limited by each ceiling."""
    binding = [i for i, ceiling in enumerate(views.pressure) if ceiling.bound_kernels]
    cited = [cite(views, f"pressure[{i}].bound_kernels", Unit.COUNT) for i in binding]
    words = [f"{views.pressure[i].title} {views.pressure[i].bound_kernels}" for i in binding]
    return fact("kernels by limit", f"kernels limited by: {', '.join(words)}", *cited)


TOPICS = (
    Topic(
        "kernels by limit",
        (
            "which kernel|layer is|are memory|compute|bandwidth|launch|latency bound|limited",
            "how many kernel is|are memory|compute|bandwidth|launch|latency bound|limited",
            "kernel is|are memory|compute|bandwidth|launch bound", "kernel by limit",
            "which kernel wait",
            "memory|compute|bandwidth|launch bound kernel|layer",
        ),
        limited,
        absent="no kernel is launched",
    ),
    Topic(
        "slowest kernels",
        (
            "slowest kernel", "which operator|kernel|layer|node is the bottleneck|limit",
            "slowest layer", "slowest", "most expensive", "hottest", "hotspot",
            "hot spot", "most time", "top kernel", "longest", "dominate", "heaviest",
            "which kernel take most", "kernel take most", "which layer", "which kernel",
            "most of the time", "heaviest kernel", "slowest operator", "costliest", "top",
            "dominant", "biggest contributor", "main contributor", "dominates", "most costly",
            "expensive",
        ),
        slowest,
        under=("predicted time", "kernel count", "nodes", "limits"),
        absent="no kernel is launched",
    ),
    Topic(
        "critical kernels",
        ("critical path", "critical", "critical sequence", "critical kernel", "why are they slow"),
        critical,
        under=("slowest kernels", "predicted time", "kernel count"),
        absent="no kernel is launched",
    ),
    Topic(
        "kernel count",
        ("how many kernel", "number of kernel", "kind of kernel", "kernel count",
         "kernel are there"),
        count,
        weak=("kernel",),
        absent="no kernel is launched",
    ),
)  # fmt: skip
