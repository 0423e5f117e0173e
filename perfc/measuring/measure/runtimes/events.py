"""Read JSON profiles in pieces: memory stays bounded whatever the file's size.

`arrays` yields the events of the JSON formats of traces, `events` those of onnxruntime.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, cast

from perfc.common import whole_file
from perfc.errors import ParseError

CHUNK = 1 << 20
"""Characters that are read of a file at a time."""
LARGEST_ITEM = 8 << 20
"""Maximum characters of one event."""
LARGEST_FILE = 4 << 30
"""Maximum bytes of a profile, unpacked."""
MOST_ITEMS = 20_000_000
"""Maximum events of a profile, which bounds the time to read it."""
LONGEST_KEY = 200
"""Maximum characters of a key with the blanks and brackets after it."""
MOST_OTHERS = 1_000_000
"""Maximum items of an array that are no objects, or objects without a key."""
LOOSE = 16 << 20
"""Unpacked bytes of a gzip file that are read whatever their ratio to its size."""
MOST_RATIO = 64
"""Maximum multiple of its size to which a larger gzip file unpacks: more is no profile. The traces
of PyTorch, JAX and rocprofv3 at hand unpack to 13 to 25 times their size."""
BLANKS = re.compile(r"[ \t\r\n,]*")
"""Blanks and commas between two values."""

LONGEST_NUMBER = 32
"""Maximum characters of a number in text; longer ones would be slow to convert."""
_INTEGER = re.compile(r"[+-]?\d+")
"""A whole number in text; the next line has any number."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")

Event = Mapping[str, object]
"""One event, as JSON has it."""


def open_text(path: str | os.PathLike[str]) -> IO[bytes]:
    """Return the bytes of a profile, unpacked where it is gzipped.

    Raises:
        ParseError: it cannot be opened.
    """
    try:
        # a pipe or a device would block or never end
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ParseError("not a regular file", where=os.fspath(path))
        with open(path, "rb") as stream:
            is_packed = stream.read(2) == b"\x1f\x8b"
        return cast("IO[bytes]", gzip.open(path, "rb") if is_packed else open(path, "rb"))
    except OSError as error:
        raise ParseError(error.strerror or "cannot be read", where=os.fspath(path)) from None


def head(path: str | os.PathLike[str], size: int = 1 << 16) -> str:
    """Return the beginning of a profile."""
    with open_text(path) as stream:
        return _read(stream, size, os.fspath(path)).decode("utf-8", "replace")


def _read(stream: IO[bytes], size: int, where: str) -> bytes:
    """Return the next bytes of a profile, at most ``size``.

    Raises:
        ParseError: damaged, or it unpacks to too much.
    """
    try:
        data = stream.read(size)
        largest = max(LOOSE, MOST_RATIO * os.stat(where).st_size)
        is_packed = isinstance(stream, gzip.GzipFile)
        if is_packed and stream.tell() > largest:
            what = f"unpacks to more than {MOST_RATIO} times its size: no profile does"
            raise ParseError(what, where=where, hint="unpack it yourself if you trust it: gunzip")
    except (OSError, EOFError, zlib.error) as error:
        raise ParseError(f"cannot be unpacked: {error}", where=where) from None
    return data


