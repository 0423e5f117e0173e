"""Line budgets of the distributions: today's figure may not grow; the aim stands next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUDGETS = {
    ("perfc", "ir", "passes", "analyzers", "kernels"): (151_932, 105_000),
    ("lab/perfc_lab",): (35_256, 26_000),
    ("benchmarks",): (10_191, 8_000),
}
"""Folders, with the most lines of Python that they may have, and the aim."""
MOST_SIBLINGS = 15
LISTED = {
    "passes/runtimes", "perfc/review/rules", "analyzers/features/classes", "benchmarks",
    "analyzers/whole_runs", "lab/perfc_lab/papers/gnn_llm", "lab/perfc_lab/serving",
    "lab/perfc_lab/papers", "lab/perfc_lab/tables",
}  # fmt: skip
"""Folders whose files are entries of a list: one runtime, rule, class, paper or table each."""


def sources(*folders: str) -> set[Path]:
    """Return the Python files of folders, each once; links are followed."""
    return {p.resolve() for f in folders for p in (ROOT / f).rglob("*.py")}


@pytest.mark.parametrize("folders", BUDGETS, ids=",".join)
def test_lines_stay_within_the_budget(folders: tuple[str, ...]) -> None:
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in sources(*folders))
    budget, _ = BUDGETS[folders]
    assert lines <= budget


def test_folders_have_few_siblings() -> None:
    crowded = {}
    for folder in {p.parent for p in sources(*(f for many in BUDGETS for f in many))}:
        visible = (p for p in folder.iterdir() if not p.name.startswith("__"))
        names = {p for p in visible if (p.suffix == ".py" or p.is_dir()) and not p.is_symlink()}
        place = folder.relative_to(ROOT).as_posix()
        if len(names) > MOST_SIBLINGS and place not in LISTED:
            crowded[place] = len(names)
    assert not crowded
