"""The page of all fitted constants: ``python -m benchmarks.constants_page`` writes it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from perfc.common.fitted import every_constant
from perfc_lab.training.scoreboard import table

FILE = Path(__file__).parents[1] / "lab" / "docs" / "constants.md"
HEAD = ("name", "value", "unit", "origin", "meaning", "rows", "held out")
TOP = (
    "# Fitted constants",
    "Numbers in perfc that measurements determined, or that are assumed. Each folder of code has "
    "its own in `constants.toml`.",
    "*Held out* is yes if a page quotes errors on the same rows as held out. Such a page names the "
    "constant, as those errors are partly fitted.",
    "`python -m benchmarks.constants_page` writes this page.",
)


def page() -> str:
    """Return the page: a table for each file."""
    parts = list(TOP)
    for file, group in groupby(every_constant(), key=lambda one: one[0]):
        rows = [
            (
                f"`{name}`", shown(one.value), one.unit, one.origin.value, one.meaning, one.rows,
                "yes" if one.held_out else "no",
            )
            for _, name, one in group
        ]  # fmt: skip
        parts += [f"## {file}", table(HEAD, rows, range(len(HEAD)))]
    return "\n\n".join(parts) + "\n"


def shown(value: object) -> str:
    """Return a value as text: a number, an interval, or numbers by name."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(number)}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