class Items:
    """Iterate over the objects of one array in a JSON file, decoded one at a time.

    The file is read in pieces: ``buffer`` is the text of the last ones, ``position`` the offset in
    it of the next value, ``rest`` the bytes of a character that a piece cuts. ``total`` counts
    bytes, ``blanks`` blanks in a row, ``outside`` collects the text outside of arrays. ``closers``
    are the brackets with which the file must end, None while unknown; ``is_cut`` is True if it ends
    before them.
    """

    def __init__(self, stream: IO[bytes], where: str) -> None:
        self.stream = stream
        self.where = where
        self.buffer = ""
        self.position = 0
        self.total = 0
        self.blanks = 0
        self.is_over = False
        self.rest = b""
        self.decoder = json.JSONDecoder(strict=False)  # texts may have control characters
        self.closers: str | None = None
        self.is_cut = False
        self.outside: list[str] = []

    def more(self) -> bool:
        """Read another piece; False at the end of the file."""
        data = _read(self.stream, CHUNK, self.where)
        self.total += len(data)
        for listener in whole_file.LISTENERS:
            # the position in the file, not in what it unpacks to
            listener(
                getattr(self.stream, "fileobj", self.stream).tell(), os.stat(self.where).st_size
            )
        if self.total > LARGEST_FILE:
            raise ParseError("larger than 4 GiB", where=self.where, hint="record fewer runs")
        data = self.rest + data
        cut = len(data)
        # the last character may be cut: its bytes are left for the next piece. In UTF-8 a byte
        # 11xxxxxx begins a character of 2 to 4 bytes, and 10xxxxxx continues one
        while cut and len(data) - cut < 4 and data[cut - 1] & 0xC0 == 0x80:
            cut -= 1
        if cut and data[cut - 1] >= 0xC0:
            cut -= 1
        if len(data) == len(self.rest):  # nothing was read: the end, whatever is cut
            cut = len(data)
        self.rest = data[cut:]
        self.buffer = self.buffer[self.position :] + data[:cut].decode("utf-8", "replace")
        self.position = 0
        self.is_over = len(data) == cut == 0
        return not self.is_over

    def seek(self, key: str) -> bool:
        """Go behind the ``[`` of ``"key": [``, or of the top array for an empty key.

        Return False if there is none.
        """
        if key:
            return bool(self.seek_any([key]))
        while not self.skip():
            if not self.more():
                return False
        is_array = self.buffer[self.position] == "["
        self.position += is_array
        return is_array

    def seek_any(self, keys: Sequence[str]) -> str:
        """Go behind the ``[`` of the next of several keys; return the key, "" if there is none."""
        pattern = re.compile(rf'"({"|".join(keys)})"\s*:\s*\[')
        while True:
            match = pattern.search(self.buffer, self.position)
            if match:
                if self.closers is None:
                    self.closers = closing(self.buffer[: match.start()])
                self.pass_over(match.start())
                self.position = match.end()
                return match[1]
            # the end of the buffer is searched again with the next piece: a key may be cut there
            self.pass_over(max(len(self.buffer) - LONGEST_KEY, self.position))
            if self.position and self.closers is None:
                self.closers = ""  # the brackets before the first array are not all in the buffer
            if not self.more():
                ending = "".join(self.buffer.split())
                self.is_cut |= not ending.endswith(self.closers or ("}", "]"))
                self.pass_over(len(self.buffer))
                return ""

    def pass_over(self, position: int) -> None:
        """Go to a position, and store the text before it unless it is long."""
        passed = self.buffer[self.position : position]
        if len(passed) + sum(map(len, self.outside)) <= LARGEST_ITEM:
            self.outside.append(passed)
        self.position = position

    def __iter__(self) -> Iterator[Event]:
        count = others = 0
        while True:
            if not self.skip():
                if not self.more():
                    self.is_cut = True
                    return  # a profile of a process that was killed ends in the middle
                continue
            if self.buffer[self.position] == "]":
                return
            item = self.item()
            if item is None:
                self.is_cut = True
                return
            count += 1
            if count > MOST_ITEMS:
                raise ParseError("more than 20 million events", where=self.where)
            others += not (isinstance(item, dict) and item)
            if others > MOST_OTHERS:
                raise ParseError(f"more than {MOST_OTHERS:,} empty events", where=self.where)
            if isinstance(item, dict):
                yield cast("Event", item)

    def skip(self) -> bool:
        """Go over blanks and commas; False at the end of the piece.

        Raises:
            ParseError: more of them in a row than the largest event.
        """
        match = BLANKS.match(self.buffer, self.position)
        assert match is not None
        end = match.end()
        # at position 0 the piece is new, and blanks before it belong to the same row
        self.blanks = (0 if self.position else self.blanks) + end - self.position
        if self.blanks > LARGEST_ITEM:
            raise ParseError(f"more than {LARGEST_ITEM >> 20} MiB of blanks", where=self.where)
        self.position = end
        return end < len(self.buffer)

    def item(self) -> object:
        """Return the next value; None where the file ends in the middle of it."""
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.position)
            except RecursionError:
                raise ParseError("nested too deeply", where=self.where) from None
            except ValueError as error:
                # a value that the piece cuts fails near the end, within a literal or number, or at
                # the beginning of a string without its end; more text mends no other failure
                waiting = len(self.buffer) - self.position
                at_end = getattr(error, "pos", 0) >= len(self.buffer) - 64
                is_open = at_end or "Unterminated" in str(error)
                if waiting > LARGEST_ITEM or not is_open:
                    raise ParseError(f"not JSON: {error}", where=self.where) from None
                if not self.more():
                    return None
                continue
            # a number that ends with the piece may go on in the next
            if end >= len(self.buffer) and not isinstance(value, dict | list) and self.more():
                continue
            self.position = end
            return value


