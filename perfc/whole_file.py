"""Files that readers find whole: as they were, or as they are to be, never half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfc.errors import ModelError


@contextmanager
def replacing(path: Path, *, suffix: str = "") -> Iterator[Path]:
    """A file beside ``path`` to write to; put in its place at the end, removed at an error.

    Args:
        path: what is replaced; permissions of a file that is there stay.
        suffix: ending of the name of the file beside.

    Raises:
        OSError: it cannot be made, or not be put in place.
    """
    import tempfile

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=suffix)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file in one step; what is no file, as ``/dev/stdout``, is written to.

    Raises:
        OSError: it cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    with replacing(path) as part:
        part.write_bytes(content)


def write_output(path: Path, content: str) -> None:
    """Write what a user asked for, in one step.

    Raises:
        ModelError: it cannot be written.
    """
    try:
        write_whole(path, content.encode())
    except OSError as error:
        raise ModelError(error.strerror or "cannot be written", where=str(path)) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
