"""Read TOML files with bounds and line numbers for messages, and write them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from perfc.errors import ParseError, reason_of, suggestion

from .cache_folder import cached

LARGEST_BYTES = 1 << 20
"""Maximum bytes of a file; files written by hand are far smaller."""
MOST_PARTS = 64
"""Maximum parts of a dotted key; tomllib needs quadratic time in them."""
LARGEST_INTEGER = (1 << 63) - 1
"""Maximum integer: TOML has 64 bits, tomllib accepts any."""
_DOTTED = re.compile(
    rf"""(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}""", re.ASCII
)
"""Pattern of a key of more parts than `MOST_PARTS`; its quantifiers are possessive, so that no text
takes quadratic time."""


def read_text(path: Path, largest_bytes: int = LARGEST_BYTES) -> str:
    """Read a small text file.

    Raises:
        ParseError: the file cannot be read, is too large, or is not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(largest_bytes + 1)  # one more shows that the file is too large
    except OSError as error:
        raise ParseError(error.strerror or "cannot be read", where=str(path)) from None
    if len(data) > largest_bytes:
        raise ParseError(f"more than {largest_bytes >> 10:,} KiB", where=str(path))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ParseError("not UTF-8 text", where=str(path)) from None


def parse(text: str, path: Path) -> dict[str, object]:
    """Parse TOML text.

    Raises:
        ParseError: not TOML, with the line, or too slow to parse.
    """
    # before tomllib, which would take very long with such a key
    dotted = _DOTTED.search(text)
    if dotted is not None:
        where = f"{path}:{line_at(text, dotted.start())}"
        raise ParseError(f"a key of more than {MOST_PARTS} parts", where=where)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # the line is moved from the message to the place of the error
        line = re.search(r"line (\d+)", str(error))
        where = f"{path}:{line[1]}" if line else str(path)
        reason = re.sub(r" \(at .*\)$", "", reason_of(error))
        raise ParseError(f"not valid TOML: {reason[:1].lower()}{reason[1:]}", where=where) from None


def remembered(text: str) -> dict[str, Any]:
    """Return the tables of a shipped TOML text, cached as JSON, which is faster to parse.

    Entries of the cache have the digest of the text as name. Dates become texts.

    Raises:
        ValueError: not TOML.
    """

    def tables(content: bytes) -> dict[str, Any]:
        """Return the tables of an entry of the cache; an error for a damaged one."""
        if not isinstance(tree := json.loads(content), dict):
            raise ValueError("no tables")
        return tree

    return cached(
        "toml", text, tables, lambda: json.dumps(tomllib.loads(text), default=str).encode()
    )


def written(tree: Mapping[str, object], comment: str = "") -> str:
    """Format ``tree`` as TOML, one value per line, below a comment.

    Invisible characters are escaped.
    """
    import tomli_w

    text = tomli_w.dumps(tree)
    if not text.isascii() or "\t" in text:
        # unprintable characters occur in basic strings only, which have this escape
        text = "".join(c if c.isprintable() or c == "\n" else f"\\U{ord(c):08x}" for c in text)
    return f"# {comment}\n{text}" if comment else text


def table_lines(text: str, table: str) -> list[int]:
    """Return the lines where each ``[[table]]`` begins."""
    header = re.compile(rf"\s*+\[\[\s*{re.escape(table)}\s*\]\]")
    return [i for i, line in enumerate(text.splitlines(), 1) if header.match(line)]


def line_of(text: str, key: str | None, table: str = "", index: int = 0) -> int:
    """Return the line of ``key`` in table ``index`` of ``[[table]]``, or at the top level.

    Falls back to the line of the table's header, then to the first line.
    """
    lines = text.splitlines()
    place, stop = 0, len(lines)
    headers = table_lines(text, table) if table else []
    if index < len(headers):
        place = headers[index] - 1
        stop = headers[index + 1] - 1 if index + 1 < len(headers) else stop
    # parts of a dotted key from the outside in, each searched from the line of the part before: at
    # the start of its line, in a header, in a dotted key or in an inline table
    for part in key.split(".") if key else ():
        pattern = re.compile(rf"\s*+(?:\[.*\b|.*[{{,.]\s*)?[\"']?{re.escape(part)}[\"']?\s*[.=\]]")
        place = next((i for i in range(place, stop) if pattern.match(lines[i])), place)
    return place + 1


def line_at(text: str, place: int) -> int:
    """Return the line number of an offset in a text."""
    return text.count("\n", 0, place) + 1


@dataclass(frozen=True)
class TableReader:
    """Parser of the tables of a file, whose errors name the line of a key.

    Args:
        path: the file.
        content: its text.
        header: name of the ``[[header]]`` tables that an index counts.
    """

    hint: ClassVar = ""
    """Hint of errors without another hint, for subclasses to set."""
    path: Path
    content: str
    header: str

    def fault(
        self,
        key: str,
        message: str,
        index: int | None = None,
        *,
        hint: str = "",
        known: tuple[str, ...] = (),
    ) -> ParseError:
        """Return the error for a key, with its line.

        Args:
            key: the key, with dots between nested ones.
            message: what is wrong.
            index: table that has the key, counted from 0; None for the top level.
            hint: what to do about it.
            known: valid keys; without a hint, the nearest is suggested.
        """
        if known and not hint:
            hint = suggestion(key, known)
        where = f"{self.path}:{self.line(key, index)}"
        return ParseError(message, where=where, hint=hint or self.hint)

    def line(self, key: str | None, index: int | None = None) -> int:
        """Return the line of a key, else of the table's header, else the first line."""
        return line_of(self.content, key, "" if index is None else self.header, index or 0)
