"""GitHub-flavored Markdown output of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfc.common.plain_text import printable

from .document import Bars, Document, Facts, Note, Part, Table
from .text import is_numeric, legend_of, spark, texts_of

_SIGNS = re.compile(r"[\\`*_|#\[\]~$]")
"""Characters with a meaning in Markdown; $ begins a formula on GitHub."""
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|\.(?=\w)(?<=\bwww\.)", re.IGNORECASE)
"""Text that GitHub and GitLab turn into a mention, an issue link or a bare URL."""


def render(document: Document) -> str:
    """Return a document as Markdown."""
    blocks = [f"# {escaped(document.title)}"]
    for section in document.sections:
        blocks.append(f"## {escaped(section.title)}")
        for part in section.parts:
            blocks.append("\n".join(part_lines(part)))
    return "\n\n".join(b for b in blocks if b) + "\n"


def part_lines(part: Part) -> Iterator[str]:
    """Yield the lines of one table, paragraph or line of bars."""
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
            yield f"`{spark(values, 60)}`"  # of more than 60 values, several share a bar


def table_lines(table: Table) -> Iterator[str]:
    """Yield the lines of a pipe table, with the legend of its columns above."""
    head, *rows = ([*map(escaped, row)] for row in texts_of(table))
    if legend := legend_of(table, head):
        yield "; ".join(f"{title}: {escaped(words)}" for title, words in legend)
        yield ""
    rule = ["---:" if is_numeric(table, i) else "---" for i in range(len(table.columns))]
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(rule)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it literally, without links or mentions."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SIGNS.sub(r"\\\g<0>", text)
    # a space of no width breaks the link and is not seen
    return _LINKED.sub(lambda m: f"{m[0][0]}&#8203;{m[0][1:]}", text)


def code(text: str) -> str:
    """Return text as a code span for a table cell, for any number of backticks."""
    runs = [len(run) for run in re.findall("`+", text)]
    # more backticks than any run inside; a pipe would end the cell of the table
    fence = "`" * (max(runs, default=0) + 1)
    space = " " if runs else ""
    return f"{fence}{space}{printable(text).replace('|', '')}{space}{fence}"