def events(path: str | os.PathLike[str], key: str = "") -> Iterator[Event]:
    """Yield the objects of the array under ``key``, or of the top one.

    Raises:
        ParseError: no such array, or not JSON.
    """
    where = os.fspath(path)
    with open_text(path) as stream:
        items = Items(stream, where)
        if not items.seek(key):
            raise ParseError("no list of events in it", where=where)
        yield from items


def closing(text: str) -> str:
    """Return the closing brackets for all brackets that a text leaves open, innermost first."""
    open_ones: list[str] = []
    # strings are removed first: brackets in them open nothing
    for bracket in re.findall(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        if bracket in "[{":
            open_ones.append("]" if bracket == "[" else "}")
        elif open_ones:
            open_ones.pop()
    return "".join(reversed(open_ones))


def arrays(
    path: str | os.PathLike[str],
    keys: Sequence[str],
    on_cut: Callable[[], object] = bool,
    on_rest: Callable[[str], object] = bool,
) -> Iterator[tuple[str, Event]]:
    """Yield key and object for every array under one of the keys, in the order of the file.

    Objects of a file that is an array itself have an empty key.

    Args:
        path: path of the file, gzipped or not.
        keys: keys of the arrays.
        on_cut: called if the file ends in the middle; the default, `bool`, does nothing.
        on_rest: called with the text outside of the arrays, at most ``LARGEST_ITEM`` characters.

    Raises:
        ParseError: no such array, or not JSON.
    """
    where = os.fspath(path)
    with open_text(path) as stream:
        items = Items(stream, where)
        is_array = items.seek("")
        key = "" if is_array else items.seek_any(keys)
        if not is_array and not key:
            raise ParseError("no list of events in it", where=where)
        while key or is_array:
            for item in items:
                yield key, item
            key = "" if is_array else items.seek_any(keys)
            is_array = False
    on_rest("".join(items.outside))
    if items.is_cut:
        on_cut()


def whole(path: str | os.PathLike[str], largest: int = 32 << 20) -> object:
    """Return a small JSON file at once.

    Raises:
        ParseError: too large, or not JSON.
    """
    where = os.fspath(path)
    with open_text(path) as stream:
        data = _read(stream, largest + 1, where)
    if len(data) > largest:
        raise ParseError(f"larger than {largest >> 20} MiB", where=where)
    try:
        return cast("object", json.loads(data))
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not JSON: {str(error)[:100]}", where=where) from None


def number(event: Event, key: str) -> float | None:
    """Return a finite number in an event, also as text; None for anything else."""
    value = event.get(key)
    if isinstance(value, str) and len(value) <= LONGEST_NUMBER and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # larger numbers show damage, and their products would overflow; NaN is unequal to itself
    value = float(value) if abs(value) < 1e30 else None
    return value if value is not None and value == value else None


def integer(event: Event, key: str) -> int | None:
    """Return a whole number of 64 bits in an event, also as text; None for anything else."""
    value = event.get(key)
    if isinstance(value, str) and len(value) <= LONGEST_NUMBER and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        return None
    return value


def text(event: Event, key: str) -> str:
    """Return a text in an event, "" for anything else."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def inner(event: Event, key: str) -> Event:
    """Return an object in an event, empty for anything else."""
    value = event.get(key)
    return cast("Event", value) if isinstance(value, dict) else {}
