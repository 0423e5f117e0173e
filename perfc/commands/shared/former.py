"""Former names of commands, which work for one more release with a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import listing

FORMER: Mapping[str, Sequence[str]] = {
    "rule": ("lint", "--explain"),
    "scale": ("plan", "--curve"),
}
"""Words to type after ``perfc``, by former name; those of ``perfc dev`` follow from its folder."""
REMOVED: Mapping[str, str] = {
    "ask": "perfc analyze MODEL prints the answers, perfc mcp serves agents",
}
"""Replacement of each removed command, as its error suggests."""
OPTIONS: Mapping[str, str] = {
    "--fit-from": "perfc adapt --target TARGET --from ROWS corrects a target by measured kernels",
}
"""Replacement of each removed option, as its error suggests."""
RULE = "rule"
VALUED = ("-o", "--output", "--output-format")
"""Options of the former `rule` that take a value."""


def words_of(name: str) -> Sequence[str]:
    """Return the words that replace a former name, () if it is none."""
    if name in listing.modules_of(listing.DEV):
        return listing.DEV, name
    return FORMER.get(name, ())


def replaced(args: Sequence[str]) -> list[str]:
    """Return a command line that starts with a former name as it is typed today.

    >>> replaced(["scale", "gpt2", "--gpus", "8,64"])
    ['plan', '--curve', 'gpt2', '--gpus', '8,64']
    >>> replaced(["rule", "-o", "rule.md", "PF101"])
    ['lint', '--explain', 'PF101', '-o', 'rule.md']
    """
    name, *rest = args
    return [*words_of(name), *(_code_first(rest) if name == RULE else rest)]


def _code_first(words: Sequence[str]) -> list[str]:
    """Move the code of a rule to the front, behind ``--explain``; ``--all`` prints Markdown."""
    pairs = zip(("", *words), words, strict=False)
    codes = [w for before, w in pairs if not w.startswith("-") and before not in VALUED]
    others = [w for w in words if w not in (*codes, "--all")]
    return [*codes, *others, *(("--output-format", "markdown") if "--all" in words else ())]
