"""Findings as Markdown tables and CSV."""

from __future__ import annotations

from collections.abc import Iterator

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
)
from perfc.view.report.units import Unit

from ..engine import LintOutcome
from ..finding import Finding
from .output import closing, groups, located, others, worth

HEADER = (
    "path",
    "target",
    "run_time_s",
    "code",
    "rule",
    "severity",
    "saves",
    "nodes",
    "tensor",
    "gain_s",
    "gain_share",
    "gain_floor_s",
    "basis",
    "saved_bytes",
    "fixable",
    "fingerprint",
    "message",
    "advice",
)
COLUMNS = (
    Column("code", "rule"),
    Column("place", "at", is_name=True),
    Column("message", "what", is_name=True, wraps=True),
    Column("gain_s", "gain", Unit.SECOND),
    Column("share", "of the run", Unit.SHARE),
    Column("floor_s", "floor of the gain", Unit.SECOND),
    Column("worth", "saves", is_name=True, wraps=True),
    Column("advice", "advice", is_name=True, wraps=True),
)


def csv_form(outcome: LintOutcome) -> str:
    """Format findings as CSV, with a line for each file that could not be analyzed."""
    return comma.records(HEADER, csv_rows(outcome))


def csv_rows(outcome: LintOutcome) -> Iterator[tuple[comma.Field, ...]]:
    """Yield the rows of ``csv_form``."""
    about = {x.path: (x.target, x.time_s) for x in outcome.files}
    for path, f in located(outcome):
        g = f.gain
        gain = (g.time_s, g.share, g.floor_s, g.basis.value) if g else (None, None, None, "")
        yield (
            path,
            *about.get(path, ("", None)),
            f.code,
            f.rule,
            f.severity.value,
            f.saves.value,
            f.nodes,
            f.tensor,
            *gain,
            f.saved_bytes,
            f.is_fixable,
            f.fingerprint,
            f.message,
            f.advice,
        )
    for line in outcome.errors:
        blank = (None,) * (len(HEADER) - 6)
        yield line.partition(":")[0], "", None, "error", *blank, line, ""


def markdown_form(outcome: LintOutcome) -> str:
    """Format one table per file with findings, with equal findings in one row."""
    sections = [
        Section(
            "findings", x.path, (Table(COLUMNS, tuple(row(g.first, g.places) for g in grouped)),)
        )
        for x in outcome.files
        if (grouped := groups(x))
    ]
    for path in dict.fromkeys(path for path, _ in outcome.configuration):
        rows = tuple(row(f, (f.place,)) for at, f in outcome.configuration if at == path)
        sections.append(Section("configuration", path, (Table(COLUMNS, rows),)))
    errors: list[Part] = [Note(e, is_warning=True) for e in outcome.errors]
    summary = Section("summary", "summary", (*errors, *map(Note, closing(outcome))))
    return markdown.render(Document("perfc lint", (*sections, summary)))


def row(f: Finding, places: tuple[str, ...]) -> tuple[Cell, ...]:
    """Return the row of a finding and its equals."""
    mark = " [*]" if f.is_fixable else ""
    at = places[0] if len(places) == 1 else f"{others(places)} ({len(places)} places)"
    gain = f.gain
    return (
        f"{f.code}{mark}",
        Name(at, at),
        f.message,
        gain.time_s if gain else None,
        gain.share if gain else None,
        gain.floor_s if gain else None,
        "" if gain and gain.time_s else worth(f),
        f.advice,
    )
