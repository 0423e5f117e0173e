"""What a reader relies on: short files and functions, standard names, clean linters."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .sources import PRODUCT, ROOT, place_of, sources, text_of, tree_of

BANNED_MODULES = {"utils", "util", "helpers", "helper", "common", "base", "core", "misc"}
BANNED_NAMES = re.compile(r"^(flops|FLOPS|FLOPs|gflops|tflops)$")
LOOKED_AT = ast.FunctionDef | ast.Name | ast.MatchClass | ast.Compare
MOST_LINES, MOST_OF_A_FUNCTION = 600, 60


def offences(path: Path) -> Iterator[str]:
    """Yield what a reader of a file would stumble over."""
    where = place_of(path)
    if text_of(path).count("\n") > MOST_LINES:
        yield f"{where}: more than {MOST_LINES} lines"
    if path.stem in BANNED_MODULES:
        yield f"{where}: a name that says nothing"
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, LOOKED_AT):
            continue
        match node:
            case ast.FunctionDef(name=name, lineno=first, end_lineno=int(last)) as function:
                if last - first >= MOST_OF_A_FUNCTION:
                    yield f"{where}:{first}: {name} has {MOST_OF_A_FUNCTION} lines or more"
                # a property has the name that other counters give it
                if BANNED_NAMES.match(name) and not function.decorator_list:
                    yield f"{where}:{first}: {name} is no word of the glossary"
            case ast.Name(id=name, lineno=line) if BANNED_NAMES.match(name):
                yield f"{where}:{line}: {name} is no word of the glossary"
            case ast.MatchClass(kwd_attrs=names, lineno=line) if "mnemonic" in names:
                yield f"{where}:{line}: an operator matched by name, not by class"
            case ast.Compare(left=left, comparators=others, lineno=line):
                sides = (left, *others)
                if any(map(is_mnemonic, sides)) and any(map(is_given, sides)):
                    yield f"{where}:{line}: an operator compared by name, not by class"


def is_mnemonic(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "mnemonic"


def is_given(node: ast.expr) -> bool:
    """Return True for a literal or a constant of the module."""
    is_constant = isinstance(node, ast.Name) and node.id.isupper()
    return is_constant or isinstance(node, ast.Constant | ast.Tuple | ast.Set)


def test_files_are_short_and_plainly_named_and_operators_are_classes() -> None:
    assert [offence for path in sources(*PRODUCT) for offence in offences(path)] == []


def test_ruff_alone_decides_the_layout() -> None:
    everything = sources(*PRODUCT, "lab", "benchmarks", "tests", "examples")
    opted_out = re.compile(r"# fmt: ?(?:skip|off)")
    assert [place_of(p) for p in everything if opted_out.search(text_of(p))] == []


def test_no_test_reads_the_clock() -> None:
    """A busy machine fails no test: only processor time is compared, waits end by `timeout`."""
    names = r"\btime\.(?:time|perf_counter|monotonic)(?:_ns)?\(|from tim[e]\b|\btime[i]t\b"
    clock = re.compile(names + r"|signal\.alarm|ITIMER_REA[L]|datetime\.now")
    read = (*sources("tests", "lab/tests"), ROOT / "benchmarks/fuzz_worker.py")
    assert [place_of(p) for p in read if clock.search(text_of(p))] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x = 1\n" * 600, 0),
        ("x = 1\n" * 601, 1),
        ("def f():\n" + "    x = 1\n" * 59, 0),
        ("def f():\n" + "    x = 1\n" * 60, 1),
        ("def flops():\n    return gflops\n", 2),
        ("match op:\n    case Op(mnemonic='relu'):\n        pass\n", 1),
        (
            "if op.mnemonic == 'relu' or op.mnemonic in NAMES or op.mnemonic in ('a', 'b'):\n  x\n",
            3,
        ),
        ("if op.mnemonic == other.mnemonic or kind in NAMES:\n    x\n", 0),
    ],
    ids=["file", "file+", "function", "function+", "words", "pattern", "literals", "operators"],
)
def test_what_a_reader_stumbles_over_is_seen(
    text: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.project.sources.ROOT", tmp_path)
    path = tmp_path / "relus.py"
    path.write_text(text)
    assert len([*offences(path)]) == count
    assert len([*offences(path.rename(tmp_path / "utils.py"))]) == count + 1


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy", "perfc", "examples"],
        ["importlinter.cli", "lint"],
    ],
    ids=["ruff", "format", "types", "layers"],
)
def test_linter_is_clean(command: list[str]) -> None:
    module, *arguments = command
    code = "from importlinter.cli import lint_imports_command as main; main()"
    run = ["-c", code] if module.startswith("importlinter") else ["-m", module, *arguments]
    done = subprocess.run([sys.executable, *run], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
