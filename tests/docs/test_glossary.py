"""Words of outputs and documents: those of the glossary, in American spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
READ = (
    "README.md",
    "docs/*.md",
    "perfc/view/**/*.html",
    "perfc/commands/**/*.toml",
    "perfc/serving/**/*.toml",
    "tests/golden/commands/*",
)
"""Documents, templates, help, and what commands print."""
ALLOWED: Mapping[str, str] = {
    "achieved": "a rate that a kernel reached, as profilers print it",
    "alike apart kept learned law movement standing working": "names in JSON and of operators",
    "answer question": "of a person to perfc, not a prediction",
    "at least": "before an amount that is only a lower bound",
    "backend": "of another tool",
    "before after place part piece set use taken timed like off": "in their plain sense",
    "best": "the best setting of a search",
    "between steps first answer speed": "in the definition of a serving term",
    "card": "a graphics card, or the card of a predictor",
    "copies copy": "of a tensor: the operator and its kernel",
    "divided among division group split stage": "of tensors, nodes and the operator of that name",
    "engine": "a serving engine",
    "example round": "of the document, and the function",
    "expected": "by an option, and expected visits of a tree",
    "expert": "of a mixture of experts",
    "floor": "the function, and the name in JSON and options",
    "gap": "between two launches in a trace",
    "grade": "of a finding",
    "in time": "a change over time",
    "launching": "launch overhead of a host",
    "length": "of a tensor or a file",
    "limit": "a limit that the user sets",
    "predictor": "a model that predicts",
    "prompts": "of a request, and of an agent",
    "range": "of sizes that the user gives",
    "reading": "of a file",
    "real remainder": "numbers",
    "rest what is left": "of a list or an extent",
    "run": "one execution of a model",
    "sample": "of a measurement, and of a batch",
    "side by side": "a comparison in columns",
    "spread": "of lengths and arrivals: the option",
    "wait": "for launches and prompts",
    "wall": "wall time of passes",
    "what is fused": "in a formula",
}
"""Words of the column *not* in other senses, each with the sense in which they are used."""
BRITISH = re.compile(
    r"\b(?:\w*(?:optimis|summaris|recognis|behaviour|favour|colour)\w*|(?:re-?)?analys(?:e[dr]?|ing)\b"
    r"|modell(?:ed|ing)\b)",
    re.IGNORECASE,
)
TYPED_BY_OTHERS = re.compile(r"--optimiser|refused analyse|'analyse'|\"analyse\"")
"""What people type, to which perfc answers."""


def synonyms() -> set[str]:
    """Return the words to avoid, of the last column of the glossary's tables."""
    rows = (line.strip("|\n ").split("|") for line in GLOSSARY.read_text("utf-8").splitlines())
    cells = (row[3].split(",") for row in rows if len(row) == 4 and "---" not in row[3])
    words = (re.sub(r"\s*\(.*?\)", "", word).strip() for cell in cells for word in cell)
    return {word for word in words if word} - {"not"}


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file that people read."""
    for pattern in READ:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path != GLOSSARY:
                text = path.read_text("utf-8", errors="replace")
                yield path.relative_to(ROOT).as_posix(), TYPED_BY_OTHERS.sub("", text)


def test_outputs_and_documents_have_the_words_of_the_glossary() -> None:
    allowed = " ".join(ALLOWED)
    forbidden = [w for w in synonyms() if not re.search(rf"\b{re.escape(w)}\b", allowed)]
    assert len(forbidden) > 50
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, forbidden))})(?![\w-])", re.I)
    hits = {f"{name}: {m[0]}" for name, text in texts() for m in pattern.finditer(text)}
    assert not hits, "docs/glossary.md has the term; another sense goes to ALLOWED"


def test_outputs_and_documents_are_in_american_spelling() -> None:
    hits = {f"{name}: {m[0]}" for name, text in texts() for m in BRITISH.finditer(text)}
    assert not hits
