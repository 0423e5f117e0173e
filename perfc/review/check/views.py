"""Rows of a check, common to all formats."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path

from perfc.common.repository import from_here
from perfc.frontend.reading.module_name import is_named
from perfc.ir import record
from perfc.ir.record import project
from perfc.review.diff.figures import BY_KEY, Metric, percent, signed
from perfc.review.diff.lines import LineRow
from perfc.view.report.formats import comma
from perfc.view.report.formats.document import (
    Column,
    Document,
    Name,
    Note,
    Section,
    Table,
    tabulate,
)
from perfc.view.report.formats.json_form import document_text
from perfc.view.report.units import plural, written

from .lock.baseline import KEYS
from .run import CheckResult
from .verdict import BaselineStatus, LimitExceeded, Outcome, Result

SCHEMA = "perfc-check/1"  # of the JSON document
SHOWN = (
    Metric.TIME,
    Metric.FLOOR,
    Metric.ENERGY,
    Metric.COST,
    Metric.FLOP,
    Metric.TRAFFIC,
    Metric.PARAMETERS,
    Metric.WEIGHTS,
    Metric.PEAK_MEMORY,
    Metric.KERNELS,
    Metric.UNKNOWN,
)
"""Metrics of the table of changed figures, in order."""
MOST_NAMED = 5
"""Maximum models in the line that explains how to accept them."""
MARKS = {Outcome.PASS: "ok", Outcome.WARN: "warn", Outcome.FAIL: "FAIL"}
"""Words for outcomes in tables."""


@record
class FigureRow:
    """A figure with the baseline's, None if missing."""

    metric: str
    unit: str
    value: float
    baseline: float | None
    low: float | None
    high: float | None
    is_bound: bool
    baseline_is_bound: bool


FIGURES = [f.name for f in fields(FigureRow)]
"""Names of the fields of a figure."""


@record
class FindingRow:
    """An exceeded limit, as text and numbers.

    Args:
        change_low: lower end of the 90 % interval of value minus baseline, if the models were
            compared.
        change_high: its upper end.
    """

    outcome: str
    metric: str
    value: float
    baseline: float | None
    limit: float
    text: str
    reason: str
    message: str
    change_low: float | None = None
    change_high: float | None = None


@record
class ResultRow:
    """A model under one setting.

    Args:
        model: file relative to the current folder.
        setting: target, runtime, sizes.
        standing: same, changed, new, removed or skipped.
        outcome: pass, warn or fail.
        was_analysed: True if analyzed now.
        why: operators that explain the change; empty if not requested.
        source: file and line of the code of the first of them; empty if unknown.
        lines: changed lines of code, with what each costs.
    """

    model: str
    setting: str
    standing: str
    outcome: str
    was_analysed: bool
    figures: tuple[FigureRow, ...]
    findings: tuple[FindingRow, ...]
    notes: tuple[str, ...]
    why: str = ""
    source: str = ""
    lines: tuple[LineRow, ...] = ()


@record
class CheckViews:
    """All rows of a check."""

    outcome: str
    is_complete: bool
    baseline: str
    results: tuple[ResultRow, ...]
    errors: tuple[str, ...]
    notes: tuple[str, ...]


def collect(*checks: CheckResult) -> CheckViews:
    """Collect the rows of checks of one or several projects."""
    rows = (result_row(r, c.root) for c in checks for r in c.results)
    return CheckViews(
        max((c.outcome for c in checks), default=Outcome.PASS).value,
        all(c.is_complete for c in checks),
        ", ".join(dict.fromkeys(c.baseline for c in checks if c.baseline)),
        # the results of one check are sorted already
        tuple(rows if len(checks) == 1 else sorted(rows, key=lambda r: r.model)),
        tuple(e for c in checks for e in c.errors),
        tuple(dict.fromkeys(n for c in checks for n in c.notes)),
    )


def result_row(r: Result, root: Path) -> ResultRow:
    """Return the row of one model, named relative to ``root``."""
    figures = []
    for metric in KEYS:
        new = r.entry.figures.get(metric) if r.entry else None
        old = r.baseline.figures.get(metric) if r.baseline else None
        if new is not None:
            row = project(
                FigureRow,
                new,
                metric=metric.key,
                unit=metric.unit.value,
                baseline=old and old.value,
                baseline_is_bound=old is not None and old.is_bound,
            )
            figures.append(row)
    return project(
        ResultRow,
        r,
        model=r.case.model if is_named(r.case.model) else from_here(root, r.case.model),
        setting=setting_of(r),
        figures=tuple(figures),
        findings=tuple(map(finding_row, r.findings)),
        source=from_here(root, r.source) if r.source else "",
        lines=tuple([replace(line, source=from_here(root, line.source)) for line in r.lines]),
    )


