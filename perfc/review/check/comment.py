"""Render the JSON of `perfc check` as the Markdown comment of a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from perfc.common.toml_file import read_text
from perfc.errors import ParseError
from perfc.review.diff.figures import BY_KEY, signed
from perfc.view.report.formats.markdown import escaped
from perfc.view.report.units import DASH, Unit, plural, written

from . import views
from .verdict import in_words
from .views import FIGURES, SCHEMA, FigureRow

MARKER = "<!-- perfc-comment -->"
"""Marker line that identifies an earlier comment to update."""
LARGEST_BYTES = 16 << 20
"""Bytes that are read of the JSON of a check, whose models may be many."""
LONGEST_CHARACTERS = 60_000
"""Maximum length; GitHub rejects comments above 65,536 characters."""

Row = Mapping[str, Any]
"""A table of the JSON: the check, one of its results, or a finding or figure of it."""


class CommentPolicy(Enum):
    """Conditions for writing a comment."""

    ALWAYS = "always"
    ON_CHANGE = "on-change"
    ON_FAIL = "on-fail"


def load(path: Path) -> Row:
    """Read the JSON of ``perfc check --output-format json``.

    Raises:
        ParseError: the file cannot be read or is something else.
    """
    try:
        tree = json.loads(read_text(path, LARGEST_BYTES))
    except (ValueError, RecursionError):
        raise ParseError("not JSON", where=str(path)) from None
    schema = tree.get("schema") if isinstance(tree, dict) else None
    if schema != SCHEMA:
        hint = "write it with perfc check --output-format json"
        raise ParseError(f"schema {schema!r} is not {SCHEMA}", where=str(path), hint=hint)
    assert isinstance(tree, dict)  # for the type checker: only a table has a schema
    return tree


def is_due(check: Row, policy: CommentPolicy) -> bool:
    """Return True if the policy requires a comment."""
    results = rows(check, "results")
    is_bad = check.get("outcome") == "fail" or bool(rows(check, "errors"))
    match policy:
        case CommentPolicy.ALWAYS:
            return True
        case CommentPolicy.ON_FAIL:
            return is_bad
        case CommentPolicy.ON_CHANGE:
            noted = ("changed", "new", "removed")
            return is_bad or any(r.get("standing") in noted or r.get("findings") for r in results)


def render(check: Row, policy: CommentPolicy) -> str:
    """Render the comment as Markdown; empty if the policy requires none.

    Raises:
        ParseError: incomplete JSON.
    """
    try:
        text = "\n".join(lines(check)) + "\n" if is_due(check, policy) else ""
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParseError(f"damaged: {error}", hint="write it again with perfc check") from None
    if len(text) > LONGEST_CHARACTERS:
        cut = text[:LONGEST_CHARACTERS].rpartition("\n")[0]  # whole lines only
        text = f"{cut}\n\n*Cut here: too long for a comment. Run `perfc check` for all of it.*\n"
    return text


def lines(check: Row) -> Iterator[str]:
    """Yield the lines of the comment."""
    results = rows(check, "results")
    yield MARKER
    yield f"### {headline(check, results)}"
    if check["errors"]:
        yield ""
        yield from (f"- :x: not checked: {escaped(str(e))}" for e in check["errors"])
    exceeded = [(r, f) for r in results for f in rows(r, "findings")]
    if exceeded:
        yield ""
        for r, f in exceeded:
            mark = ":x:" if f["outcome"] == "fail" else ":warning:"
            yield f"- {mark} **{escaped(str(r['model']))}**: {escaped(str(f['message']))}"
    # lines of code come first; the figures of the models are folded below them
    changed = [r for r in results if r["standing"] == "changed"]
    located = [(r, line) for r in changed for line in r.get("lines") or ()]
    yield from by_line(located)
    yield from changes(changed, is_folded=bool(located))
    yield from new_ones([r for r in results if r["standing"] == "new"])
    for standing in ("removed", "skipped"):
        named = sorted({str(r["model"]) for r in results if r["standing"] == standing})
        if named:
            yield f"\n{standing.capitalize()}: {in_words(list(map(escaped, named)))}."
    same = sum(r["standing"] == "same" for r in results)
    tail = "".join(f" {escaped(str(n))}." for n in check["notes"])
    version = escaped(str(check["perfc"]))
    yield f"\n<sub>{plural(same, 'model')} unchanged.{tail} perfc {version}</sub>"


def headline(check: Row, results: Sequence[Row]) -> str:
    """Return the headline."""
    if check["errors"]:
        return "perfc: not everything could be checked"
    failed = len({r["model"] for r in results if r["outcome"] == "fail"})
    if failed:
        return f"perfc: {plural(failed, 'model')} over budget"
    changed = len({r["model"] for r in results if r["standing"] != "same"})
    if not changed:
        return "perfc: no model costs more or less"
    return f"perfc: budgets met, {plural(changed, 'model')} to look at"


def by_line(located: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    """Yield a table of changed lines of code with what each costs."""
    if not located:
        return
    yield "\n| line | model | what changed | time | memory | nearest remedy |"
    yield "| --- | --- | --- | ---: | ---: | --- |"
    for r, line in located:
        remedy = f"{line['remedy']}: {signed(-line['remedy_s'], Unit.SECOND)}"
        cells = (
            line["source"],
            r["model"],
            f"{line['code']} — {line['what']}",
            signed(line["time_s"], Unit.SECOND),
            signed(line["memory_bytes"], Unit.BYTE),
            remedy if line["remedy"] else DASH,
        )
        yield f"| {' | '.join(escaped(str(c)) for c in cells)} |"


def changes(results: Sequence[Row], *, is_folded: bool = False) -> Iterator[str]:
    """Yield a table of old and new figures, with explanations."""
    if not results:
        return
    if is_folded:
        yield "\n<details><summary>figures</summary>"
    yield "\n| model | metric | before | after | change |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for r in results:
        name = f"{escaped(str(r['model']))} ({escaped(str(r['setting']))})"
        cells: Iterator[list[Any]] = (
            [f.get(n) for n in FIGURES]
            for f in rows(r, "figures")
            if None not in (number(f["value"]), number(f["baseline"]))
        )
        for f in views.changes("", (FigureRow(*values) for values in cells)):
            yield f"| {name} | {f.metric} | {f.old} | {f.new} | {f.change} ({f.relative}) |"
            name = ""  # only the first row of a model names it
    if is_folded:
        yield "\n</details>"
    why = [r for r in results if r["why"] or r["notes"]]
    if why:
        yield "\n<details><summary>why</summary>\n"
        for r in why:
            reasons = "; ".join([*([str(r["why"])] if r["why"] else []), *map(str, r["notes"])])
            yield f"- **{escaped(str(r['model']))}**: {escaped(reasons)}"
        yield "\n</details>"


def new_ones(results: Sequence[Row]) -> Iterator[str]:
    """Yield the models without a baseline."""
    if not results:
        return
    shown = [BY_KEY[k] for k in ("time", "flop", "parameters", "peak_memory")]
    yield f"\n| new model | {' | '.join(m.key for m in shown)} |"
    yield f"| --- | {' | '.join('---:' for _ in shown)} |"
    for r in results:
        figures = {str(f["metric"]): f for f in rows(r, "figures")}
        cells = [cell(figures.get(m.key), m.unit) for m in shown]
        name = f"{escaped(str(r['model']))} ({escaped(str(r['setting']))})"
        yield f"| {name} | {' | '.join(cells)} |"


def cell(figure: Row | None, unit: Unit) -> str:
    """Format a figure; a dash if unknown."""
    value = None if figure is None else number(figure["value"])
    if figure is None or value is None:
        return DASH
    return written(value, unit, is_bound=figure["is_bound"] is True)


def rows(tree: Row, key: str) -> list[Row]:
    """Return a list of tables."""
    table = tree[key]
    if not isinstance(table, list):
        raise TypeError(f"{key} is not a list")
    return table


def number(value: object) -> float | None:
    """Return a number, None for null."""
    return value if isinstance(value, int | float) else None
