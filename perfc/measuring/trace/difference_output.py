"""The difference of two traces as a document, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir.record import record
from perfc.view.report.formats import comma
from perfc.view.report.formats.document import (
    Amount,
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
from perfc.view.report.units import Unit, plural, share

from .difference import Match, TraceDifference
from .notes import notes_of
from .output import HEAD, kernel_name, noted

SCHEMA = "perfc-trace-diff/1"


@record
class KernelChangeView:
    """A kernel in both traces, or in one of them.

    Args:
        kernel: name in the new trace; in the old one if gone.
        operator: operator; empty if not recorded.
        shapes: extents of its tensors; empty if not recorded.
        class_name: class.
        match: how it was identified: by operator, shapes and name, by operator and shapes, by
            name; or new, or gone.
        old_launches: launches in the old trace.
        new_launches: launches in the new trace.
        old_s: time in the old trace; 0 if new.
        new_s: time in the new trace; 0 if gone.
        change_s: their difference.
    """

    kernel: str
    operator: str
    shapes: str
    class_name: str
    match: str
    old_launches: int
    new_launches: int
    old_s: float
    new_s: float
    change_s: float


@record
class ClassChangeView:
    """Times of one class of kernels in both traces."""

    class_name: str
    old_launches: int
    new_launches: int
    old_s: float
    new_s: float
    change_s: float


@record
class TraceDiffView:
    """Difference of two traces.

    Args:
        old: path of the old trace.
        new: path of the new trace.
        old_s: time of all kernels of the old trace.
        new_s: time of all kernels of the new trace.
        change_s: their difference, which is the sum over the kernels and over the classes.
        changed_s: part of it of kernels in both traces.
        appeared_s: part of it of new kernels.
        disappeared_s: part of it of kernels that are gone; not positive.
        classes: by class, the largest change first.
        kernels: by kernel, the largest change first.
        notes: sentences on what the traces lack.
    """

    old: str
    new: str
    old_s: float
    new_s: float
    change_s: float
    changed_s: float
    appeared_s: float
    disappeared_s: float
    classes: tuple[ClassChangeView, ...]
    kernels: tuple[KernelChangeView, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, paths: tuple[str, str], difference: TraceDifference) -> TraceDiffView:
        """Build the view of a difference."""
        parts = {m: sum(k.change_ns for k in difference.kernels if k.match is m) for m in Match}
        new, gone = parts.pop(Match.NEW), parts.pop(Match.GONE)
        old_ns, new_ns = difference.old.kernel_ns, difference.new.kernel_ns
        same = sum(parts.values())
        classes = (
            ClassChangeView(
                c.class_name.value, c.old_launches, c.new_launches, c.old_ns * 1e-9,
                c.new_ns * 1e-9, (c.new_ns - c.old_ns) * 1e-9,
            )
            for c in difference.classes
        )  # fmt: skip
        kernels = (
            KernelChangeView(
                k.kernel, k.operator, k.shapes, k.class_name.value, k.match.value, k.old_launches,
                k.new_launches, k.old_ns * 1e-9, k.new_ns * 1e-9, k.change_ns * 1e-9,
            )
            for k in difference.kernels
        )  # fmt: skip
        sides = zip(paths, (difference.old, difference.new), strict=True)
        notes = (f"{path}: {note}" for path, side in sides for note in notes_of(side.trace))
        return cls(
            *paths,
            old_ns * 1e-9,
            new_ns * 1e-9,
            (new_ns - old_ns) * 1e-9,
            same * 1e-9,
            new * 1e-9,
            gone * 1e-9,
            tuple(classes),
            tuple(kernels),
            tuple(notes),
        )


def to_json(view: TraceDiffView) -> str:
    """Return the JSON document, schema ``perfc-trace-diff/1``."""
    return strict(enveloped(SCHEMA, view), indent=2) + "\n"


def to_csv(view: TraceDiffView) -> str:
    """Return one row per kernel, in base units."""
    header = (
        "kernel", "operator", "shapes", "class", "match", "old_launches", "new_launches", "old_s",
        "new_s", "change_s",
    )  # fmt: skip
    rows = (
        (k.kernel, k.operator, k.shapes, k.class_name, k.match, k.old_launches, k.new_launches,
         k.old_s, k.new_s, k.change_s)
        for k in view.kernels
    )  # fmt: skip
    return comma.records(header, rows)


def document(view: TraceDiffView, top: int | None) -> Document:
    """Return the sections: totals, classes, kernels."""
    relative = share(view.change_s / view.old_s)
    facts = (
        Fact("old", Amount(view.old_s, Unit.SECOND), view.old),
        Fact("new", Amount(view.new_s, Unit.SECOND), view.new),
        Fact("change", Amount(view.change_s, Unit.SECOND), f"{relative} of the old kernel time"),
        Fact("same kernels", Amount(view.changed_s, Unit.SECOND), "change of kernels in both"),
        Fact("new kernels", Amount(view.appeared_s, Unit.SECOND), "only in the new trace"),
        Fact("gone kernels", Amount(view.disappeared_s, Unit.SECOND), "only in the old trace"),
    )
    sections = (
        *noted(view.notes),
        Section("summary", "Kernel time", (Facts(facts),)),
        Section("classes", "Kernels by class", (class_table(view),)),
        Section("kernels", "Kernels", tuple(kernel_parts(view, top))),
    )
    return Document("diff of traces", sections)


TIMES = (
    Column("old_launches", "old launches", Unit.COUNT, is_spare=True),
    Column("new_launches", "new launches", Unit.COUNT, is_spare=True, pair="old_launches"),
    Column("old_s", "old", Unit.SECOND),
    Column("new_s", "new", Unit.SECOND),
    Column("change_s", "change", Unit.SECOND),
)


def class_table(view: TraceDiffView) -> Table:
    """Return one row per class."""
    rows = tuple(
        (c.class_name, c.old_launches, c.new_launches, c.old_s, c.new_s, c.change_s)
        for c in view.classes
    )
    return Table((Column("class", "class", is_name=True), *TIMES), rows)


def kernel_parts(view: TraceDiffView, top: int | None) -> Iterator[Part]:
    """Yield the table of kernels that changed, and what it leaves out."""
    columns = (
        Column("kernel", "kernel", is_name=True),
        Column("operator", "operator"),
        Column("shapes", "shapes", is_spare=True),
        *TIMES,
        Column("match", "matched by"),
    )
    rows = tuple(
        (
            kernel_name(k.kernel), k.operator.removeprefix("aten::") or None,
            Name(k.shapes, k.shapes, HEAD) if k.shapes else None, k.old_launches, k.new_launches,
            k.old_s, k.new_s, k.change_s, k.match,
        )
        for k in view.kernels[:top]
    )  # fmt: skip
    yield Table(columns, rows)
    hidden = len(view.kernels) - len(rows)
    if hidden:
        yield Note(f"and {plural(hidden, 'kernel')} with smaller changes; --top all")
