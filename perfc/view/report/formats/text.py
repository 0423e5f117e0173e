"""Plain-text layout of documents for a width; terminals add only color."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import Enum

from perfc.common.plain_text import printable
from perfc.ir import record

from ..units import DASH, Scale, Unit, bucketed, scale_of
from .document import (
    Amount,
    Bars,
    Cell,
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

INDENT = "  "
GAP = "  "
"""Between columns."""
LEVELS = "▁▂▃▄▅▆▇█"
"""Bars of a diagram on one line, from low to high."""
LEAST_NAME = 10
"""Minimum width of a column of names."""
WIDEST_TEXT = 100
"""Maximum width of sentences."""
ROOM_FOR_NAMES = 22
"""Width of names for which spare columns are omitted."""
LONGEST_FORMULA = 60
"""Maximum length of printed formulas; data formats have the longer ones."""
HARD_SPACE = "\N{NO-BREAK SPACE}"
"""Keeps a formula on one line; it is printed as a blank."""


class Style(Enum):
    """Style of text, for renderers with color."""

    PLAIN = "plain"
    TITLE = "title"
    HEADING = "heading"
    FAINT = "faint"
    WARNING = "warning"
    BAR = "bar"
    NUMBER = "number"
    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"
    COMPUTE = "compute"
    TRAFFIC = "traffic"
    WAITING = "waiting"


@record
class StyledText:
    """Text of one style."""

    text: str
    style: Style = Style.PLAIN


@record
class ScreenFigure:
    """One figure of the screen.

    Args:
        label: label of the figure.
        number: number with its unit, or a grade.
        words: explanation.
        style: style of the number.
    """

    label: str
    number: str
    words: str
    style: Style


def render(document: Document, width: int) -> str:
    """Return the document as text, at most ``width`` columns wide unless a word is longer."""
    rendered = ("".join(s.text for s in line).rstrip() for line in lines(document, width))
    return "\n".join(rendered) + "\n"


def lines(document: Document, width: int) -> Iterator[tuple[StyledText, ...]]:
    """Yield the lines of a document."""
    start = StyledText("perfc: ", Style.FAINT)
    for line in wrapped(printable(document.title), width - len(start.text), ""):
        yield (start, StyledText(line, Style.TITLE))
        start = StyledText(" " * len(start.text))
    for section in document.sections:
        yield ()
        yield from section_lines(section, width)


def section_lines(section: Section, width: int) -> Iterator[tuple[StyledText, ...]]:
    """Yield the heading and the parts of a section."""
    yield (StyledText(printable(section.title), Style.HEADING),)
    for part in section.parts:
        yield from part_lines(part, width)


def part_lines(part: Part, width: int) -> Iterator[tuple[StyledText, ...]]:
    """Yield the lines of one table, facts, note or bars."""
    match part:
        case Table():
            yield from table_lines(part, width)
        case Facts(rows):
            yield from fact_lines(rows, min(width, WIDEST_TEXT))
        case Note(text, is_warning):
            style = Style.WARNING if is_warning else Style.PLAIN
            for line in wrapped(printable(text), min(width, WIDEST_TEXT) - 2 * len(INDENT)):
                yield (StyledText(INDENT), StyledText(line, style))
        case Bars(values, _, caption):
            for line in wrapped(printable(caption), min(width, WIDEST_TEXT) - 2 * len(INDENT)):
                yield (StyledText(INDENT), StyledText(line))
            yield (
                StyledText(INDENT),
                StyledText(spark(values, min(width, WIDEST_TEXT) - 2 * len(INDENT)), Style.BAR),
            )


def wrapped(text: str, width: int, indent: str = INDENT) -> Iterator[str]:
    """Wrap text at spaces; lines after the first are indented."""
    line = ""
    for word in (elided(w, max(width, LEAST_NAME)) for w in text.split(" ")):
        if line and columns_of(line) + 1 + columns_of(word) > width:
            yield line
            line = indent + word
        else:
            line = f"{line} {word}" if line else word
    yield line


def fact_lines(rows: Sequence[Fact], width: int) -> Iterator[tuple[StyledText, ...]]:
    """Return labels, numbers and words in columns; short formulas are part of the words."""
    figures: list[ScreenFigure] = []
    for r in rows:
        words = printable(r.words)
        if r.formula and len(r.formula) <= LONGEST_FORMULA:
            words += f"; ={HARD_SPACE}{r.formula.replace(' ', HARD_SPACE)}"
        figures.append(ScreenFigure(r.label, str(r.value) if r.value else "", words, Style.NUMBER))
    return aligned(figures, width, 3 * LEAST_NAME, align_right=True)


def aligned(
    figures: Sequence[ScreenFigure], width: int, least: int, *, align_right: bool = False
) -> Iterator[tuple[StyledText, ...]]:
    """Yield labels, numbers and words in columns, with the words wrapped below themselves.

    Words have ``least`` columns however long labels and numbers are.
    """
    labels = max((columns_of(f.label) for f in figures), default=0)
    numbers = max((columns_of(f.number) for f in figures), default=0)
    margin = len(INDENT) + labels + len(GAP) + (numbers + len(GAP) if numbers else 0)
    for f in figures:
        number = padded(f.number, numbers, align_right=align_right)
        head: tuple[StyledText, ...] = (
            StyledText(f"{INDENT}{f.label:{labels}}{GAP}", Style.FAINT),
            StyledText(f"{number}{GAP}" if numbers else "", f.style),
        )
        for line in wrapped(f.words, max(width - margin, least), indent=""):
            yield (*head, StyledText(line.replace(HARD_SPACE, " ")))
            head = (StyledText(" " * margin),)


def spark(values: Sequence[float], count: int) -> str:
    """Draw a bar per value, or per bucket of values if there are more than ``count``."""
    heights = bucketed(values, count)
    top = max(heights, default=0.0)
    if top <= 0:
        return LEVELS[0] * len(heights)
    steps = len(LEVELS) - 1
    # rounded up, so that any value above zero is higher than the lowest bar
    return "".join(LEVELS[min(math.ceil(h / top * steps), steps)] for h in heights)


def table_lines(table: Table, width: int) -> Iterator[tuple[StyledText, ...]]:
    """Yield legend, header and rows of a table."""
    table, left_out = narrowed(table, width)
    texts = texts_of(table)
    if legend := legend_of(table, texts[0]):
        words = "; ".join(f"{title}: {meaning}" for title, meaning in legend)
        for part in wrapped(words, min(width, WIDEST_TEXT) - len(INDENT), ""):
            yield (StyledText(INDENT), StyledText(part, Style.FAINT))
    if left_out:
        words = f"columns hidden at this width: {', '.join(left_out)}"
        for part in wrapped(words, min(width, WIDEST_TEXT) - len(INDENT), ""):
            yield (StyledText(INDENT), StyledText(part, Style.FAINT))
    widths = fitted(table.columns, texts, width - len(INDENT))
    right = [is_numeric(table, i) for i in range(len(table.columns))]
    for number, row in enumerate(texts):
        style = Style.PLAIN if number else Style.FAINT
        if number:
            row = [
                shortened(cell, text, w)
                for cell, text, w in zip(table.rows[number - 1], row, widths, strict=True)
            ]
        for line in row_lines(table.columns, row, widths):
            cells = [
                padded(text, w, align_right=r)
                for text, w, r in zip(line, widths, right, strict=True)
                if w  # a column without any text takes no place
            ]
            yield (StyledText(INDENT), StyledText(GAP.join(cells), style))


def texts_of(table: Table) -> list[list[str]]:
    """Return header and rows as text."""
    scales = scales_of(table)
    head = [titled(c, s) for c, s in zip(table.columns, scales, strict=True)]
    rows = [
        [cell_text(cell, scale) for cell, scale in zip(row, scales, strict=True)]
        for row in table.rows
    ]
    return [head, *rows]


def narrowed(table: Table, width: int) -> tuple[Table, list[str]]:
    """Drop spare columns that do not fit, and return their titles.

    If names still do not fit, the last column of names is dropped too.
    """
    if not any(c.is_spare for c in table.columns):
        return table, []
    texts = texts_of(table)
    need = [max(columns_of(row[i]) for row in texts) for i in range(len(table.columns))]
    for i, c in enumerate(table.columns):
        if c.is_name:
            need[i] = min(need[i], ROOM_FOR_NAMES)
    shown = list(range(len(need)))
    for i in reversed(range(len(need))):  # the last spare column goes first
        if sum(need[k] + len(GAP) for k in shown) - len(GAP) <= width - len(INDENT):
            break
        column = table.columns[i]
        if column.is_spare and i in shown:
            shown = [k for k in shown if k != i and table.columns[k].name != column.pair]
    names = [k for k in shown if table.columns[k].is_name and not table.columns[k].wraps]
    other_width = sum(need[k] + len(GAP) for k in shown if k not in names)
    if len(names) > 1 and other_width + len(names) * (LEAST_NAME + len(GAP)) > width:
        shown.remove(names[-1])
    left_out = [c.heading for i, c in enumerate(table.columns) if i not in shown and c.heading]
    return table.only(shown), left_out


def shortened(cell: Cell, text: str, width: int) -> str:
    """Return the short form of a name that does not fit."""
    if not isinstance(cell, Name) or columns_of(text) <= width:
        return text
    return elided(printable(cell.short), width, cell.leading)


def row_lines(
    columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]
) -> Iterator[list[str]]:
    """Yield the lines of one row: names are shortened, sentences wrapped."""
    cells = [
        list(wrapped(text, w, "")) if c.wraps else [elided(text, w)]
        for c, text, w in zip(columns, row, widths, strict=True)
    ]
    for i in range(max(map(len, cells), default=0)):
        yield [elided(c[i], w) if i < len(c) else "" for c, w in zip(cells, widths, strict=True)]


FAR_ABOVE = 30
"""Factor over the next largest column above which a column does not affect the scale."""


def scales_of(table: Table) -> list[Scale]:
    """Return one scale per unit, so that the columns of a table compare.

    A column far above all others of its unit, such as the upper end of wide intervals, does not
    count: at its scale the others would vanish below the last digit.
    """
    by_unit: dict[Unit, list[float]] = {}
    for i, c in enumerate(table.columns):
        by_unit.setdefault(c.unit, []).append(max(numbers(table, i), default=0.0))
    scales: dict[Unit, Scale] = {}
    for unit, tops in by_unit.items():
        *others, top = sorted(tops)
        second = others[-1] if others else 0.0
        scales[unit] = scale_of([second if 0 < second < top / FAR_ABOVE else top], unit)
    return [scales[c.unit] for c in table.columns]


def titled(column: Column, scale: Scale) -> str:
    """Return the title of a column with its unit."""
    unit = scale.symbol if column.unit is not Unit.SHARE else ""
    if column.unit is Unit.SHARE and "%" not in column.heading:
        unit = "%"
    return f"{column.heading} {unit}".strip() if column.unit is not Unit.COUNT else column.heading


def legend_of(table: Table, head: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the titles of the columns that have a legend, with it."""
    return tuple((t, c.legend) for t, c in zip(head, table.columns, strict=True) if c.legend)


