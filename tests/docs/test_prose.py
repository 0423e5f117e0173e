"""What a reader of the documentation relies on: short sentences, links, figures that agree."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfc_lab.training.experiments import experiments
from perfc_lab.training.scoreboard import HEAD

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LAB_DOCS = ROOT / "lab" / "docs"
ACCURACY = LAB_DOCS / "accuracy"
USER_PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
PAGES = [*USER_PAGES, *sorted(LAB_DOCS.rglob("*.md")), *sorted(ROOT.glob("lab/notes/*.md"))]
PROSE = [page for page in PAGES if page.name != "CHANGELOG.md"]
FIGURES = [page for page in sorted(ACCURACY.glob("*.md")) if page.stem != "method"]
GENERATED = ("ops.md", "rules.md", "targets.md")
"""Pages of docs/ that a command writes."""
MOST_WORDS = 35_133
"""Words of the user documentation, without the generated pages."""
MOST_GENERATED_WORDS = 56_600
LONGEST = 35
"""Words of a sentence."""
DIALECT = re.compile(
    r"\b(told|tell|tells|apart|alike|anew|unheard|unasked|meant|taught|teach(?:es)?|kin|kinship"
    r"|likeness|nobody|mend(?:s|ed|ing)?|heard|hears|whoever|laws?|beside|besides|stands? in"
    r"|is asked|asks for|speaks? of|at best|no run is faster|nine in ten runs|out of reach|told by"
    r"|by looking|of one's own|is said|are said)\b",
    re.IGNORECASE,
)
"""Words of the project's former dialect; the glossary has the terms to use."""
ALLOWED = {"power law", "Little's law"}
"""Standard terms that contain such a word."""
WORD = re.compile(r"\S*\w\S*")
ITEM = re.compile(r"^(?:[-*]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[)*\"]*\s+(?=[^a-z])| · ")
FORMULAS = "- **"
"""How the page of operators begins its entries, which are formulas."""


def paragraphs(page: Path) -> Iterator[tuple[int, str]]:
    """Paragraphs and items of lists with the number of their first line; no tables, no code."""
    text = page.read_text(encoding="utf-8")
    fenced, start, block = False, 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = line.strip()
        is_fence = stripped.startswith("```")
        is_formula = page.name == "ops.md" and stripped.startswith(FORMULAS)
        skipped = fenced or is_fence or is_formula or stripped.startswith(("|", "#", "<!--"))
        if block and (skipped or not stripped or ITEM.match(stripped)):
            yield start, " ".join(block)
            block = []
        fenced = fenced != is_fence
        if skipped or not stripped:
            continue
        start = start if block else number
        block.append(ITEM.sub("", stripped, count=1) if not block else stripped)


