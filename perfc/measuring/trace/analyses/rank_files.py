"""Find the traces of the ranks of a job in a folder, and the number of the rank of each by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from perfc.errors import ParseError

from ..formats import format_of

MOST_RANKS = 1024
"""Maximum ranks of a job, each of whose traces is read."""
MOST_FILES = 20_000
"""Maximum files of a folder that are looked at; a wrong folder may have millions."""
_NUMBERS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"rank\D?(\d{1,9})",
        r"(?:tp|gpu|worker|device|proc)[^\da-z]?(\d{1,9})",
        r"(?<!\d)(\d{1,4})\D*$",
    )
]
"""Patterns of the number of a rank in a name, the surest first; numbers with more digits are of
processes, or times."""
Noted = Callable[[str, str], None]
"""Function that takes a sentence and the name of a file."""


def files_of(paths: Sequence[str], note: Noted) -> list[Path]:
    """Return the traces of a folder, or files, in the order of the numbers in their names.

    Traces of a folder without any are those of the folders in it.

    Raises:
        ParseError: too many files, or a folder that cannot be read.
    """
    if len(paths) > 1:
        traces = [Path(p) for p in paths]
    else:
        inside = listed(Path(paths[0]))
        traces = [p for p in inside if is_trace(p, note)]
        if not traces:
            folders = (listed(p) for p in inside if p.is_dir())
            traces = [p for p in limited(chain.from_iterable(folders)) if is_trace(p, note)]
    if len(traces) > MOST_RANKS:
        raise ParseError(f"more than {MOST_RANKS:,} traces", where=paths[0])
    return sorted(traces, key=lambda p: (numbers_in(p.parent.name), numbers_in(p.name)))


def numbers_in(name: str) -> list[tuple[int, str]]:
    """Return the numbers and words of a name as a sort key: ``rank2`` is before ``rank10``."""
    parts = re.findall(r"\d{1,18}|\D+", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def listed(folder: Path) -> list[Path]:
    """Return the files and folders in a folder.

    Raises:
        ParseError: too many, or it cannot be read.
    """
    try:
        return sorted(limited(folder.iterdir()))
    except OSError as error:
        raise ParseError(error.strerror or "cannot be read", where=str(folder)) from None


def limited(paths: Iterator[Path]) -> Iterator[Path]:
    """Yield paths up to a number.

    Raises:
        ParseError: more than ``MOST_FILES``.
    """
    for at, path in enumerate(paths):
        if at >= MOST_FILES:
            raise ParseError(f"more than {MOST_FILES:,} files in it", where=str(path.parent))
        yield path


def is_trace(path: Path, note: Noted) -> bool:
    """Return True for a trace; other files get a note."""
    if not path.is_file():
        return False
    try:
        is_known = format_of(str(path)) is not None
    except ParseError as error:
        note(f"left out: {error.message}", path.name)
        return False
    if not is_known:
        note("left out: not a trace", path.name)
    return is_known


def numbered(files: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    """Yield each file with the number of its rank by the names of files or folders.

    It is the place of the file where these do not number each file differently.
    """
    for names in ([p.name for p in files], [p.parent.name for p in files]):
        for pattern in _NUMBERS:
            matches = [pattern.search(name) for name in names]
            # a pattern counts only if it gives each file another number
            numbers = [int(m[1]) for m in matches if m is not None]
            if len({*numbers}) == len(files):
                yield from zip(files, numbers, strict=True)
                return
    yield from zip(files, range(len(files)), strict=True)
