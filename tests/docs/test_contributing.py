"""The pages for contributors are followed to the letter in a copy of the tree.

Each page's files are written into the copy, and its commands run there: what they print must have
the lines that the page shows. So two files suffice, and there is no central list.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "docs" / "contributing", ROOT / "lab" / "docs" / "contributing")
PAGES = {page.stem: page for folder in FOLDERS for page in folder.glob("*.md")}
FOLLOWED = (
    "operator",
    "pass",
    "target",
    "rule",
    "runtime",
    "llm_family",
    "format",
    "table",
    "predictor",
)
"""Predictors are scored on the rows of the page of tables."""
COPIED = ("perfc", "ir", "passes", "analyzers", "kernels", "lab", "pyproject.toml")
OF_TESTS = ("conftest.py", "golden_tables.py")
NEEDS_TABLES = ("table", "predictor")
OPERATORS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
FILE = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`((?:perfc|ir|passes|analyzers|benchmarks|lab|tests)/[\w/.]+\.py)`")
BEYOND_TWO = {"operator_class": 6}
"""Pages that still need more files than two."""


def text(page: str) -> str:
    return PAGES[page].read_text(encoding="utf-8")


def files(page: str) -> dict[str, str]:
    """Content by path, of the files that a page adds."""
    return dict(FILE.findall(text(page)))


def steps(page: str) -> list[tuple[str, list[str]]]:
    """Commands of a page, and the lines that each must print."""
    result: list[tuple[str, list[str]]] = []
    for block in CONSOLE.findall(text(page)):
        for line in block.splitlines():
            if line.startswith("$ "):
                result.append((line.removeprefix("$ "), []))
            else:
                result[-1][1].append(line)
    return result


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product, compiled as far as it was, with the files of all pages in it."""
    folder = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True)
        else:
            shutil.copy(source, folder / name)
    for name in OF_TESTS:
        (folder / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / name, folder / "tests" / name)
    (folder / "examples").symlink_to(ROOT / "examples")
    for page in FOLLOWED:
        for name, content in files(page).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            assert not path.exists(), f"{name} is added, not changed"
            path.write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A repository as the page of tables expects it; its place and commit."""
    folder = tmp_path_factory.mktemp("acme")
    draw = random.Random(0)
    rows = ["cell,gpu,batch,ms"]
    for _ in range(12):
        a, b, c, d, e, f = (draw.choice(OPERATORS) for _ in range(6))
        cell = f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"
        rows += [f"{cell},{g},{n},{5 + n / 8}" for g in ("gtx1080ti", "titan-xp") for n in (1, 64)]
    (folder / "results").mkdir()
    (folder / "results" / "cells.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "rows"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    head = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    return {"REPOSITORY": str(folder), "COMMIT": commit[:12]}


def follow(page: str, tree: Path, names: dict[str, str]) -> None:
    """Run the commands of a page."""
    env = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'lab'}", "COLUMNS": "160"}
    for line, expected in steps(page):
        for name, value in names.items():
            line = line.replace(f"${name}", value)
        program, *arguments = shlex.split(line)
        assert program in ("perfc", "python"), line
        start = ["-m", "perfc"] if program == "perfc" else []
        done = subprocess.run(
            [sys.executable, *start, *arguments],
            cwd=tree,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout[-2000:], done.stderr[-2000:])
        for shown in expected:
            assert shown.strip() in done.stdout, (line, shown, done.stdout[-2000:])


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_followed_to_the_letter_works(
    page: str, tree: Path, repository: dict[str, str]
) -> None:
    if page in NEEDS_TABLES:
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
    if page == "predictor" and not (tree / "graphs").exists():
        follow("table", tree, repository)
    assert steps(page)
    follow(page, tree, repository)


@pytest.mark.parametrize("page", FOLLOWED)
def test_two_files_suffice_beside_tests(page: str) -> None:
    added = [name for name in files(page) if not name.startswith("tests/golden/")]
    assert 1 <= len(added) <= 2, added


@pytest.mark.parametrize("page", FOLLOWED)
def test_the_code_of_a_page_has_the_style_of_the_project(page: str) -> None:
    for name, content in files(page).items():
        if not name.endswith(".py"):
            continue
        for words in (["check", "-q"], ["format", "-q", "--check"]):
            done = subprocess.run(
                [sys.executable, "-m", "ruff", *words, "--stdin-filename", name, "-"],
                cwd=ROOT,
                input=content,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (name, done.stdout)


def test_every_page_is_followed_or_says_how_many_files_it_takes() -> None:
    assert PAGES.keys() == {*FOLLOWED, *BEYOND_TWO}
    for page, count in BEYOND_TWO.items():
        rows = re.findall(r"^\| `[a-z]+/", text(page), re.MULTILINE)
        assert len(rows) == count


@pytest.mark.parametrize("page", [*FOLLOWED, *BEYOND_TWO])
def test_files_that_a_page_names_are_there(page: str) -> None:
    for name in NAMED.findall(text(page)):
        if "NAME" not in name and name not in files(page):
            assert (ROOT / name).is_file(), name


def test_pages_are_listed() -> None:
    listed = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for page in (*FOLLOWED, *BEYOND_TWO):
        assert f"({PAGES[page].relative_to(ROOT).as_posix()})" in listed