def sentences(paragraph: str) -> list[str]:
    """Sentences; a link counts as its text, a span of code as one word."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    return END.split(re.sub(r"`[^`]*`", "Code", plain))


def long_sentences(page: Path) -> list[str]:
    """Sentences that are too long, each with its line and its number of words."""
    result = []
    for number, paragraph in paragraphs(page):
        for sentence in sentences(paragraph):
            words = len(WORD.findall(sentence))
            if words > LONGEST:
                result.append(f"{page.name}:{number}: {words} words: {sentence}")
    return result


def dialect(page: Path) -> list[str]:
    """Return the lines with words of the former dialect, outside code."""
    text = re.sub(r"^```.*?^```$", _blank, page.read_text(encoding="utf-8"), flags=re.M | re.S)
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = re.sub(r"`[^`]*`", "", line)
        for term in ALLOWED:
            plain = plain.replace(term, "")
        if matches := DIALECT.findall(plain):
            lines.append(f"{page.name}:{number}: {', '.join(matches)}: {line}")
    return lines


def _blank(block: re.Match[str]) -> str:
    return "\n" * block[0].count("\n")


def words(pages: list[Path]) -> int:
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_no_sentence_is_long(page: Path) -> None:
    assert not long_sentences(page)


WRITTEN = [p for p in USER_PAGES if p.name not in (*GENERATED, "glossary.md")]


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_pages_use_the_terms_of_the_glossary(page: Path) -> None:
    assert not dialect(page)


def test_dialect_is_seen_outside_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A power law.\n\n```\nnobody\n```\n\nA `kin`.\n| Rows apart |\n")
    assert [line.split(": ")[:2] for line in dialect(page)] == [["page.md:8", "apart"]]


def test_the_documentation_keeps_its_word_budget() -> None:
    generated = [DOCS / name for name in GENERATED]
    assert words([page for page in USER_PAGES if page not in generated]) <= MOST_WORDS
    assert words(generated) <= MOST_GENERATED_WORDS


def test_long_sentences_are_seen_in_paragraphs_and_lists_alone(tmp_path: Path) -> None:
    long = "a " * LONGEST + "word."
    short = "A " + "b " * (LONGEST - 2) + "`code of several words`."
    page = tmp_path / "page.md"
    page.write_text(f"# {long}\n\n{short}\n{short}\n\n| {long} |\n\n```\n{long}\n```\n")
    assert not long_sentences(page)
    page.write_text(f"{short}\n\n- {short}\n- Here: {long}\n\n1. {long.replace(' ', chr(10), 9)}\n")
    assert [line.split(": ")[0] for line in long_sentences(page)] == ["page.md:4", "page.md:6"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", FIGURES, ids=name_of)
def test_a_page_of_figures_names_the_command_that_writes_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    result = re.search(r"`((?:perfc|python) [^`]*)` wrote .* on \d{4}-\d\d-\d\d\.", text)
    assert result is not None
    words = shlex.split(result[1])
    if words[:2] == ["perfc", "eval"]:
        assert words[-2:] == ["-o", name_of(page)]
    if words[2] == "op":
        assert set(words[3 : words.index("--data")]) <= set(experiments())
        tables = [line for line in text.splitlines() if line.startswith("| held out")]
        assert tables == [f"| {' | '.join(HEAD)} |"] * len(tables)
    listed = (LAB_DOCS / "accuracy.md").read_text(encoding="utf-8")
    assert f"]({page.relative_to(LAB_DOCS).as_posix()})" in listed


def headlines(index: Path) -> Iterator[tuple[str, str]]:
    """Rows with held-out figures of a page, each with the stem of the page it cites."""
    text = index.read_text(encoding="utf-8")
    yield from re.findall(
        r"^(?=.*\]\([\w./]*accuracy/(\w+)\.md\))(.* covers .*)$", text, re.MULTILINE
    )


@pytest.mark.parametrize("index", [DOCS / "accuracy.md", LAB_DOCS / "accuracy.md"], ids=name_of)
def test_headlines_are_copied_from_their_pages(index: Path) -> None:
    rows = list(headlines(index))
    assert len(rows) > 10
    for name, row in rows:
        page = (ACCURACY / f"{name}.md").read_text(encoding="utf-8").replace(" %", "%")
        figures = re.findall(r"([\d.]+%)(?:, median ([\d.]+%))?, covers ([\d.]+%)", row)
        assert figures, row
        for mape, median, coverage in figures:
            between = rf"\| {median} \|.*" if median else r".*"
            assert re.search(rf"\| {mape}[^|\n]*{between}\| {coverage} \|", page), row


def test_each_page_with_intervals_has_one_headline() -> None:
    # a page without intervals has no coverage to copy
    has_intervals = [page for page in FIGURES if "90 %" in page.read_text(encoding="utf-8")]
    names = sorted(name for name, _ in headlines(LAB_DOCS / "accuracy.md"))
    assert names == sorted(page.stem for page in has_intervals)


FIRST_WORDS = re.compile(r'^\s*r?"""(?:Of|What|Whether|How|As|Where|That|Such|Who)\b', re.MULTILINE)
"""First words of docstrings that name neither what is returned nor what is done."""
VAGUE = frozenset(
    {
        "found",
        "own",
        "kept",
        "told",
        "apart",
        "alike",
        "asked",
        "stated",
        "meant",
        "anew",
        "unheard",
        "beside",
    }
)
"""Names of variables, arguments and functions that say nothing about their contents."""
BUDGETS = {
    ("perfc", "ir", "passes", "analyzers", "kernels"): (0, 1),
    ("lab/perfc_lab",): (0, 2),
    ("tests", "lab/tests"): (148, 1052),
    ("benchmarks",): (0, 0),
}
"""Folders, with how many such docstrings and names they may still have; lower only."""


def vague_texts(folders: tuple[str, ...]) -> tuple[int, int]:
    """Count docstrings that begin with a vague word and vague names, in Python files of folders."""
    lines = names = 0
    for path in sorted({p.resolve() for f in folders for p in (ROOT / f).rglob("*.py")}):
        text = path.read_text(encoding="utf-8")
        lines += len(FIRST_WORDS.findall(text))
        names += sum(is_vague(node) for node in ast.walk(ast.parse(text)))
    return lines, names


def is_vague(node: ast.AST) -> bool:
    """Return True if a node defines a vague name."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name in VAGUE
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name in VAGUE
    return False


@pytest.mark.parametrize("folders", BUDGETS, ids=",".join)
def test_docstrings_and_names_say_what_they_are(folders: tuple[str, ...]) -> None:
    lines, names = vague_texts(folders)
    most_lines, most_names = BUDGETS[folders]
    assert lines <= most_lines, "a docstring begins with Of, What, Whether, How …"
    assert names <= most_names, f"a name is one of {', '.join(sorted(VAGUE))}"