def setting_of(r: Result) -> str:
    """Return the setting of a model with its sizes; "" if it has no budget."""
    entry = r.entry or r.baseline  # a removed model has a baseline only
    if entry is not None and entry.sizes:
        return entry.setting(r.case)
    return r.case.setting if r.case.target else ""


def finding_row(f: LimitExceeded) -> FindingRow:
    """Return the view of one exceeded limit."""
    unit = f.metric.unit
    value = written(f.value, unit)
    limit = written(f.limit, unit)
    # the limit as the budget has it, if its unit is another one
    as_written = "" if f.text.endswith(limit.split()[-1]) else f" ({f.text.strip()})"
    text = f"{f.metric.key} {value} exceeds {limit}{as_written}"
    if f.baseline is not None and f.is_relative:
        change = signed(f.value - f.baseline, unit)
        part = percent((f.value - f.baseline) / f.baseline if f.baseline else None)
        if f.change is not None:
            part = f"{part}, {signed(f.change[0], unit)} .. {signed(f.change[1], unit)}"
        text = f"{f.metric.key} {written(f.baseline, unit)} -> {value}, {change} ({part})"
        text += f", allowed {f.text.strip()}"
    if f.reason:
        text += f"; {f.reason}"
    low, high = f.change or (None, None)
    return project(
        FindingRow, f, metric=f.metric.key, message=text, change_low=low, change_high=high
    )


def to_json(views: CheckViews) -> str:
    """Format everything as JSON with sorted keys."""
    return document_text(SCHEMA, views, sort_keys=True)


def to_csv(views: CheckViews) -> str:
    """Format every figure of every model as CSV, with the worst exceeded limit."""
    header = ["model", "setting", "standing", "was_analysed", *FIGURES, "outcome", "message"]
    return comma.records(header, csv_rows(views))


def csv_rows(views: CheckViews) -> Iterator[list[comma.Field]]:
    """Yield the rows of ``to_csv``; models without figures have one."""
    for r in views.results:
        head: list[comma.Field] = [r.model, r.setting, r.standing, r.was_analysed]
        for f in r.figures:
            worst = next((w for w in r.findings if w.metric == f.metric), None)
            verdict = (worst.outcome, worst.message) if worst else (Outcome.PASS.value, "")
            yield [*head, *(getattr(f, n) for n in FIGURES), *verdict]
        if not r.figures:
            yield [*head, *(None for _ in FIGURES), r.outcome, "; ".join(r.notes)]
    for line in views.errors:
        model, _, words = line.partition(": ")
        yield [model, "", "error", False, *(None for _ in FIGURES), "error", words]


def document(views: CheckViews, *, with_errors: bool = True) -> Document:
    """Build the document: exceeded limits, changes, new models, models without a budget.

    Errors are omitted if they are printed elsewhere.
    """
    sections = []
    if views.errors and with_errors:
        notes = tuple(Note(e, is_warning=True) for e in views.errors)
        sections.append(Section("errors", "not checked", notes))
    exceeded = [(r, f) for r in views.results for f in r.findings]
    if exceeded:
        # cells of pairs of a result and one of its findings
        columns = (
            Column("outcome", "", cell=lambda e: MARKS[Outcome(e[1].outcome)]),
            Column("model", is_name=True, cell=lambda e: Name(e[0].model, e[0].model)),
            Column("setting", "on", is_name=True, wraps=True, cell=lambda e: e[0].setting),
            Column("message", "limit", wraps=True, is_name=True, cell=lambda e: e[1].message),
        )
        steps = [Note(line) for line in next_steps(views)]
        table = tabulate(columns, exceeded)
        sections.append(Section("findings", "limits exceeded", (table, *steps)))
    sections += [s for s in (changed(views), others(views)) if s is not None]
    sections.append(Section("summary", "summary", tuple(summary(views))))
    against = f" against {views.baseline}" if views.baseline else ", no baseline"
    return Document(f"check{against}", tuple(sections))


