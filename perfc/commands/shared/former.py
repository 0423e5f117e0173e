"""Former names of commands, which work for one more release with a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfc.common.fitted import data_next_to

from . import listing

_TABLES = data_next_to(__file__)
FORMER: Mapping[str, str] = _TABLES["renamed"]
"""Words to type after ``perfc``, by former words. The table leaves out commands that only moved to
``perfc dev``: they have the names of the files in its folder."""
REMOVED: Mapping[str, str] = _TABLES["removed"]
"""Replacement of each removed command, as its error suggests."""
OPTIONS: Mapping[str, str] = _TABLES["options"]
"""Replacement of each removed option, as its error suggests."""


def former_of(args: Sequence[str]) -> str:
    """Return the former name that a command line of at least a word starts with, "" without one."""
    # names of two words, which are of subcommands, come before names of one
    two, first = " ".join(args[:2]), args[0]
    is_known = first in FORMER or first in listing.modules_of(listing.DEV)
    return two if two in FORMER else first if is_known else ""


def words_of(name: str) -> str:
    """Return the words that replace a former name."""
    return FORMER.get(name, f"{listing.DEV} {name}")


def replaced(args: Sequence[str]) -> list[str]:
    """Return a command line that starts with a former name as it is typed today.

    >>> replaced(["scale", "gpt2", "--gpus", "8,64"])
    ['plan', '--curve', 'gpt2', '--gpus', '8,64']
    >>> replaced(["help", "targets", "list"])
    ['targets', 'list', '--help']
    """
    name = former_of(args)
    words, arguments = words_of(name).split(), args[len(name.split()) :]
    # a command that became an option goes to the end: ``help X`` is ``X --help``
    return [*arguments, *words] if words[0].startswith("-") else [*words, *arguments]
