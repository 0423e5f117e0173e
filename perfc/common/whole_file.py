"""Replace files atomically, and read lines of untrusted files with bounds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from perfc.errors import ModelError, ParseError

LONGEST_LINE = 1 << 20
"""Maximum characters of a line, so that a file without line ends is never read whole."""
MOST_BLANK_LINES = 1_000_000
"""Maximum blank lines: readers skip them without counting rows, so that limits on rows do not bound
a file of blank lines."""
LISTENERS: list[Callable[[int, int], None]] = []
"""Functions that a reader of a profile calls with the bytes that it has read, and the file's."""


def lines_of(stream: TextIO, where: str) -> Iterator[str]:
    """Yield the lines of an untrusted file.

    Raises:
        ParseError: a line is too long, or too many are blank.
    """
    blank = 0
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise ParseError(f"a line has more than {LONGEST_LINE >> 20} MiB", where=where)
        blank += line.isspace()
        if blank > MOST_BLANK_LINES:
            raise ParseError(f"more than {MOST_BLANK_LINES:,} blank lines", where=where)
        yield line


@contextmanager
def replacing(path: Path, *, suffix: str = "") -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` at the end, or is removed after an error.

    Args:
        path: file to replace; the permissions of an existing file are preserved.
        suffix: suffix of the temporary file.

    Raises:
        OSError: the temporary file cannot be created or renamed.
    """
    import tempfile

    # in the folder of the file: a rename replaces a file only within one file system
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=suffix)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        # permissions of the replaced file, else the default ones: mkstemp has 0600
        part.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        part.replace(path)
    # an interrupt as well must leave no temporary file
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically; special files such as ``/dev/stdout`` are written directly.

    Raises:
        OSError: the file cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    with replacing(path) as part:
        part.write_bytes(content)


def write_output(path: Path, content: str | bytes) -> None:
    """Write an output file atomically.

    Raises:
        ModelError: the file cannot be written.
    """
    try:
        write_whole(path, content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise ModelError(error.strerror or "cannot be written", where=str(path)) from None


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _umask() -> int:
    """Return the umask of the process, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