def next_steps(views: CheckViews) -> Iterator[str]:
    """Yield the operators behind each exceeded limit, and how to accept intended growth."""
    for r in views.results:
        if r.findings and r.why:
            yield from explanation(r)
    accepted = dict.fromkeys(
        r.model
        for r in views.results
        for f in r.findings
        if f.outcome == "fail" and f.baseline is not None and f.text.strip().startswith("+")
    )
    if accepted:
        named = " ".join(map(shlex.quote, [*accepted][:MOST_NAMED]))
        more = "" if len(accepted) <= MOST_NAMED else f" ... ({len(accepted) - MOST_NAMED} more)"
        yield f"intended? perfc check --write-baseline {named}{more}"


def explanation(r: ResultRow) -> list[str]:
    """Return the changed lines of code with their costs, or else the operators of a change."""
    return [*map(str, r.lines)] or [f"{r.model}: {r.why}"]


def changed(views: CheckViews) -> Section | None:
    """Return the section of models with changed figures."""
    rows = list[ChangedFigure]()
    parts: list[Table | Note] = []
    for r in views.results:
        if r.standing == BaselineStatus.CHANGED.value:
            rows += changes(r.model, r.figures)
            parts += [Note(f"{r.model}: {n}") for n in r.notes]
            if r.why and not r.findings:
                parts += map(Note, explanation(r))
    if not rows:
        return None
    return Section("changed", "changed", (tabulate(CHANGED, rows), *parts))


@record
class ChangedFigure:
    """A changed figure of a model, as text."""

    model: Name
    metric: str
    old: str
    new: str
    change: str = ""
    relative: str = ""


CHANGED = (
    Column("model", is_name=True),
    Column("metric"),
    Column("old", "baseline"),
    Column("new", "now"),
    Column("change"),
    Column("relative", "%"),
)


def changes(name: str, figures: Iterable[FigureRow]) -> Iterator[ChangedFigure]:
    """Yield the changed figures of a model; new ones have no change."""
    model = Name(name, name)
    by_key = {f.metric: f for f in figures}
    for metric in SHOWN:
        f = by_key.get(metric.key)
        if f is None or (f.baseline is not None and f.value == f.baseline):
            continue
        if f.baseline is None:
            now = written(f.value, metric.unit, is_bound=f.is_bound)
            yield ChangedFigure(model, metric.key, "new", now)
            continue
        delta = f.value - f.baseline
        # a baseline has six significant digits: smaller differences are its rounding
        if abs(delta) <= 1e-5 * abs(f.baseline):
            continue
        part = percent(delta / f.baseline if f.baseline else None)
        yield ChangedFigure(
            model,
            metric.key,
            written(f.baseline, metric.unit, is_bound=f.baseline_is_bound),
            written(f.value, metric.unit, is_bound=f.is_bound),
            signed(delta, metric.unit),
            part,
        )


def others(views: CheckViews) -> Section | None:
    """Return the section of new and removed models and those without a budget."""
    columns = (
        Column("standing", ""),
        Column("model", is_name=True),
        Column("what", "", is_name=True, wraps=True),
    )
    rows = []
    for r in views.results:
        if r.standing in ("new", "removed", "skipped"):
            text = ", ".join(r.notes)
            if r.standing == "new":
                figures = [
                    f"{f.metric} {written(f.value, BY_KEY[f.metric].unit, is_bound=f.is_bound)}"
                    for f in r.figures
                    if f.metric in ("time", "flop", "peak_memory")
                ]
                text = ", ".join([f"on {r.setting}", *figures, *r.notes])
            rows.append((r.standing, Name(r.model, r.model), text))
    return Section("others", "not compared", (Table(columns, tuple(rows)),)) if rows else None


def summary(views: CheckViews) -> Iterator[Note]:
    """Yield the summary line."""
    measured = [r for r in views.results if r.figures]
    now = sum(r.was_analysed for r in measured)
    standings = Counter(r.standing for r in views.results)
    counts = [f"{standings[s.value]} {s.value}" for s in BaselineStatus if standings[s.value]]
    outcomes = Counter(r.outcome for r in views.results)
    failed, warned = outcomes["fail"], outcomes["warn"]
    bad = [plural(len(views.errors), "error")] if views.errors else []
    bad += [f"{plural(failed, 'model')} over budget"] if failed else []
    if bad:
        verdict = ", ".join(bad)
    elif warned:
        verdict = f"all budgets met, {plural(warned, 'model')} with warnings"
    else:
        verdict = "all budgets met"
    tail = f": {', '.join(counts)}; {now} analyzed, {len(measured) - now} from the cache"
    yield Note(verdict + (tail if views.results else ""), bool(failed or views.errors))
    for note in views.notes:
        yield Note(note)
