"""A document as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfc.plain_text import printable

from .document import Bars, Document, Facts, Note, Part, Table
from .text import cell_text, is_numeric, scales_of, spark, titled

_SIGNS = re.compile(r"[\\`*_|#\[\]~$]")
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|\.(?=\w)(?<=\bwww\.)", re.IGNORECASE)
"""Where GitHub and GitLab begin a mention, a number of an issue, an address without brackets."""


def render(document: Document) -> str:
    """Headings, tables and paragraphs."""
    blocks = [f"# {escaped(document.title)}"]
    for section in document.sections:
        blocks.append(f"## {escaped(section.title)}")
        for part in section.parts:
            blocks.append("\n".join(part_lines(part)))
    return "\n\n".join(b for b in blocks if b) + "\n"


def part_lines(part: Part) -> Iterator[str]:
    """One table, paragraph or line of bars."""
    match part:
        case Table():
            yield from table_lines(part)
        case Facts(rows):
            yield "| | | |"
            yield "| --- | ---: | --- |"
            for r in rows:
                formula = f"; {code(r.formula)}" if r.formula else ""
                yield f"| {escaped(r.label)} | {r.value or ''} | {escaped(r.words)}{formula} |"
        case Note(text, is_warning):
            yield f"**{escaped(text)}**" if is_warning else escaped(text)
        case Bars(values, _, caption):
            yield escaped(caption)
            yield ""
            yield f"`{spark(values, 60)}`"


def table_lines(table: Table) -> Iterator[str]:
    """A pipe table; what columns mean stands above it."""
    scales = scales_of(table)
    pairs = zip(table.columns, scales, strict=True)
    legend = [(titled(c, s), c.legend) for c, s in pairs if c.legend]
    if legend:
        yield "; ".join(f"{escaped(t)}: {escaped(words)}" for t, words in legend)
        yield ""
    titles = [escaped(titled(c, s)) for c, s in zip(table.columns, scales, strict=True)]
    rule = ["---:" if is_numeric(table, i) else "---" for i in range(len(table.columns))]
    yield f"| {' | '.join(titles)} |"
    yield f"| {' | '.join(rule)} |"
    for row in table.rows:
        cells = (escaped(cell_text(c, s)) for c, s in zip(row, scales, strict=True))
        yield f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """``text`` that Markdown shows as it is, and that links to nothing and tells nobody."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SIGNS.sub(r"\\\g<0>", text)
    return _LINKED.sub(lambda m: f"{m[0][0]}&#8203;{m[0][1:]}", text)


def code(text: str) -> str:
    """``text`` as a code span of a table, whatever backticks it has."""
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * (max(runs, default=0) + 1)
    space = " " if runs else ""
    return f"{fence}{space}{printable(text).replace('|', '')}{space}{fence}"
