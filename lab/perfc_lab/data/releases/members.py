"""Files of an archive or folder, in bounded size; nothing is unpacked to disk.

`reading` takes the files one by one, so that a release of any size is read.
"""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from perfc.ir.record import record

from ..source import FetchError

MOST_MEMBERS = 500_000
"""Maximum files of a release."""
MOST_BYTES = 64 << 20
"""Maximum bytes of a member."""
MOST_TOTAL_BYTES = 256 << 30
"""Maximum bytes of all members: an archive of zeros would unpack for hours."""


@record
class ReleaseMember:
    """A regular file of a release.

    Args:
        name: its path in the release, a text for messages and parsing; nothing opens it.
        content: its bytes.
    """

    name: str
    content: bytes

    @property
    def stem(self) -> str:
        """Return the file's name without folders and suffix."""
        return self.name.rsplit("/", 1)[-1].rpartition(".")[0]

    @property
    def suffix(self) -> str:
        """Return the suffix with its dot, in lower case."""
        return "." + self.name.rpartition(".")[2].lower()


def members_of(path: Path, suffixes: frozenset[str]) -> Iterator[ReleaseMember]:
    """Yield the files with these suffixes of a tar or zip archive, or of a folder.

    Links, devices and files outside the folder are skipped.

    Raises:
        FetchError: no archive, damaged, or larger than the limits of this module.
    """
    try:
        if path.is_dir():
            entries = _of_folder(path)
        elif tarfile.is_tarfile(path):
            # tar is tested first: files of `torch.save`, which are zip archives, may lie in a tar
            entries = _of_tar(path)
        else:
            entries = _of_zip(path)
        yield from limited(entries, suffixes, path)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        line = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise FetchError(f"no tar, zip or folder: {line}", where=str(path)) from None


Entries = Iterator[tuple[str, int, Callable[[], IO[bytes] | None]]]
"""Name, size in the index, and a function that opens the file."""


def limited(entries: Entries, suffixes: frozenset[str], path: Path) -> Iterator[ReleaseMember]:
    """Yield members with a suffix while count and sizes are within the limits."""
    count = total = 0
    for name, size, opened in entries:
        count, total = count + 1, total + size
        if count > MOST_MEMBERS or total > MOST_TOTAL_BYTES:
            raise FetchError("more files than a release has", where=str(path))
        if "." + name.rpartition(".")[2].lower() not in suffixes:
            continue
        stream = opened() if size <= MOST_BYTES else None
        content = b""
        if stream is not None:
            with stream:
                content = stream.read(MOST_BYTES + 1)
        if size > MOST_BYTES or len(content) > MOST_BYTES:
            raise FetchError(f"larger than {MOST_BYTES} bytes", where=f"{path}: {name[:120]}")
        yield ReleaseMember(name, content)


def _of_tar(path: Path) -> Entries:
    """Yield the regular files of a tar archive, compressed or not."""
    with tarfile.open(path, "r:*") as archive:
        for info in archive:
            if info.isreg():
                yield info.name, info.size, partial(archive.extractfile, info)
            # the list of members would grow with the archive
            archive.members = []  # type: ignore[attr-defined]


def _of_zip(path: Path) -> Entries:
    """Yield the files of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, info.file_size, partial(archive.open, info)


def _of_folder(path: Path) -> Entries:
    """Yield the files below a folder; links are not followed."""
    root = path.resolve()
    for file in sorted(root.rglob("*")):
        if file.is_file() and not file.is_symlink() and file.resolve().is_relative_to(root):
            yield file.relative_to(root).as_posix(), file.stat().st_size, partial(_opened, file)


def _opened(file: Path) -> IO[bytes]:
    return file.open("rb")