def numbers(table: Table, i: int) -> list[float]:
    """Return the plain numbers of a column."""
    return [row[i] for row in table.rows if isinstance(row[i], int | float)]  # type: ignore[misc]


def is_numeric(table: Table, i: int) -> bool:
    """Return True if a column is aligned to the right."""
    column = table.columns[i]
    if column.unit is not Unit.NONE:
        return True
    return bool(table.rows) and all(isinstance(row[i], int | float | Amount) for row in table.rows)


def cell_text(cell: Cell, scale: Scale) -> str:
    """Format a cell as text."""
    match cell:
        case None:
            return DASH
        case str():
            return printable(cell)
        case Name(full):
            return printable(full)
        case Amount():
            return str(cell)
        case _:
            return scale.format(cell) if math.isfinite(cell) else DASH


def fitted(columns: Sequence[Column], texts: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return column widths; name columns share the remaining width, shortest first."""
    widths = [max((columns_of(row[i]) for row in texts), default=0) for i in range(len(columns))]
    names = sorted((i for i, c in enumerate(columns) if c.is_name), key=lambda i: widths[i])
    used = sum(w for i, w in enumerate(widths) if not columns[i].is_name)
    room = width - used - len(GAP) * (sum(1 for w in widths if w) - 1)
    # shortest first: the room that a short name does not need goes to longer ones
    for place, i in enumerate(names):
        fair = room // (len(names) - place)
        widths[i] = min(widths[i], max(fair, LEAST_NAME))
        room -= widths[i]
    return widths


def padded(text: str, width: int, *, align_right: bool) -> str:
    """Pad text with spaces to ``width``."""
    space = " " * (width - columns_of(text))
    return space + text if align_right else text + space


def elided(text: str, width: int, leading: int | None = None) -> str:
    """Shorten text in the middle; ``leading`` first characters remain, by default two thirds.

    The ellipsis remains at any width.
    """
    if columns_of(text) <= width:
        return text
    width = max(width, 1)
    head = (width - 1) * 2 // 3 if leading is None else min(leading, width - 1)
    tail = width - 1 - head
    # wide characters take two columns: shorten the longer end until both fit
    while (
        columns_of(text[:head]) + columns_of(text[len(text) - tail :]) + 1 > width and head + tail
    ):
        head, tail = (head - 1, tail) if head >= tail else (head, tail - 1)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def columns_of(text: str) -> int:
    """Return the width of text on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    # wide (W) and full-width (F) characters take two columns
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


ASCII = str.maketrans(
    {"≥": ">=", "µ": "u", "×": "x", "—": "-", "…": "...", "\N{REPLACEMENT CHARACTER}": "?"}
    | dict(zip(LEVELS, "_.:-=+*#", strict=True))
)
"""Characters of the output in encodings that lack them."""


def encodable(text: str, encoding: str) -> str:
    """Replace characters that ``encoding`` lacks."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(ASCII).encode("ascii", "replace").decode("ascii")
    return text


LONGEST_NAME = 200
"""Maximum number of characters shown of a name."""


def clipped(text: str) -> str:
    """Return a printable name of limited length."""
    return printable(text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…")
