"""Read dated tables of prices and grids: TOML files, first the files of the user.

Files are untrusted: their size is limited, texts have one line, numbers are finite.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from perfc.common.toml_file import parse, read_text
from perfc.errors import ParseError
from perfc.machine.folders import files_in, user_folder

HERE = Path(__file__).parent
LARGEST_BYTES = 131_072
"""Maximum bytes of a table, which has a line per machine or region."""


def places(folder: str) -> tuple[Path, Path]:
    """Return the folders of a kind of table: first the user's, then this package's."""
    return user_folder().parent / folder, HERE / folder


def tables_in(folders: Iterable[Path]) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """Yield the tables of several folders.

    Raises:
        ParseError: for an invalid file, with its path.
    """
    for place in folders:
        for path in files_in(place):
            tree = parse(read_text(path, LARGEST_BYTES), path)
            if tree.get("schema") != 1:
                raise ParseError("this perfc reads schema = 1", where=os.fspath(path))
            yield path, tree


def text_in(table: Mapping[str, object], key: str, path: Path) -> str:
    """Return a one-line string, or a date as text.

    Raises:
        ParseError: if it is missing or invalid.
    """
    value = table.get(key)
    text = value.isoformat() if isinstance(value, datetime.date) else value
    # reports print the text in a line
    if not isinstance(text, str) or not text.strip() or len(text) > 300 or not text.isprintable():
        raise ParseError(f"{key} is missing, or not a one-line string", where=os.fspath(path))
    return text


def amount_in(
    table: Mapping[str, object], key: str, path: Path, least: float, most: float
) -> float | None:
    """Return a number within limits; None if the table has none.

    Raises:
        ParseError: if it is invalid.
    """
    value = table.get(key)
    if value is None:
        return None
    # NaN fails the comparison below, so that other types are refused with the same message
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not least <= number <= most:
        where = os.fspath(path)
        raise ParseError(f"{key} = {value!r}: a number from {least:g} to {most:g}", where=where)
    return float(number)
