"""Read the tables of a Markdown page as texts, with the headings above each.

`pages` and `sources.trtllm` say what a table means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from perfc.ir.record import frozen

from .source import FetchError, checked

LARGEST_BYTES = 1 << 20
"""Maximum size of a page; the largest one read has 140 kB."""
LONGEST_CELL = 600
"""Maximum characters of a cell that are read."""
MOST_CELLS = 64
"""Maximum cells of a line that are read."""
# lines that open and close a block of code
FENCE = ("```", "~~~")
RULE = re.compile(r"[\s|:-]+")
"""Line between the names of columns and the rows."""
MARKED = re.compile(r"[][<>*`\t]|\s\s")
"""Signs of a cell that needs cleaning: most cells have none, and are returned at once."""
MARKS = (
    (re.compile(r"\[([^][]*)\]\([^()]*\)"), r"\1"),
    # a line break after an underscore divides a name
    (re.compile(r"(?<=_)<br ?/?>"), ""),
    (re.compile(r"<[^<>]*>"), " "),
    (re.compile(r"\*\*|`"), ""),
    (re.compile(r"\s+"), " "),
)
"""Links, HTML and emphasis, each with what remains of it."""


@frozen
class MarkdownTable:
    """A table of a page.

    Args:
        headings: the headings above the table, outermost first.
        lead: the last line of text between the headings and the table.
        head: names of columns; an empty name repeats the name before it, and a second line of names
            is appended to the first.
        rows: the cells of each line.
    """

    headings: tuple[str, ...]
    lead: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def page_text(path: Path) -> str:
    """Return the text of a page.

    Raises:
        FetchError: too large, or not UTF-8.
    """
    if path.stat().st_size > LARGEST_BYTES:
        raise FetchError(f"a page of more than {LARGEST_BYTES >> 20} MiB", where=str(path))
    try:
        return checked(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FetchError("a page that is not UTF-8", where=str(path)) from None


def tables_of(text: str) -> Iterator[MarkdownTable]:
    """Yield the tables of a page outside code, with the headings above them."""
    headings: list[tuple[int, str]] = []
    before, lead, lines, is_code = "", "", list[str](), False
    # the empty line at the end closes a table that ends the page
    for line in (*(x.strip() for x in text.splitlines()), ""):
        is_code ^= line.startswith(FENCE)  # a fence opens and closes
        if lines and "|" in line:
            lines.append(line)
            continue
        if lines:
            yield as_table(tuple(title for _, title in headings), lead, lines)
            lines = []
        # a table begins at its rule, below the names of columns
        if "|" in line and "-" in line and "|" in before and RULE.fullmatch(line):
            lines = [before]
        elif line.startswith("#") and not is_code:
            level = len(line) - len(line.lstrip("#"))
            headings = [h for h in headings if h[0] < level]
            headings.append((level, cleaned(line[level:])))
            lead = ""
        elif line and "|" not in line and not is_code:
            lead = cleaned(line)
        before = "" if is_code else line


def as_table(headings: tuple[str, ...], lead: str, lines: list[str]) -> MarkdownTable:
    """Return the table of its lines without the rule."""
    head, *rows = (tuple(cells_of(line)) for line in lines)
    names = filled(head)
    # a first row without a label and without a whole number is a second line of names
    if rows and not rows[0][0] and not any(c.isdecimal() for c in rows[0]):
        second = filled(rows.pop(0))
        names = [f"{a} {b}".strip() for a, b in zip(names, second, strict=False)]
    return MarkdownTable(headings, lead, tuple(names), tuple(rows))


def filled(names: tuple[str, ...]) -> list[str]:
    """Return names of columns in which an empty one repeats the one before."""
    full: list[str] = []
    for name in names:
        full.append(name or (full[-1] if full else ""))
    return full


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    cells = line.strip().removeprefix("|").removesuffix("|").split("|", MOST_CELLS)
    return [cleaned(cell) for cell in cells[:MOST_CELLS]]


def cleaned(text: str) -> str:
    """Return a text without links, HTML and emphasis."""
    text = text[:LONGEST_CELL].strip()
    if not MARKED.search(text):
        return text
    for mark, rest in MARKS:
        text = mark.sub(rest, text)
    return text.strip()


def number_of(cell: str, path: Path) -> float:
    """Return a cell's number; thousands have commas.

    Raises:
        FetchError: the cell has no number, or an infinite or negative one.
    """
    try:
        number = float(cell.replace(",", ""))
    except ValueError:
        number = -1.0  # fails the check below
    # NaN and infinity fail it too
    if not 0 <= number < 1e300:
        raise FetchError(f"{cell[:40]!r} is no number", where=str(path))
    return number
