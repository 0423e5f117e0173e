"""Former names of commands, which work for one more release with a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import listing

FORMER: Mapping[str, Sequence[str]] = {
    "help": ("--help",),
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


def words_of(name: str) -> Sequence[str]:
    """Return the words that replace a former name, () if it is none."""
    if name in listing.modules_of(listing.DEV):
        return listing.DEV, name
    return FORMER.get(name, ())


def replaced(args: Sequence[str]) -> list[str]:
    """Return a command line that starts with a former name as it is typed today.

    >>> replaced(["scale", "gpt2", "--gpus", "8,64"])
    ['plan', '--curve', 'gpt2', '--gpus', '8,64']
    >>> replaced(["help", "targets", "list"])
    ['targets', 'list', '--help']
    """
    name, *rest = args
    words = words_of(name)
    return [*rest, *words] if words[0].startswith("-") else [*words, *rest]
