"""Elements of the papers and the thesis, and how far perfc has each: one TOML file per source.

An element is an equation, table, figure, recipe or claim. `perfc eval papers --checklist` writes
all of them as a page.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from enum import Enum
from functools import cache, partial
from pathlib import Path

from perfc.ir.record import record

from ...board import DASH, Board, BoardColumn, BoardTable, columns


class ElementStatus(Enum):
    """Status of an element; of a table, whether perfc runs it, not how its results compare."""

    FAITHFUL = "as in the source"
    IMPLEMENTED = "implemented"
    OURS = "ours differs"
    MISSING = "missing"


@record
class Element:
    """An equation, a table, a figure, a recipe or a claim.

    Args:
        where: ``Eq. 4.1, page 45``.
        what: what the element says.
        standing: how far perfc has it.
        files: files that implement it, from the root of the repository; none if it is missing.
        why: why it differs or is missing, or which data it runs on; empty if as in the source.
    """

    where: str
    what: str
    standing: ElementStatus
    files: tuple[str, ...] = ()
    why: str = ""


@record
class Seed:
    """A paper, or a chapter of the thesis, with its elements."""

    title: str
    elements: tuple[Element, ...]


@cache
def seeds() -> tuple[Seed, ...]:
    """Return every seed, in the order of the files' names."""
    return tuple(_read(path) for path in sorted(Path(__file__).parent.glob("*.toml")))


def _read(path: Path) -> Seed:
    """Return the source of a TOML file, with its elements in their order."""
    tree = tomllib.loads(path.read_text(encoding="utf-8"))
    elements = (
        Element(
            e["where"],
            e["what"],
            ElementStatus(e["standing"]),
            tuple(e.get("files", ())),
            e.get("why", ""),
        )
        for e in tree["elements"]
    )
    return Seed(tree["title"], tuple(elements))


def board() -> Board:
    """Return the board of all elements, with their counts by seed above."""
    introduction = (
        "Each equation, table, figure and recipe of the sources, and how it stands in perfc. "
        "`perfc eval papers --checklist -o lab/docs` writes this page from what the code declares."
    )
    # a table of counts with a row per source, then a table of elements for each source
    counts = [(s.title, Counter(e.standing for e in s.elements)) for s in seeds()]
    numbers = [BoardColumn(e.value, partial(_count, e), "d") for e in ElementStatus]
    summary = BoardTable("seeds", "", (BoardColumn("seed", 0), *numbers), counts)
    lists = [BoardTable(s.title, s.title, COLUMNS, s.elements) for s in seeds()]
    return Board("Elements of the papers", (summary, *lists), (introduction,))


def _count(status: ElementStatus, row: tuple[str, Counter[ElementStatus]]) -> int:
    """Return the number of elements with a status, from a row of title and counts."""
    return row[1][status]


COLUMNS = columns(
    "where",
    "what",
    "standing",
    ("files", lambda e: ", ".join(e.files) or DASH),
    ("why", lambda e: e.why or DASH),
)
