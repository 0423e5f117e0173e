"""The page of all fitted constants: ``python -m benchmarks.constants_page`` writes it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from perfc_lab.board import Board, BoardTable, columns
from perfc_lab.data.fitted import every_constant

FILE = Path(__file__).parents[1] / "lab" / "docs" / "constants.md"
COLUMNS = columns(
    ("name", 1),
    ("value", lambda r: shown(r[2].value)),
    ("unit", lambda r: r[2].unit),
    ("origin", lambda r: r[2].origin),
    ("meaning", lambda r: plain(r[2].meaning)),
    ("rows", lambda r: plain(r[2].rows)),
    ("held out", lambda r: "yes" if r[2].held_out else "no"),
)
TOP = (
    "Numbers in perfc that measurements determined, or that are assumed. Each folder of code has "
    "its own in `constants.toml`.",
    "*Held out* is yes if a page quotes errors on the same rows as held out. Such a page names the "
    "constant, as those errors are partly fitted.",
    "`python -m benchmarks.constants_page` writes this page.",
)


def page() -> str:
    """Return the page: a table for each file."""
    files = groupby(every_constant(), key=lambda one: one[0])
    tables = tuple(BoardTable(file, file, COLUMNS, list(rows)) for file, rows in files)
    return Board("Fitted constants", tables, TOP).written("markdown")


def shown(value: object) -> str:
    """Return a value as text: a number, an interval, or numbers by name."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(number)}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plain(words: str) -> str:
    """Return text without marks of code, which cells show literally."""
    return words.replace("`", "")


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
