"""A document as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.plain_text import printable

from .document import Bars, Document, Facts, Note, Part, Table
from .text import cell_text, headed, is_numeric, scales_of, spark, titled


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
                formula = f"; `{r.formula.replace('|', '')}`" if r.formula else ""
                yield f"| {r.label} | {r.value or ''} | {escaped(r.words)}{formula} |"
        case Note(text, is_warning):
            yield f"**{escaped(text)}**" if is_warning else escaped(text)
        case Bars(values, _, caption):
            yield escaped(caption)
            yield ""
            yield f"`{spark(values, 60)}`"


def table_lines(table: Table) -> Iterator[str]:
    """A pipe table; what numbered columns mean stands above it."""
    scales = scales_of(table)
    legend = [(titled(c, s), c.legend) for _, c, s in headed(table.columns, scales) if c.legend]
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
    """``text`` that Markdown shows as it is."""
    text = printable(text).replace("\\", "\\\\")
    for sign in "`*_|#[]":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
