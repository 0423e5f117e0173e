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
    """Sections of the report that the page's own command prints, by the first word of each."""
    found = _COMMAND.search(page)
    assert found is not None
    done = subprocess.run(
        [sys.executable, "-m", "perfc", *found[1].split()],
        cwd=ROOT, env={"COLUMNS": "110", "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    sections = done.stdout.rstrip("\n").split("\n\n")
    return {heading(s): f"{s}\n" for s in sections}


def heading(section: str) -> str:
    """What a section begins with, up to a colon."""
    return section.partition("\n")[0].partition(":")[0]


def renewed(page: str) -> str:
    """The page with every block that shows a section as it is printed now."""
    sections = printed(page)

    def block(found: re.Match[str]) -> str:
        content = sections.get(heading(found[2]), found[2]) if not found[1] else found[2]
        return f"```{found[1]}\n{content}```\n"

    return _BLOCK.sub(block, page)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
