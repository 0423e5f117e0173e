"""FlatBuffers: tables of a file at any position, read in pages, so that weights are skipped."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from io import FileIO

from perfc.errors import ModelError
from perfc.ir import frozen

from ..source import open_file, unreadable

PAGE_BYTES = 1 << 14
"""Bytes of a page. Tables share pages, and weights fill many, most of which are never read."""
MOST_READ_BYTES = 1 << 27
"""Maximum bytes of the tables of a file, and of all vectors that are read."""
MOST_TABLES = 1 << 20
"""Maximum tables that are read; in a damaged file, many references to one table take no bytes."""
LONGEST_NAME_BYTES = 4096
"""Maximum bytes of a name that are read; the length stands in the file, damaged or not."""


class FlatFile:
    """Bytes of a file by position.

    Args:
        model: path of a file, or the bytes of one.
        where: name of the file in errors.
    """

    def __init__(self, model: str | bytes, where: str) -> None:
        self.where = where
        self._file: FileIO | None = None
        self._pages: dict[int, bytes] = {}
        self._vector_bytes = self.tables = 0
        if isinstance(model, bytes):
            self.nbytes = len(model)
            # bytes are cut into pages as a file is
            starts = range(0, len(model), PAGE_BYTES)
            self._pages = {s // PAGE_BYTES: model[s : s + PAGE_BYTES] for s in starts}
        else:
            self._file = open_file(model, where)
            self.nbytes = os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def read(self, position: int, count: int) -> bytes:
        """Return ``count`` bytes from ``position``.

        Raises:
            ModelError: the file has no such bytes, or too many are read.
        """
        if position < 0 or count < 0 or position + count > self.nbytes:
            what = f"refers to bytes {position} to {position + count} of {self.nbytes}"
            raise ModelError(what, hint="it was cut short? Convert it again", where=self.where)
        page, start = divmod(position, PAGE_BYTES)
        if start + count <= PAGE_BYTES:
            return self._page(page)[start : start + count]
        last = (position + count - 1) // PAGE_BYTES
        joined = b"".join(self._page(p) for p in range(page, last + 1))
        return joined[start : start + count]

    def number(self, position: int, code: str) -> int:
        """Return the number of a format of `struct` at a position."""
        return int(struct.unpack("<" + code, self.read(position, struct.calcsize(code)))[0])

    def vector(self, position: int, code: str) -> tuple[int, ...]:
        """Return the vector at a position.

        Raises:
            ModelError: all vectors together are too large.
        """
        # the number of elements stands before them
        count = self.number(position, "I")
        nbytes = count * struct.calcsize(code)
        self._vector_bytes += nbytes
        if self._vector_bytes > MOST_READ_BYTES:
            raise self._large()
        return struct.unpack(f"<{count}{code}", self.read(position + 4, nbytes))

    def root(self) -> FlatTable:
        """Return the outermost table, whose position the file begins with."""
        return FlatTable(self, self.number(0, "I"))

    def digest(self) -> str:
        """Return the SHA-256 of all pages that were read; of bytes, those are all pages."""
        pages = sorted(self._pages.items())
        return hashlib.sha256(b"".join(page for _, page in pages)).hexdigest()

    def _page(self, index: int) -> bytes:
        """Return a page of the file; it stays in memory for later tables."""
        page = self._pages.get(index)
        if page is None:
            assert self._file is not None
            if len(self._pages) * PAGE_BYTES > MOST_READ_BYTES:
                raise self._large()
            try:
                page = self._pages[index] = os.pread(
                    self._file.fileno(), PAGE_BYTES, index * PAGE_BYTES
                )
            except OSError as error:
                raise unreadable(error, self.where) from None
        return page

    def _large(self) -> ModelError:
        what = f"the graph alone, without weights, is larger than {MOST_READ_BYTES >> 20} MiB"
        return ModelError(what, hint="convert a part of the model", where=self.where)


@frozen
class FlatTable:
    """Table of fields, each of which may be absent.

    Args:
        file: file with the table.
        position: its position in the file.
    """

    file: FlatFile
    position: int

    def place(self, index: int) -> int:
        """Return the position of a field; 0 if it is absent."""
        file = self.file
        # a table begins with the distance back to its directory: two sizes, an offset per field
        directory = self.position - file.number(self.position, "i")
        at = 4 + 2 * index
        if at + 2 > file.number(directory, "H"):
            return 0
        offset = file.number(directory + at, "H")
        return self.position + offset if offset else 0

    def target(self, index: int) -> int:
        """Return the position of what a field refers to; 0 if the field is absent."""
        # the field holds the distance from itself
        place = self.place(index)
        return place + self.file.number(place, "I") if place else 0

    def number(self, index: int, code: str, default: float = 0) -> float:
        """Return a number; ``code`` is its format of `struct`."""
        place = self.place(index)
        if not place:
            return default
        value: float = struct.unpack("<" + code, self.file.read(place, struct.calcsize(code)))[0]
        return value

    def integer(self, index: int, code: str, default: int = 0) -> int:
        """Return a whole number."""
        return int(self.number(index, code, default))

    def vector(self, index: int, code: str) -> tuple[int, ...]:
        """Return a vector of numbers; empty if it is absent."""
        target = self.target(index)
        return self.file.vector(target, code) if target else ()

    def text(self, index: int) -> str:
        """Return a text; empty if it is absent."""
        target = self.target(index)
        if not target:
            return ""
        count = min(self.file.number(target, "I"), LONGEST_NAME_BYTES)
        return self.file.read(target + 4, count).decode("utf-8", "replace")

    def table(self, index: int) -> FlatTable | None:
        """Return a table; None if it is absent."""
        target = self.target(index)
        return FlatTable(self.file, target) if target else None

    def tables(self, index: int) -> list[FlatTable]:
        """Return a vector of tables; empty if it is absent."""
        return list(self._tables(index))

    def _tables(self, index: int) -> Iterator[FlatTable]:
        # offsets follow the number of elements; each counts from its position in the vector
        target, file = self.target(index), self.file
        offsets = file.vector(target, "I") if target else ()
        file.tables += len(offsets)
        if file.tables > MOST_TABLES:
            raise ModelError(f"more than {MOST_TABLES} tables", where=file.where)
        for at, offset in enumerate(offsets):
            yield FlatTable(file, target + 4 + 4 * at + offset)
