"""Difference of traces: kernels matched by operator, shapes and name; totals add up exactly.

Times are whole nanoseconds, so that in every grouping the sums are the totals without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from string import ascii_uppercase
from typing import ClassVar

from perfc.errors import ParseError
from perfc.ir import record
from perfc.ir.record import project
from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Part,
    Section,
    Table,
    excerpt,
    tabulate,
)
from perfc.view.report.units import Unit, share
from perfc.view.result import Records, Result, ResultLayout

from .analyses.stack import RECORD, StackBy, chains_of
from .classes import abbreviated, called, kernel_name
from .facts import DeviceTrace
from .notes import notes_of
from .output import noted
from .summary import KernelTime, TraceSummary


class Match(Enum):
    """Ways to identify a kernel of one trace in another, the safest first."""

    EXACT = "operator, shapes, name"
    OPERATOR = "operator, shapes"
    NAME = "name"
    NEW = "new"
    GONE = "gone"


@record
class GroupChange:
    """Launches and times of the kernels of one name in every trace.

    Args:
        name: name of the operator, class or module; empty for kernels without one.
        launches: launches in each trace.
        times_ns: time in each trace.
    """

    name: str
    launches: tuple[int, ...]
    times_ns: tuple[int, ...]


@record
class KernelChange:
    """A kernel in every trace, or in some of them.

    Args:
        kernel: name in the last trace that has it.
        operator: operator; empty if not recorded.
        shapes: extents of its tensors; empty if not recorded.
        class_name: class.
        match: least safe way in which it was identified; ``new`` if the first trace does not have
            it, ``gone`` if only the first has it.
        launches: launches in each trace.
        times_ns: time in each trace.
    """

    kernel: str
    operator: str
    shapes: str
    class_name: str
    match: Match
    launches: tuple[int, ...]
    times_ns: tuple[int, ...]


Change = GroupChange | KernelChange
"""Row of any table of the difference."""


@record
class TraceDifference(Result):
    """Difference of traces, each against the first.

    Args:
        paths: paths of the traces.
        times_ns: time of all kernels of each trace, which is the sum over every grouping.
        changed_ns: change of kernels that are in the first trace and in this.
        appeared_ns: time of kernels that the first trace does not have.
        disappeared_ns: change by kernels that only the first trace has; not positive.
        classes: by class, the largest change first.
        operators: by operator, without shapes.
        kernels: by kernel, operator and shapes.
        notes: sentences on what the traces lack.
        by: kind of events of the host by which ``stacks`` sum; empty without them.
        stacks: by module, line or path of calls around the launches.
    """

    layout: ClassVar[str] = "perfc.measuring.trace.difference:LAYOUT"
    paths: tuple[str, ...]
    times_ns: tuple[int, ...]
    changed_ns: tuple[int, ...]
    appeared_ns: tuple[int, ...]
    disappeared_ns: tuple[int, ...]
    classes: tuple[GroupChange, ...]
    operators: tuple[GroupChange, ...]
    kernels: tuple[KernelChange, ...]
    notes: tuple[str, ...]
    by: str = ""
    stacks: tuple[GroupChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return True if every kernel has the same launches and time in every trace."""
        return all(len({*k.launches}) == len({*k.times_ns}) == 1 for k in self.kernels)


Key = tuple[str, ...]
"""Operator, shapes and name of a kernel, or a part of them."""
# without an operator the key of the second way is empty, which matches nothing
KEYS: Mapping[Match, Callable[[Key], Key]] = {
    Match.EXACT: lambda key: key,
    Match.OPERATOR: lambda key: key[:2] if key[0] else (),
    Match.NAME: lambda key: key[2:],
}
"""Parts of operator, shapes and name that identify a kernel; each way gets the kernels that those
before it did not match."""


def difference(
    paths: Sequence[str], sides: Sequence[TraceSummary], by: StackBy | None = None
) -> TraceDifference:
    """Return the difference of traces, of which the first is compared with each other one.

    Args:
        paths: paths of the traces.
        sides: the traces.
        by: events of the host by which kernels are summed too; None for none.

    Raises:
        ParseError: no trace has such events.
    """
    kernels = kernel_changes(sides)
    notes = (
        f"{path}: {n}" for path, s in zip(paths, sides, strict=True) for n in notes_of(s.trace)
    )

    def change_of(is_counted: Callable[[int, int], bool]) -> tuple[int, ...]:
        # of each trace, summed over kernels chosen by their launches in the first trace and in it
        return tuple(
            sum(
                k.times_ns[at] - k.times_ns[0]
                for k in kernels
                if is_counted(k.launches[0], k.launches[at])
            )
            for at in range(len(sides))
        )

    stacks = () if by is None else grouped([launched_by(s.trace, by) for s in sides])
    if by is not None and not any(g.name for g in stacks):
        raise ParseError(f"no {by.value}s of the host in them", where=paths[0], hint=RECORD)
    return TraceDifference(
        tuple(paths),
        tuple(s.kernel_ns for s in sides),
        changed_ns=change_of(lambda old, new: old > 0 and new > 0),
        appeared_ns=change_of(lambda old, _: old == 0),
        disappeared_ns=change_of(lambda old, new: old > 0 and new == 0),
        classes=grouped(
            [[(k.class_name.value, k.launches, k.time_ns) for k in s.kernels] for s in sides]
        ),
        operators=grouped(
            [[(k.operator, k.launches, k.time_ns) for k in s.kernels] for s in sides]
        ),
        kernels=kernels,
        notes=tuple(notes),
        by=by.value if by else "",
        stacks=stacks,
    )


