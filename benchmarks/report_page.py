"""Puts what `perfc analyze` prints today into docs/report.md, section by section.

    python benchmarks/report_page.py

The page reads one report aloud; its text stays, only the blocks that show a section are replaced.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "report.md"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^perfc (analyze .*)$", re.MULTILINE)


def printed(page: str) -> dict[str, str]:
    """What the page's own commands print, by the first words of each block.

    A first screen is one block, a whole report one for each section.
    """
    blocks: list[str] = []
    for command in _COMMAND.findall(page):
        is_full = "--full" in command
        width = "110" if is_full else "80"
        done = subprocess.run(
            [sys.executable, "-m", "perfc", *command.split()],
            cwd=ROOT, env={"COLUMNS": width, "PYTHONPATH": str(ROOT)}, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        shown = done.stdout.rstrip("\n")
        blocks += shown.split("\n\n") if is_full else [shown]
    return {heading(block): f"{block}\n" for block in blocks}


def heading(section: str) -> str:
    """What a section begins with, up to a colon; of a first screen the model and its machine."""
    return section.partition("\n")[0].partition(":")[0].partition(" · ")[0]


def renewed(page: str) -> str:
    """The page with every block that shows a section as it is printed now."""
    sections = printed(page)

    def block(found: re.Match[str]) -> str:
        content = sections.get(heading(found[2]), found[2]) if not found[1] else found[2]
        return f"```{found[1]}\n{content}```\n"

    return _BLOCK.sub(block, page)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
