"""Tests import what they compare with as modules of ``tests``; nothing edits the search path."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def edits_of_the_search_path(text: str) -> list[int]:
    """Lines on which ``sys.path`` is changed."""
    lines = []
    for node in ast.walk(ast.parse(text)) if "sys.path" in text else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "sys.path":
                lines.append(node.lineno)
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            lines += [node.lineno for t in targets if ast.unparse(t).startswith("sys.path")]
    return lines


def test_no_test_edits_the_search_path() -> None:
    edits = {
        str(path.relative_to(TESTS)): lines
        for path in TESTS.rglob("*.py")
        if (lines := edits_of_the_search_path(path.read_text(encoding="utf-8")))
    }
    assert edits == {}


def test_an_edit_of_the_search_path_is_seen() -> None:
    assert edits_of_the_search_path("import sys\nsys.path.insert(0, 'x')") == [2]
    assert edits_of_the_search_path("import sys\nsys.path = ['x']") == [2]
    assert edits_of_the_search_path("import sys\nprint(sys.path)") == []
