"""Find the format of a file by its suffix, for the command line and Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .fitted import data_next_to

SUFFIXES: Mapping[str, list[str]] = data_next_to(__file__)
"""File suffixes by format, the default first; of any other format it is the name."""
NAMED = "target"
"""Format that requires its suffix; a file without a suffix may have any other format."""


def suffixes(form: str) -> list[str]:
    """Return the suffixes of files of a format, the default first."""
    return SUFFIXES.get(form, [f".{form}"])


def fitting(path: Path, forms: Sequence[str]) -> list[str]:
    """Return the formats that a file name allows, first the format of the longest suffix."""
    name, bare = path.name.lower(), not path.suffix
    fits = {f: max((len(s) for s in suffixes(f) if name.endswith(s)), default=0) for f in forms}
    # a format whose suffix does not match has length 0, and comes last
    possible = [f for f in forms if fits[f] or (bare and f != NAMED)]
    return sorted(possible, key=lambda f: -fits[f])


def misnamed(path: Path, forms: Sequence[str], requested: str = "any format it writes") -> str:
    """Return a message about a wrong suffix, with the valid suffixes.

    Args:
        path: the file.
        forms: formats that the command writes.
        requested: name of the format that the user requested; by default words for any of
            ``forms``, where "it" is the command.
    """
    right = ", ".join(f"{suffixes(form)[0]} {form}" for form in forms)
    return f"{path.name!r} is not named as {requested}: {right}"
