"""Fitted constants are listed on a page, and pages mark the errors on rows that determined them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.constants_page import FILE, page
from perfc.common.fitted import every_constant
from perfc_lab.training.experiments import experiments
from perfc_lab.training.fitted_rows import sentence

ROOT = Path(__file__).resolve().parents[2]
ACCURACY = ROOT / "lab" / "docs" / "accuracy"
CONSTANTS = {name: constant for _, name, constant in every_constant()}
PAGES = sorted({page for constant in CONSTANTS.values() for page in constant.pages})
MARK = "(fitted)"


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
    assert {*PAGES} <= {*experiments(), "graph", "serving", "trees"}


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