def launched_by(trace: DeviceTrace, by: StackBy) -> Iterator[tuple[str, int, int]]:
    """Yield a row of each launch: the events of the host around it, 1 launch, and its time."""
    for (chain, _), time_ns in zip(chains_of(trace, by), trace.launches.duration_ns, strict=True):
        # a line is the innermost frame, a module or call the path to it
        inner = chain[-1:] if by is StackBy.LINE else chain
        yield "/".join(label.name for label in inner), 1, time_ns


def grouped(sides: Sequence[Iterable[tuple[str, int, int]]]) -> tuple[GroupChange, ...]:
    """Return the sums over rows of name, launches and time, the largest change first."""
    sums: dict[str, tuple[list[int], list[int]]] = {}
    for at, side in enumerate(sides):
        for name, number, time_ns in side:
            launches, times_ns = sums.setdefault(name, ([0] * len(sides), [0] * len(sides)))
            launches[at] += number
            times_ns[at] += time_ns
    changes = (GroupChange(name, *map(tuple, columns)) for name, columns in sums.items())
    return tuple(sorted(changes, key=lambda g: (*rank(g), g.name)))


def summed(
    count: int, rows: Iterator[tuple[int, int, int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return launches and times of each trace, of rows of trace, launches and time."""
    launches, times_ns = [0] * count, [0] * count
    for at, number, time_ns in rows:
        launches[at] += number
        times_ns[at] += time_ns
    return tuple(launches), tuple(times_ns)


def rank(change: Change) -> tuple[int, int]:
    """Return an order by the largest change against the first trace, then by the last time."""
    first, *others = change.times_ns
    return -max(abs(ns - first) for ns in others), -change.times_ns[-1]


def kernel_changes(sides: Sequence[TraceSummary]) -> tuple[KernelChange, ...]:
    """Return the kernels of all traces, matched with those of the first.

    ``rows`` is a forest: kernels that match are one row, represented by the key at its root.
    """
    first, *others = ({key_of(k) for k in side.kernels} for side in sides)
    rows = {key: key for keys in (first, *others) for key in keys}
    ways: dict[Key, Match] = {}
    for keys in others:
        # equal keys match already; the others are matched by fewer and fewer parts of the key
        left, right = sorted(first - keys), sorted(keys - first)
        for way, part in KEYS.items():
            shared = ({*map(part, left)} & {*map(part, right)}) - {()}
            first_of: dict[Key, Key] = {}  # first kernel by the part of its key
            for key in (k for k in (*left, *right) if part(k) in shared):
                # the row of this kernel joins that of the first kernel with an equal part; kernels
                # of ``left`` come first, so that a kernel of the first trace represents the row
                rows[row_of(rows, key)] = row_of(rows, first_of.setdefault(part(key), key))
                ways[key] = way
            left, right = ([k for k in side if part(k) not in shared] for side in (left, right))
    members: dict[Key, list[tuple[int, KernelTime]]] = {}
    for at, side in enumerate(sides):
        for k in side.kernels:
            members.setdefault(row_of(rows, key_of(k)), []).append((at, k))
    changes = (changed(len(sides), group, ways) for group in members.values())
    return tuple(sorted(changes, key=lambda c: (*rank(c), c.kernel, c.shapes)))


def key_of(k: KernelTime) -> Key:
    """Return operator, shapes and name of a kernel."""
    return k.operator, k.shapes, k.kernel


def row_of(rows: Mapping[Key, Key], key: Key) -> Key:
    """Return the key that represents the row of a kernel."""
    # up to the root, whose row is itself
    while rows[key] != key:
        key = rows[key]
    return key


def changed(
    count: int, group: Sequence[tuple[int, KernelTime]], ways: Mapping[Key, Match]
) -> KernelChange:
    """Return the change of one kernel, from its times by number of the trace."""
    launches, times_ns = summed(count, ((at, k.launches, k.time_ns) for at, k in group))
    if not launches[0]:
        match = Match.NEW
    elif not any(launches[1:]):
        match = Match.GONE
    else:
        used = {ways.get(key_of(k), Match.EXACT) for _, k in group}
        # the safest is first in the enum, so this is the least safe of those used
        match = [m for m in Match if m in used][-1]
    # names are those of the last trace that has the kernel
    k = max(group, key=lambda member: member[0])[1]
    return project(KernelChange, k, match=match, launches=launches, times_ns=times_ns)


def records(made: TraceDifference) -> Records:
    """Return one row per kernel, in base units."""
    columns = [Column(name) for name in ("kernel", "operator", "shapes", "match")]
    columns.insert(3, Column("class", cell=lambda k: k.class_name))
    table = tabulate((*columns, *times(made)), made.kernels)
    return [c.name for c in table.columns], [*map(list, table.rows)]


def labels(made: TraceDifference) -> tuple[str, ...]:
    """Return the titles of the traces: old and new of two, else letters."""
    count = len(made.paths)
    return ("old", "new") if count == 2 else tuple(ascii_uppercase[:count])


def document(made: TraceDifference, top: int | None = None) -> Document:
    """Return the sections: totals, classes, operators, kernels."""
    names, totals = labels(made), made.times_ns
    pairs = zip(names, totals, made.paths, strict=True)
    facts = [Fact(name, Amount(ns * 1e-9, Unit.SECOND), path) for name, ns, path in pairs]
    for at, name in enumerate(names[1:], 1):
        which = "" if len(names) == 2 else f" {name}"
        relative = share((totals[at] - totals[0]) / totals[0]) if totals[0] else "none"
        rows = (
            ("change", totals[at] - totals[0], f"{relative} of the {names[0]} kernel time"),
            ("same kernels", made.changed_ns[at], "change of kernels in both"),
            ("new kernels", made.appeared_ns[at], f"only in the {name} trace"),
            ("gone kernels", made.disappeared_ns[at], f"only in the {names[0]} trace"),
        )
        facts += [Fact(t + which, Amount(ns * 1e-9, Unit.SECOND), words) for t, ns, words in rows]
    sections = [
        *noted(made.notes),
        Section("summary", "kernel time", (Facts(tuple(facts)),)),
        Section("classes", "kernels by class", (group_table(made, "class", made.classes),)),
    ]
    if any(g.name for g in made.operators):
        table = group_table(made, "operator", made.operators[:top])
        sections.append(Section("operators", "kernels by operator", (table,)))
    if made.by:
        table = group_table(made, made.by, made.stacks[:top])
        sections.append(Section(f"{made.by}s", f"kernels by {made.by}", (table,)))
    kernels = Section("kernels", "kernels", tuple(kernel_parts(made, top)))
    return Document("diff of traces", (*sections, kernels))


def times(made: TraceDifference) -> tuple[Column, ...]:
    """Return the columns of launches and times of each trace, and of changes."""
    names = labels(made)

    def launched(k: Change, at: int) -> int:
        return k.launches[at]

    launches = (
        Column(
            f"{name}_launches",
            f"{name} launches",
            Unit.COUNT,
            is_spare=True,
            # narrow pages omit the columns of launches together
            pair=f"{names[at - 1]}_launches" if at else "",
            cell=partial(launched, at=at),
        )
        for at, name in enumerate(names)
    )

    def time(at: int, name: str, less: int | None = None) -> Column:
        def cell(k: Change) -> float:
            return (k.times_ns[at] - (0 if less is None else k.times_ns[less])) * 1e-9

        return Column(name.replace(" ", "_") + "_s", name, Unit.SECOND, cell=cell)

    which = (f"change {name}" if len(names) > 2 else "change" for name in names[1:])
    changes = (time(at, name, 0) for at, name in enumerate(which, 1))
    return *launches, *(time(at, name) for at, name in enumerate(names)), *changes


def group_table(made: TraceDifference, title: str, groups: Sequence[GroupChange]) -> Table:
    """Return one row per class, operator or module."""
    name = Column(title, is_name=True, cell=lambda g: called(g.name) or "not recorded")
    return tabulate((name, *times(made)), groups)


def kernel_parts(made: TraceDifference, top: int | None) -> Iterator[Part]:
    """Return the table of kernels that changed, and what it leaves out."""
    columns = (
        Column("kernel", is_name=True, cell=lambda k: kernel_name(k.kernel)),
        Column("operator", cell=lambda k: called(k.operator)),
        Column("shapes", is_spare=True, cell=lambda k: abbreviated(k.shapes)),
        *times(made),
        Column("match", "matched by"),
    )
    shown = made.kernels[:top]
    return excerpt(columns, shown, len(made.kernels), "kernel with smaller changes")


LAYOUT = ResultLayout("perfc-trace-diff/1", TraceDifference, document, rows=records)
