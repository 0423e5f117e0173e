"""Breakdown of a trace by the host: modules, lines, calls, causes of idle time, critical path.

`breakdown_of` is `perfc trace --by`; its record has a section of the document and a CSV.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from perfc.errors import ParseError
from perfc.ir import record
from perfc.view.report.formats.document import (
    Amount,
    Column,
    Fact,
    Facts,
    Name,
    Part,
    Section,
    excerpt,
    tabulate,
)
from perfc.view.report.units import Unit, share
from perfc.view.result import Records

from ..classes import HEAD, LONGEST, kernel_name
from ..facts import UNKNOWN_NS
from ..summary import TraceSummary
from .idle import KERNELS, CauseTime, QueueLength, idle_causes, queue_lengths
from .path import critical_path
from .stack import StackBy, StackTime, stack_times

IDLE, PATH = "idle", "path"
"""Breakdowns by other things than events of the host."""
TITLES = {
    IDLE: "idle time by cause",
    PATH: "critical path",
    **{
        StackBy.MODULE.value: "modules",
        StackBy.LINE.value: "source lines",
        StackBy.CALL.value: "call tree",
    },
}
"""Headings of breakdowns."""
OUTSIDE = "(outside)"
"""Row of the time outside of all modules or lines."""


@record
class Breakdown:
    """Time of a trace by what the host did.

    Args:
        by: ``module``, ``line``, ``call``, ``idle`` or ``path``.
        nodes: kernels by modules, lines or calls.
        causes: causes of the idle time, or what lies on the critical path, the longest first.
        queues: lengths of the queues of streams; empty except for ``idle``.
    """

    by: str
    nodes: tuple[StackTime, ...] = ()
    causes: tuple[CauseTime, ...] = ()
    queues: tuple[QueueLength, ...] = ()


def breakdown_of(summary: TraceSummary, by: str, path: str) -> Breakdown:
    """Return a breakdown of the trace in a file.

    Args:
        summary: the trace.
        by: ``module``, ``line``, ``call``, ``idle`` or ``path``.
        path: the file.

    Raises:
        ParseError: the trace lacks the time line or the events of the host that it needs.
    """
    if by not in (IDLE, PATH):
        return Breakdown(by, stack_times(summary, StackBy(by), path))
    if UNKNOWN_NS in summary.trace.launches.start_ns:
        raise ParseError("no time line of a device in it", where=path)
    if by == PATH:
        return Breakdown(by, causes=critical_path(summary))
    return Breakdown(by, causes=idle_causes(summary), queues=queue_lengths(summary.trace))


def breakdown_records(made: Breakdown) -> Records:
    """Return one row per node or cause, in base units."""
    names = [f.name for f in fields(CauseTime if made.by in (IDLE, PATH) else StackTime)]
    return names, [[getattr(row, n) for n in names] for row in made.nodes or made.causes]


def breakdown_sections(made: Breakdown, top: int | None) -> Iterator[Section]:
    """Yield the sections of a breakdown."""
    if made.by in (IDLE, PATH):
        parts = cause_parts(made, top)
    else:
        parts = node_parts(made.nodes, top, is_list=made.by == StackBy.LINE.value)
    yield Section(made.by, TITLES[made.by], tuple(parts))
    if made.queues:
        columns = (
            Column(
                "stream",
                is_name=True,
                cell=lambda q: (
                    f"device {q.device}" + (f", stream {q.stream}" if q.stream >= 0 else "")
                ),
            ),
            Column("launches", "launches", Unit.COUNT),
            Column("mean", cell=lambda q: f"{q.mean:.1f}"),
            Column("maximum", "maximum", Unit.COUNT),
            Column("empty_share", "empty", Unit.SHARE, "time without any launch"),
            Column("full_share", "full", Unit.SHARE, "time with 1,024, the limit of the driver"),
        )
        yield Section(
            "queues", "launches in the queues of streams", (tabulate(columns, made.queues),)
        )


def cause_parts(made: Breakdown, top: int | None) -> Iterator[Part]:
    """Yield the sums by cause, then the longest causes by name."""
    of_what = "of the path" if made.by == PATH else "of the idle time"
    sums: dict[str, float] = {}
    for c in made.causes:
        sums[c.cause] = sums.get(c.cause, 0.0) + c.time_s
    total_s = sum(sums.values())
    ordered = sorted(sums.items(), key=lambda x: -x[1])
    facts = [Fact("sum", Amount(total_s, Unit.SECOND), "")]
    for cause, time_s in ordered:
        facts.append(
            Fact(cause, Amount(time_s, Unit.SECOND), f"{share(time_s / total_s)} {of_what}")
        )
    yield Facts(tuple(facts))
    columns = (
        Column("name", is_name=True, cell=label_of),
        Column("cause", is_spare=True),
        Column("count", "count", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND),
        Column("share", of_what, Unit.SHARE),
    )
    named = [c for c in made.causes if c.name]
    if named:
        yield from excerpt(columns, named[:top], len(named), "name with less time")


def label_of(cause: CauseTime) -> Name:
    """Return the name of a cause; text omits namespaces and template parameters of kernels."""
    if cause.cause in KERNELS:
        return kernel_name(cause.name)
    return Name(cause.name, cause.name[:LONGEST], HEAD)


def node_parts(nodes: Sequence[StackTime], top: int | None, *, is_list: bool) -> Iterator[Part]:
    """Yield the table of the first nodes of a list, or of the longest nodes of a tree."""

    def indented(n: StackTime) -> Name:
        name = "  " * n.depth + (n.name or OUTSIDE)
        return Name(name, name[: LONGEST + 2 * n.depth], HEAD + 2 * n.depth)

    columns = [
        Column("name", is_name=True, cell=indented),
        Column("launches", "launches", Unit.COUNT),
        Column("time_s", "time", Unit.SECOND, "of all kernels launched in it"),
        Column("share", "of time", Unit.SHARE),
        Column("self_s", "self", Unit.SECOND, "of those that nothing inside launched"),
    ]
    # columns that would be empty are left out
    has_backward = any(n.backward_s for n in nodes)
    has_floor = any(n.floor_share is not None for n in nodes)
    if has_backward:
        text = "part that computes gradients, by the forward operator"
        columns.append(Column("backward_s", "backward", Unit.SECOND, text, is_spare=True))
    if has_floor:
        columns.append(Column("floor_share", "floor %", Unit.SHARE, "lower bound over time"))

    # no node takes longer than its parents, which therefore are among the longest too
    order = sorted(range(len(nodes)), key=lambda at: -nodes[at].time_s)[:top]
    shown = nodes[:top] if is_list else [nodes[at] for at in sorted(order)]
    yield from excerpt(columns, shown, len(nodes), "node with less time")
