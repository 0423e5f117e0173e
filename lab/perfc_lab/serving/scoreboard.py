"""The scoreboard of served models as a page, text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import ClassVar

from perfc.ir.record import record
from perfc.view.presentation import WIDTH
from perfc.view.report.formats.document import Column, Document, Note, Section, Table
from perfc.view.report.units import plural

from ..training.fitted_rows import sentence
from .checks import RunCheck, llama_cpp, replays
from .scores import ServingEvidence, ServingScore, scored

SPEEDS = "generate", "prompt"
"""Phases of llama.cpp's runs, each in tokens a second."""


@record
class ServingScoreboard:
    """Everything that was compared.

    Args:
        scores: by folds.
        checks: of single runs.
        unanswered: rows that gave no answer, by reason.
    """

    document: ClassVar[str] = "perfc-eval-serving/1"
    scores: tuple[ServingScore, ...]
    checks: tuple[RunCheck, ...]
    unanswered: dict[str, int]


def scoreboard(evidence: ServingEvidence, data: Path) -> ServingScoreboard:
    """Of evidence, and of the checks of a folder of tables."""
    reasons: dict[str, int] = {}
    for missed in evidence.unanswered:
        name = f"{missed.row.source}: {missed.reason}"
        reasons[name] = reasons.get(name, 0) + 1
    checks = (*replays(data), *llama_cpp(data))
    return ServingScoreboard(tuple(scored(evidence)), checks, reasons)


def written(evidence: ServingEvidence, data: Path, form: str, by: str) -> str:
    """The scoreboard in a format."""
    from perfc.view.report.formats import markdown, text
    from perfc.view.report.formats.json_form import enveloped, strict

    found = scoreboard(evidence, data)
    if form == "json":
        return strict(enveloped(found.document, found), indent=2) + "\n"
    page = document(found, by)
    return markdown.render(page) if form == "markdown" else text.render(page, WIDTH)


def document(found: ServingScoreboard, by: str) -> Document:
    """One table of folds, one of runs, and what has no answer."""
    columns = (
        Column("source", "table"), Column("quantity", "quantity"), Column("rows", "rows"),
        Column("folds", "left out"), Column("count", "n"), Column("mean", "mean error"),
        Column("median", "median"), Column("tau", "tau"), Column("held", "in range"),
    )  # fmt: skip
    rows = tuple(
        (
            s.source, s.quantity.value, s.rows, s.folds, str(s.count), f"{s.mean:.1%}",
            f"{s.median:.1%}", f"{s.tau:.2f}", f"{s.held:.0%}",
        )
        for s in found.scores
    )  # fmt: skip
    fitted = Note(sentence("serving", is_markdown=False))
    folds = Section("folds", "folds", (Table(columns, rows), fitted))
    missed = tuple(Note(f"{count} × {reason}") for reason, count in found.unanswered.items())
    return Document(
        "Served language models",
        (
            folds,
            _checks(found.checks),
            Section("missed", "rows without an answer", (*missed, Note(by))),
        ),
    )


def _checks(checks: Sequence[RunCheck]) -> Section:
    """Replays one by one, llama.cpp summed up."""
    columns = (
        Column("row", "run"), Column("quantity", "quantity"), Column("measured", "measured"),
        Column("predicted", "predicted"), Column("error", "error"),
    )  # fmt: skip
    single = [c for c in checks if c.quantity in ("TTFT", "TPOT", "makespan")]
    rows = tuple(
        (c.row, c.quantity, f"{c.measured:.4g} s", f"{c.predicted:.4g} s", f"{c.error:+.1%}")
        for c in single
    )
    notes: list[Note] = []
    for names in (("fits",), *((speed,) for speed in SPEEDS), SPEEDS):
        name, errors = " and ".join(names), [abs(c.error) for c in checks if c.quantity in names]
        if errors and name == "fits":
            right = sum(e == 0 for e in errors)
            notes.append(Note(f"llama.cpp: {right} of {len(errors)} fit or not as said"))
        elif errors:
            each = f"{mean(errors):.1%} mean, {median(errors):.1%} median error"
            notes.append(Note(f"llama.cpp {name}: {each} of {plural(len(errors), 'row')}"))
    return Section("checks", "checks", (Table(columns, rows), *notes))
