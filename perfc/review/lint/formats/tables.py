"""Findings as Markdown tables and CSV."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from perfc.view.report.formats import comma, markdown
from perfc.view.report.formats.document import (
    Cell,
    Column,
    Document,
    Name,
    Note,
    Part,
    Section,
    Table,
    tabulate,
)
from perfc.view.report.units import Unit

from ..engine import LintOutcome
from .output import FindingGroup, closing, groups, located, others, worth


def of_gain(name: str) -> Callable[[FindingGroup], float | None]:
    """Return a cell function: an attribute of the gain, None without a gain."""
    return lambda g: getattr(g.first.gain, name, None)


def plain(name: str, path: str = "") -> Column:
    """Return a column of CSV: the attribute ``path`` of the finding, by default ``name``."""
    return Column(name, cell=attrgetter(f"first.{path or name}"))


GAINS = (
    Column("gain_s", "gain", Unit.SECOND, cell=of_gain("time_s")),
    Column("gain_share", "of the run", Unit.SHARE, cell=of_gain("share")),
    Column("gain_floor_s", "at least", Unit.SECOND, cell=of_gain("floor_s")),
)
"""Columns of the gain, in Markdown and CSV."""
MESSAGE = Column("message", "what", is_name=True, wraps=True, cell=attrgetter("first.message"))
ADVICE = Column("advice", is_name=True, wraps=True, cell=attrgetter("first.advice"))


def place(g: FindingGroup) -> Name:
    """Return the places of equal findings."""
    at = g.places[0] if len(g.places) == 1 else f"{others(g.places)} ({len(g.places)} places)"
    return Name(at, at)


def saves(g: FindingGroup) -> str:
    """Return the benefit of a fix in words where it is not a time."""
    return "" if g.first.gain and g.first.gain.time_s else worth(g.first)


COLUMNS = (
    Column("code", "rule", cell=lambda g: g.first.code + (" [*]" if g.first.is_fixable else "")),
    Column("place", "at", is_name=True, cell=place),
    MESSAGE,
    *GAINS,
    Column("worth", "saves", is_name=True, wraps=True, cell=saves),
    ADVICE,
)
"""Columns of Markdown tables."""
FIELDS = (
    plain("code"),
    plain("rule"),
    plain("severity", "severity.value"),
    plain("saves", "saves.value"),
    plain("nodes"),
    plain("tensor"),
    *GAINS,
    Column("basis", cell=lambda g: g.first.gain.basis.value if g.first.gain else ""),
    plain("saved_bytes"),
    plain("fixable", "is_fixable"),
    plain("fingerprint"),
    MESSAGE,
    ADVICE,
)
"""Columns of CSV, after those of the file."""


def csv_form(outcome: LintOutcome) -> str:
    """Format findings as CSV, with a line for each file that could not be analyzed."""
    about = {x.path: (x.target, x.time_s) for x in outcome.files}
    pairs = list(located(outcome))
    table = tabulate(FIELDS, (FindingGroup(f, ()) for _, f in pairs))
    rows: list[tuple[Cell, ...]] = [
        (path, *about.get(path, ("", None)), *cells)
        for (path, _), cells in zip(pairs, table.rows, strict=True)
    ]
    # all fields but code, message and advice
    blank = (None,) * (len(FIELDS) - 3)
    rows += [(e.partition(":")[0], "", None, "error", *blank, e, "") for e in outcome.errors]
    files = [Column(name) for name in ("path", "target", "run_time_s")]
    return comma.of(Table((*files, *table.columns), tuple(rows)))


def markdown_form(outcome: LintOutcome) -> str:
    """Format one table per file with findings, with equal findings in one row."""
    sections = [
        Section("findings", x.path, (tabulate(COLUMNS, grouped),))
        for x in outcome.files
        if (grouped := groups(x))
    ]
    for path in dict.fromkeys(path for path, _ in outcome.configuration):
        rows = [FindingGroup(f, (f.place,)) for file, f in outcome.configuration if file == path]
        sections.append(Section("configuration", path, (tabulate(COLUMNS, rows),)))
    errors: list[Part] = [Note(e, is_warning=True) for e in outcome.errors]
    summary = Section("summary", "summary", (*errors, *map(Note, closing(outcome))))
    return markdown.render(Document("perfc lint", (*sections, summary)))
