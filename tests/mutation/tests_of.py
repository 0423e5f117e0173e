"""Which tests look at a file: those that run its line where a map says so, else by their names."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

MAP = ".coverage.mutants"
GOLDEN = Path("tests/golden")
MOST_OF_A_FILE = 12
"""Tests of one file that are named one by one."""
LEFT_OUT = ("tests/test_style.py", "tests/test_contributing.py", "tests/test_packaging.py")
"""They read the code and do not run it."""


def write_map(root: Path) -> int:
    """Run the suite once under coverage, and keep which test runs which line; many minutes."""
    ignored = [f"--ignore={name}" for name in LEFT_OUT]
    arguments = ["-q", "--cov", "--cov-context=test", "--cov-report=", *ignored]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=root, env={**os.environ, "COVERAGE_FILE": str(root / MAP)}, check=False,
    )  # fmt: skip
    return done.returncode


def mapped(root: Path, path: Path, line: int) -> list[str]:
    """Tests that run a line, as the map has them; empty where there is no map.

    Of a line that runs when its file is imported, as a constant's, those that run any of the file:
    which test imported it first says nothing.
    """
    if not (root / MAP).is_file():
        return []
    from coverage import CoverageData

    data = CoverageData(str(root / MAP))
    data.read()
    by_line: dict[int, set[str]] = {}
    for name in data.measured_files():
        # the map was written in the repository, of which ``root`` may be a copy
        if Path(name).parts[-len(path.parts) :] == path.parts:
            for number, contexts in data.contexts_by_lineno(name).items():
                # a test's name, which may have bars of its own, and a bar before its phase
                tests = {context.rpartition("|")[0] for context in contexts} - {""}
                by_line.setdefault(number, set()).update(tests)
    found = by_line.get(line, set()) if is_called(root / path, line) else set()
    found = found or {test for tests in by_line.values() for test in tests}
    known = [name for name in found if (root / name.partition("::")[0]).is_file()]
    return sorted(known)


def is_called(path: Path, line: int) -> bool:
    """Whether a line is inside of a function, so that it does not run on import."""
    if not path.is_file():
        return True
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = (
        (node.body[0].lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(first <= line <= last for first, last in bodies)


def by_file(tests: list[str]) -> list[str]:
    """Tests for pytest, whole files in place of many of one: it takes long to look up each."""
    count = Counter(name.partition("::")[0] for name in tests)
    short = (f if count[f] > MOST_OF_A_FILE else n for n in tests for f in [n.partition("::")[0]])
    return list(dict.fromkeys(short))


@cache
def test_files(root: Path) -> dict[Path, str]:
    """Every file of tests with its text."""
    paths = sorted((root / "tests").rglob("test_*.py"))
    relative = (p.relative_to(root) for p in paths)
    return {p: (root / p).read_text(encoding="utf-8") for p in relative if str(p) not in LEFT_OUT}


def module_of(path: Path) -> str:
    """The name that a file is imported by.

    >>> module_of(Path("passes/runtimes/__init__.py")), module_of(Path("perfc/cli.py"))
    ('perfc.passes.runtimes', 'perfc.cli')
    """
    parts = path.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts if parts[0] == "perfc" else ("perfc", *parts))


def stages(root: Path, path: Path, line: int) -> list[list[str]]:
    """Arguments of pytest, in the order in which they are run until one fails.

    With a map the tests that run the line: those named after the file, golden files, others.
    Without: tests that are named after the file or import it, with the golden files; then the tests
    of its folder, of operators also those against runtimes and loops. Without a map a fault may
    survive that some other test would find.
    """
    known = mapped(root, path, line)
    module, folder = module_of(path), path.parts[0]
    parent, _, stem = module.rpartition(".")
    if known:
        # one golden file looks at as much as hundreds of tests
        golden = [name for name in known if name.startswith(str(GOLDEN))]
        others = [name for name in known if name not in golden]
        named = [n for n in others if stem.strip("_") in Path(n.partition("::")[0]).stem]
        rest = by_file([name for name in others if name not in named])
        return [stage for stage in (by_file(named), golden, rest) if stage]
    imports = re.compile(
        rf"\b{re.escape(module)}\b|from {re.escape(parent)} import[^\n]*\b{re.escape(stem)}\b"
    )
    near: list[str] = []
    for test, text in test_files(root).items():
        if stem.strip("_") in test.stem.removeprefix("test_") or imports.search(text):
            near.append(str(test))
    if folder in ("ir", "passes") or path.is_relative_to("perfc/lint") or "rules" in path.parts:
        near.append(str(GOLDEN))
    package = path.parts[1] if folder == "perfc" and len(path.parts) > 2 else folder
    place = root / "tests" / package
    far = [str(place.relative_to(root))] if place.is_dir() else []
    if folder == "ir":
        far.append("tests/differential")
    if folder == "perfc":
        far += [str(t) for t in test_files(root) if len(t.parts) == 2 and str(t) not in near]
    return [stage for stage in (near, far) if stage]
