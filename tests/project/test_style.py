"""What a reader relies on: short files and functions, standard names, clean linters."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("perfc", "ir", "passes", "analyzers", "kernels")
BANNED_MODULES = {"utils", "util", "helpers", "helper", "common", "base", "core", "misc"}
BANNED_NAMES = re.compile(r"^(flops|FLOPS|FLOPs|gflops|tflops)$")


def sources() -> Iterator[Path]:
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(p.is_symlink() for p in path.relative_to(ROOT).parents if p.name):
                yield path


def real_sources() -> list[Path]:
    return sorted({p.resolve() for p in sources()})


@pytest.mark.parametrize("path", real_sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_file_is_short_and_plainly_named(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    assert path.stem not in BANNED_MODULES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 60, node.name
        if isinstance(node, ast.Name | ast.FunctionDef):
            name = node.id if isinstance(node, ast.Name) else node.name
            assert not BANNED_NAMES.match(name), name


@pytest.mark.parametrize("path", real_sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_operators_are_told_apart_by_their_classes(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.MatchClass) and "mnemonic" in node.kwd_attrs), node.lineno
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            is_name = any(isinstance(n, ast.Attribute) and n.attr == "mnemonic" for n in sides)
            is_stated = any(
                isinstance(n, ast.Constant | ast.Tuple | ast.Set)
                or (isinstance(n, ast.Name) and n.id.isupper())
                for n in sides
            )
            assert not (is_name and is_stated), f"compared by name in line {node.lineno}"


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy", "-p", "perfc"],
        ["mypy", "examples"],
        ["importlinter.cli", "lint"],
    ],
    ids=["ruff", "format", "types", "types of examples", "layers"],
)
def test_linter_is_clean(command: list[str]) -> None:
    module, *arguments = command
    code = "from importlinter.cli import lint_imports_command as main; main()"
    run = ["-c", code] if module.startswith("importlinter") else ["-m", module, *arguments]
    done = subprocess.run([sys.executable, *run], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
