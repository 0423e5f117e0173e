"""The code of the repository, each file read and parsed once for all tests that look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("perfc", "ir", "passes", "analyzers", "kernels")
LABORATORY = ("lab/perfc_lab",)


@cache
def sources(*folders: str) -> tuple[Path, ...]:
    """Return the Python files of folders, each once; links are followed."""
    return tuple(sorted({p.resolve() for f in folders for p in (ROOT / f).rglob("*.py")}))


@cache
def text_of(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(text_of(path))


def place_of(path: Path) -> str:
    """Return the path of a file from the root."""
    return path.relative_to(ROOT).as_posix()
