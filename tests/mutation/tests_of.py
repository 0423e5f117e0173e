"""Which tests look at a file: those that run its line where a map says so, else by their names."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

MAP = ".coverage.mutants"
SECONDS = ".coverage.mutants.json"
"""How long each test takes, beside the map."""
TAKEN = "PERFC_TEST_SECONDS"
"""Variable that names that file to the plug-in."""
EACH_S = 0.5
"""By so much the second test of a file counts as slower than the first, and so on."""
QUICK = 40
"""Tests that run before the others, which are not close to the file."""
GOLDEN_SUFFIXES = (".pir", ".txt", ".table", ".leaves")
GOLDEN = Path("tests/golden")
MOST_OF_A_FILE = 12
"""Tests of one file that are named one by one."""
LEFT_OUT = (
    "tests/project/test_style.py",
    "tests/docs/test_contributing.py",
    "tests/project/test_packaging.py",
)
"""They read the code and do not run it."""
LINES_ONLY = """\
[run]
source = perfc,ir,passes,analyzers,kernels
patch = subprocess
"""
"""What a map needs of coverage: branches take longer and say nothing of lines."""


def write_map(root: Path) -> int:
    """Run the suite once under coverage, and keep which test runs which line; many minutes."""
    ignored = [f"--ignore={name}" for name in LEFT_OUT]
    plugin = ["-p", "tests.mutation.seconds"]
    with TemporaryDirectory() as folder:
        config = Path(folder) / "coverage.ini"
        config.write_text(LINES_ONLY, encoding="utf-8")
        measured = ["--cov", f"--cov-config={config}", "--cov-context=test", "--cov-report="]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *measured, *plugin, *ignored],
            cwd=root,
            check=False,
            env={**os.environ, "COVERAGE_FILE": str(root / MAP), TAKEN: str(root / SECONDS)},
        )
    return done.returncode


def mapped(root: Path, path: Path, line: int) -> list[str] | None:
    """Tests that run a line, as the map has them, None where there is no map of its file.

    Of a line that runs when its file is imported, as a constant's, those that run any of the file:
    which test imported it first says nothing. So nothing is known of a file without functions.
    """
    if not (root / MAP).is_file() or not has_functions(root / path):
        return None
    from coverage import CoverageData

    data = CoverageData(str(root / MAP))
    data.read()
    by_line: dict[int, set[str]] = {}
    for name in data.measured_files():
        # the map was written in the repository, of which ``root`` may be a copy
        if Path(name).parts[-len(path.parts) :] == path.parts:
            for number, contexts in data.contexts_by_lineno(name).items():
                by_line.setdefault(number, set()).update(asked_for(contexts))
    lines = statement_of(root / path, line) or by_line
    found = {test for number in lines for test in by_line.get(number, ())}
    return sorted(name for name in found if is_there(root, name)) if by_line else None


def asked_for(contexts: list[str]) -> set[str]:
    """Tests of the contexts of a line, which are a test's name, a bar and its phase.

    Where one test of a file alone sets it up, the fixture may be that of them all, so that the
    whole file is asked for.
    """
    # a test's name may have bars of its own
    pairs = [(bare(name), phase) for name, _, phase in (c.rpartition("|") for c in contexts)]
    found = {name for name, _ in pairs} - {""}
    setting = Counter(name.partition("::")[0] for name, phase in pairs if phase == "setup")
    return found | {file for file, count in setting.items() if count == 1 and file}


def is_there(root: Path, name: str) -> bool:
    """Whether a test that was mapped is still there, or its file where no test is named."""
    file, _, test = name.partition("::")
    path = root / file
    if not path.is_file():
        return False
    function = test.partition("[")[0].rpartition("::")[2]
    return path.suffix != ".py" or not test or f"def {function}(" in text_of(path)


@cache
def text_of(path: Path) -> str:
    """What a file holds."""
    return path.read_text(encoding="utf-8")


def bare(name: str) -> str:
    """A test without its parameters where they name a place of the repository that was mapped."""
    return name.partition("[")[0] if "[/" in name else name


def has_functions(path: Path) -> bool:
    """Whether a file has lines that run after it is imported."""
    if not path.is_file():
        return True
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(tree))


def statement_of(path: Path, line: int) -> range | None:
    """Lines of the statement around a line of a function; None of one that runs on import."""
    if not path.is_file():
        return range(line, line + 1)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = (
        statement
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for top in node.body
        for statement in ast.walk(top)
        if isinstance(statement, ast.stmt)
    )
    starts = [s.lineno for s in bodies if s.lineno <= line <= (s.end_lineno or s.lineno)]
    return range(max(starts), line + 1) if starts else None


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

    With a map these are the tests that run the line, quick ones first, and what was written since;
    of a line that runs when its file is imported also those that import its package.
    Without: tests that are named after the file or import it, with the golden files; then the tests
    of its folder, of operators also those against runtimes and loops. Without a map a fault may
    survive that some other test would find. So it is with a file of which the map knows nothing,
    but that quick tests come first.
    """
    known, near = mapped(root, path, line), near_to(root, path)
    folder = path.parts[0]
    if known is not None:
        taken_s = seconds(root)
        golden = by_cost([n for n in known if n.startswith(str(GOLDEN))], taken_s)
        others = by_cost([n for n in known if not n.startswith(str(GOLDEN))], taken_s)
        close = [n for n in others if n.partition("::")[0] in near]
        distant = [n for n in others if n.partition("::")[0] not in near]
        # the tests of its room first: the others call it through many others
        distant.sort(key=lambda name: not name.startswith(f"{room_of(path)}/"))
        # what no test runs, a process that a test starts may run
        first = [*newer(root, near), *close] if known else near
        asked = {name.partition("::")[0] for name in (*known, *near)}
        listed = [] if statement_of(root / path, line) else through_package(root, path)
        listing = [name for name in listed if name not in asked]
        found = [first, golden, listing, distant[:QUICK], distant[QUICK:]]
        return [by_file(stage) for stage in found if stage]
    if (root / MAP).is_file() and (taken_s := seconds(root)):
        rooms = (room_of(path), *room_of(path).parents)
        room = next(r for r in rooms if (root / r).is_dir())
        golden, around = (
            by_cost([n for n in taken_s if n.startswith(f"{place}/")], taken_s)
            for place in (GOLDEN, room)
        )
        return [by_file(stage) for stage in (near, golden, around) if stage]
    if (
        folder in ("ir", "passes")
        or path.is_relative_to("perfc/review/lint")
        or "rules" in path.parts
    ):
        near.append(str(GOLDEN))
    package = path.parts[1] if folder == "perfc" and len(path.parts) > 2 else folder
    place = root / "tests" / package
    far = [str(place.relative_to(root))] if place.is_dir() else []
    if folder == "ir":
        far.append("tests/differential")
    if folder == "perfc":
        far += [str(t) for t in test_files(root) if len(t.parts) == 2 and str(t) not in near]
        far += [str(GOLDEN)] if str(GOLDEN) not in near and (root / GOLDEN).is_dir() else []
    return [stage for stage in (near, far) if stage]


