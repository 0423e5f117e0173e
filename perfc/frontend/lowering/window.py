"""A file seen through a window that moves forward, so that what is skipped is never read."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

from perfc.errors import ModelError

FIRST_READ_BYTES = 4096
"""Length of the first read after a skip, a page of memory: short, so that little of the next weight
is read with the header before it."""
LONGEST_READ_BYTES = 1 << 18
"""Longest of the reads, which double from `FIRST_READ_BYTES` while they follow one another."""
MOST_READ_BYTES = 1 << 30
"""Maximum bytes of a graph; weights are skipped and do not count. Real graphs are far smaller: a
larger one is damaged, or has weights where they cannot be skipped, in attributes."""


class ByteWindow:
    """Bytes of a model at positions that only grow, and a digest of all that were not skipped.

    Args:
        where: name of the file for messages.
        data: the whole model; empty if ``file`` gives it.
        file: an unbuffered seekable file.
        nbytes: size of the file.
    """

    def __init__(
        self, where: str, *, data: bytes = b"", file: BinaryIO | None = None, nbytes: int = 0
    ) -> None:
        self.where = where
        self.nbytes = nbytes if file is not None else len(data)
        self._file = file
        self._buffer = data
        self._base = 0
        self._step = FIRST_READ_BYTES
        self._read_bytes = 0
        self._digest = hashlib.sha256()
        self._digested = 0

    def at(self, position: int, want: int) -> tuple[bytes, int]:
        """Return a buffer that has the ``want`` bytes from ``position`` on, and its position."""
        start = position - self._base
        if start >= 0 and start + want <= len(self._buffer):
            return self._buffer, self._base
        if self._file is None:
            raise self.ends_early(position + want)
        in_sequence = 0 <= start <= len(self._buffer)
        self._step = min(self._step * 2, LONGEST_READ_BYTES) if in_sequence else FIRST_READ_BYTES
        # bytes before the new position leave the buffer
        self._digest_up_to(position)
        length = min(max(want, self._step), self.nbytes - position)
        self._buffer = self._read(self._file, position, length)
        self._base = position
        self._read_bytes += length
        if self._read_bytes > MOST_READ_BYTES:
            raise ModelError(
                f"the graph alone, without weights, is larger than {MOST_READ_BYTES >> 30} GiB",
                hint="move large constants out of attributes into initializers",
                where=self.where,
            )
        if length < want:
            raise self.ends_early(position + want)
        return self._buffer, self._base

    def skip(self, start: int, stop: int) -> None:
        """Leave the bytes from ``start`` to ``stop`` out of the digest; they need not be read."""
        self._digest_up_to(start)
        self._digested = stop

    def digest(self) -> str:
        """Return the SHA-256 of all bytes of the file without the skipped ones."""
        self._digest_up_to(self.nbytes)
        return self._digest.hexdigest()

    def ends_early(self, expected: int) -> ModelError:
        """Return the error for a file that is shorter than what it announces."""
        return ModelError(
            f"the file ends at byte {self.nbytes}, where {expected} bytes are announced",
            hint="it was cut short: download or export it again",
            where=self.where,
        )

    def _digest_up_to(self, position: int) -> None:
        """Add the bytes before a position that are not in the digest yet and were not skipped."""
        if position > self._digested:
            first, last = self._digested - self._base, position - self._base
            self._digest.update(memoryview(self._buffer)[first:last])
            self._digested = position

    def _read(self, file: BinaryIO, position: int, length: int) -> bytes:
        """Return bytes of the file.

        Raises:
            ModelError: the file cannot be read, or ends before them.
        """
        try:
            file.seek(position)
            data = file.read(length)
            while len(data) < length and (more := file.read(length - len(data))):
                data += more
        except OSError as error:
            reason = error.strerror or str(error)
            raise ModelError(
                f"cannot be read at byte {position}: {reason}", where=self.where
            ) from None
        if len(data) < length:
            self.nbytes = position + len(data)
            raise self.ends_early(position + length)
        return data
