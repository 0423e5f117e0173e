"""The documentation site has every page, and its generated pages have every command and name."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import perfc
from benchmarks import pictures, site_pages
from perfc.cli import cli
from perfc.commands.dev.schema import documents

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def leaves(node: Any) -> list[str]:
    """Paths of a navigation."""
    match node:
        case str():
            return [node]
        case list():
            return [path for inner in node for path in leaves(inner)]
        case dict():
            return [path for inner in node.values() for path in leaves(inner)]
    raise AssertionError(node)


def test_every_page_is_in_the_navigation_once() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = leaves(settings["nav"])
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(written | site_pages.pages().keys())


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("index.md", "html.md#charts", "html.md#charts"),
        ("accuracy.md", "../lab/docs/graph.md", "lab/docs/graph.md"),
        ("contributing/rule.md", "../../SECURITY.md", "../SECURITY.md"),
        ("CONTRIBUTING.md", "docs/architecture.md", "architecture.md"),
        ("lab/docs/graph.md", "../../docs/predict.md", "../../predict.md"),
        ("lab/notes/adapt.md", "../docs/accuracy.md", "../docs/accuracy.md"),
    ],
)
def test_links_lead_to_where_the_site_has_the_page(page: str, link: str, expected: str) -> None:
    assert site_pages.site_links(f"[a]({link})", page) == f"[a]({expected})"


def test_the_reference_of_commands_has_each_with_its_help() -> None:
    text = site_pages.commands()
    headings = set(re.findall(r"^#+ (perfc.*)$", text, re.MULTILINE))
    with cli.make_context("perfc", ["--debug", "lint"]) as context:
        names = set(cli.list_commands(context))
    assert {f"perfc {name}" for name in names} <= headings
    assert "perfc targets show" in headings
    assert text.count("Usage: perfc") == len(headings)
    assert "--no-predict" in text


def test_the_reference_of_python_has_every_public_name() -> None:
    text = site_pages.python()
    for name in perfc.__all__:
        assert f"heading: perfc.{name}\n" in text or not callable(getattr(perfc, name))
    assert "::: perfc.api.analyze" in text


def test_the_reference_of_schemas_has_every_document() -> None:
    text = site_pages.schemas()
    names = set(re.findall(r"^## ([\w-]+)$", text, re.MULTILINE))
    assert names == set(documents()) >= {"report", "compare"}
    assert "| `schema` | yes |" in text


def test_pictures_and_screens_show_what_is_printed_today(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    assert pictures.stale() == [], "python -m benchmarks.pictures"


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs the extra docs")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|link)[^>]*(?:src|href)=\"https?:", page)