def room_of(path: Path) -> Path:
    """The folder of the tests of a file's folder.

    >>> str(room_of(Path("ir/ops/view.py"))), str(room_of(Path("perfc/view/report/a.py")))
    ('tests/ir/ops', 'tests/view/report')
    """
    parts = path.parent.parts
    return Path("tests", *(parts[1:] if parts[0] == "perfc" else parts))


def near_to(root: Path, path: Path) -> list[str]:
    """Files of tests that import a file, then those that are only named after it."""
    module = module_of(path)
    parent, _, stem = module.rpartition(".")
    imports = re.compile(
        rf"\b{re.escape(module)}\b|from {re.escape(parent)} import[^\n]*\b{re.escape(stem)}\b"
    )
    files = test_files(root)
    direct = [str(test) for test, text in files.items() if imports.search(text)]
    named = [str(t) for t in files if stem.strip("_") in t.stem.removeprefix("test_")]
    return list(dict.fromkeys((*direct, *named)))


def through_package(root: Path, path: Path) -> list[str]:
    """Files of tests that import the package of a file: what it defines they may read in a list.

    No line of the file runs then, as it was imported before.
    """
    package, _, _ = module_of(path).rpartition(".")
    imports = re.compile(rf"from {re.escape(package)} import|import {re.escape(package)}\b(?!\.)")
    return [str(test) for test, text in test_files(root).items() if imports.search(text)]


def newer(root: Path, near: list[str]) -> list[str]:
    """Tests that the map cannot know, being written after it: those near to a file, and golden."""
    written = (root / MAP).stat().st_mtime
    golden = (str(g.relative_to(root)) for g in (root / GOLDEN).rglob("*.*"))
    names = (*near, *(g for g in golden if g.endswith(GOLDEN_SUFFIXES)))
    return [n for n in names if (root / n).stat().st_mtime > written]


def seconds(root: Path) -> dict[str, float]:
    """How long each test of the map takes; empty where nobody measured."""
    path = root / SECONDS
    found: dict[str, float] = {}
    if path.is_file():
        found = json.loads(path.read_text(encoding="utf-8"))
    return found


def by_cost(tests: list[str], taken_s: Mapping[str, float]) -> list[str]:
    """Tests with quick ones first, in turns the next of each file.

    What one test of a file does not see its neighbours often do not see either.
    """
    rank: Counter[str] = Counter()
    turns: list[tuple[float, str]] = []
    for name in sorted(tests, key=lambda n: taken_s.get(n, 0.0)):
        file = name.partition("::")[0]
        turns.append((taken_s.get(name, 0.0) + EACH_S * rank[file], name))
        rank[file] += 1
    return [name for _, name in sorted(turns)]
