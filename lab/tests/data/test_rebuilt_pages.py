"""Pages of accuracy name the sources that rebuild their tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from perfc_lab.data.pages import PageSource
from perfc_lab.data.source import sources
from perfc_lab.tables import sources as row_sources
from perfc_lab.training.experiments import OperatorExperiment, experiments

ACCURACY = Path(__file__).resolve().parents[2] / "docs" / "accuracy"
LINK = re.compile(r"\[(\w+)\]\(([\w/]+\.md)\)")
MISSING = "–"


def listed() -> Mapping[str, set[str]]:
    """Sources by the paths of pages, from the table of the method's page."""
    section = (ACCURACY / "method.md").read_text(encoding="utf-8").partition("## Rebuilding a page")
    found = {}
    for line in section[2].splitlines():
        if line.startswith("| ["):
            pages, names = line.strip("| ").split(" | ")
            found.update({path: set(names.split()) for _, path in LINK.findall(pages)})
    return found


def test_every_page_is_listed() -> None:
    pages = {p.relative_to(ACCURACY).as_posix() for p in ACCURACY.rglob("*.md")}
    assert set(listed()) == pages - {"method.md"}


def test_every_named_source_exists() -> None:
    named = set[str]().union(*listed().values()) - {MISSING}
    assert named <= set(sources())


@pytest.mark.parametrize(
    "experiment",
    [e for e in experiments().values() if isinstance(e, OperatorExperiment)],
    ids=lambda e: e.name,
)
def test_kernels_are_rebuilt_from_the_sources_of_their_tables(
    experiment: OperatorExperiment,
) -> None:
    publishers = {f"{t}.parquet": name for name, s in sources().items() for t in s.tables}
    files = (file for name in experiment.sources for file in row_sources()[name].files)
    assert listed()[f"{experiment.name}.md"] == {publishers[file] for file in files}


def test_runs_are_rebuilt_from_publications_with_graphs() -> None:
    graphed = {n for n, s in sources().items() if isinstance(s, PageSource) and s.graphs}
    assert listed()["runs.md"] - {MISSING} == graphed
