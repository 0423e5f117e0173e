"""Fitted constants are listed on a page, and pages mark the errors on rows that determined them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.constants_page import FILE, page
from perfc_lab.data.fitted import every_constant
from perfc_lab.training.experiments import experiments
from perfc_lab.training.scoreboard import sentence

ROOT = Path(__file__).resolve().parents[2]
ACCURACY = ROOT / "lab" / "docs" / "accuracy"
CONSTANTS = {name: constant for _, name, constant in every_constant()}
PAGES = sorted({page for constant in CONSTANTS.values() for page in constant.pages})
MARK = "(fitted)"
CODE = ("analyzers", "passes", "perfc/serving", "perfc/distributed")
FROM_ROWS = re.compile(
    r"\b(chosen|chose|fitted|tuned|picked|assumed|read off|round figures?)\b"
    r"|\b(of|on|over|from) the rows\b|\bpublished rows\b|\bmeasured on\b",
    re.IGNORECASE,
)
"""Comments which say that measurements determined a number."""
IN_CODE = {
    "analyzers/features/classes/experts.py: UNTUNED_CUTLASS": "number of a kernel family",
    "passes/inference/remedies.py: LARGEST": "limit of a search",
    "perfc/serving/cost/context.py: EMULATION_OPS": "instructions, counted",
    "perfc/serving/cost/grouped.py: NEWEST": "a version",
    "perfc/serving/cost/images.py: AT_ONCE": "limit of an engine",
    "perfc/serving/simulation/prompts.py: LINK_BYTES_PER_S": "rate of a standard link",
}
"""Numbers of which a comment says so that stay in code, each with the reason."""


def test_the_page_of_constants_is_what_its_command_writes() -> None:
    assert FILE.read_text(encoding="utf-8") == page()


def test_names_of_constants_are_unique() -> None:
    names = Counter(name for _, name, _ in every_constant())
    assert [name for name, count in names.items() if count > 1] == []


def test_a_constant_whose_rows_are_quoted_as_held_out_is_named_on_a_page() -> None:
    pages = [p for folder in ("docs", "notes") for p in (ROOT / "lab" / folder).rglob("*.md")]
    text = "\n".join(p.read_text(encoding="utf-8") for p in pages if p != FILE)
    text = text.replace("\\_", "_")
    wanted = [name for name, constant in CONSTANTS.items() if constant.held_out]
    assert [name for name in wanted if not re.search(rf"\b{name}\b", text)] == []


def test_only_constants_whose_rows_are_quoted_as_held_out_have_pages() -> None:
    assert [name for name, one in CONSTANTS.items() if one.pages and not one.held_out] == []
    assert {*PAGES} <= {*experiments(), "batches", "graph", "serving", "trees"}


@pytest.mark.parametrize("name", [name for name in PAGES if name != "serving"])
def test_the_page_of_an_experiment_names_its_fitted_constants(name: str) -> None:
    text = (ACCURACY / f"{name}.md").read_text(encoding="utf-8").replace("\\_", "_")
    assert f"\n\n{sentence(name)}\n" in text


@pytest.mark.parametrize("index", ["docs/accuracy.md", "lab/docs/accuracy.md"])
def test_figures_of_such_a_page_are_marked_where_they_are_repeated(index: str) -> None:
    marked = []
    for line in (ROOT / index).read_text(encoding="utf-8").splitlines():
        cited = re.search(r"\]\([\w./]*accuracy/(\w+)\.md\)", line)
        if cited and " covers " in line:
            assert (MARK in line) == (cited[1] in PAGES), line
            marked += [cited[1]] if MARK in line else []
    assert len(marked) > 8


def test_a_page_without_fitted_constants_has_no_sentence() -> None:
    assert sentence("steps") == ""
    assert sentence("mixed_attention").startswith("Fitted on tested rows: `start_s` ([")


def numbers(source: str) -> Iterator[tuple[str, str]]:
    """Yield the target of each assignment of a number in a module or class, and its comments."""
    lines = source.splitlines()
    bodies = [
        n.body for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Module | ast.ClassDef)
    ]
    for body in bodies:
        for node, after in zip(body, [*body[1:], None], strict=True):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or not has_number(node.value):
                continue
            first = node.lineno - 1
            while first and lines[first - 1].lstrip().startswith("#"):
                first -= 1
            comments = [line.partition("#")[2] for line in lines[first : node.end_lineno]]
            match after:
                case ast.Expr(ast.Constant(str(docstring))):
                    comments.append(docstring)
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), " ".join(" ".join(comments).split())


def has_number(node: ast.AST | None) -> bool:
    """Return True if an expression contains a number that is no index."""
    match node:
        case None:
            return False
        case ast.Constant(value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.Subscript(value):
            return has_number(value)
    return any(map(has_number, ast.iter_child_nodes(node)))


def from_rows(source: str) -> list[str]:
    """Return the numbers whose comments say that rows determined them."""
    # few files say so anywhere, and to parse all takes seconds
    if not FROM_ROWS.search(" ".join(source.replace("#", " ").split())):
        return []
    return [target for target, text in numbers(source) if FROM_ROWS.search(text)]


def test_numbers_that_rows_determined_are_not_in_code() -> None:
    paths = [p for folder in CODE for p in sorted((ROOT / folder).rglob("*.py"))]
    left = {
        f"{path.relative_to(ROOT).as_posix()}: {target}"
        for path in paths
        for target in from_rows(path.read_text(encoding="utf-8"))
    }
    assert left == {*IN_CODE}


def test_a_number_that_was_chosen_is_seen_in_modules_and_classes() -> None:
    chosen = '"""Chosen on the rows of a table."""'
    assert from_rows(f"A = 0.3\n{chosen}\n") == ["A"]
    assert from_rows("# fitted without A100\nA: float = -0.3\n") == ["A"]
    assert from_rows("A, B = 1, 2  # round figures\n") == ["(A, B)"]
    assert from_rows(f"class C:\n    A = 3\n    {chosen}\n") == ["A"]
    assert from_rows(f'A = read(path)[1]\n{chosen}\nB = 2\n"""Bytes."""\n') == []
