"""Small contents that a model stores in other files, if they can drive a shape.

Only files inside the model's folder are read: for each tensor the few KiB that its type and extents
say. What is missing, damaged or outside of the folder stays unread, as weights do.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from perfc.errors import ModelError
from perfc.frontend.reading.wire import PAYLOAD_CAP_BYTES
from perfc.ir.tensors.types import BY_ONNX

from ..lowering.attributes import MAX_FLOATS
from ..lowering.elements import stored_bytes
from .proto import ProtoTensor

MOST_FILES = 256
"""Maximum files that contents of one model are read from."""
MOST_BYTES = 1 << 25
"""Maximum bytes that are read of all these files."""


class ExternalData(NamedTuple):
    """Location of a tensor's elements in their file."""

    offset: int
    nbytes: int


def external_path(model_dir: str | os.PathLike[str], location: str) -> Path:
    """Return the path of a tensor's external data, inside the model's folder; opens nothing.

    Raises:
        ModelError: the location is absolute, or leads out of the folder, also through a link.
    """
    # both separators and letters of drives, so that a location means the same in any system
    parts = re.split(r"[/\\]", location)
    has_drive = len(location) > 1 and location[1] == ":"
    if not location or "\0" in location or parts[0] == "" or ".." in parts or has_drive:
        raise _outside(location)
    folder = os.path.realpath(os.fspath(model_dir))
    try:
        target = os.path.realpath(os.path.join(folder, location))
    except (OSError, ValueError):
        raise _outside(location) from None
    if os.path.commonpath([folder, target]) != folder or target == folder:
        raise _outside(location)
    return Path(target)


def _outside(location: str) -> ModelError:
    """Return the error of a location that leads out of the model's folder."""
    shown = location if location.isprintable() else ascii(location)
    return ModelError(
        f"external data at {shown!r} is not inside the model's folder",
        hint="external data must lie beside the model, named by a relative path",
    )


Place: TypeAlias = tuple[str, int, int]
"""Location of a file as the model names it, offset and number of bytes."""


def read_contents(
    tensors: Iterable[ProtoTensor], model_dir: str | os.PathLike[str]
) -> tuple[str, tuple[str, ...], tuple[Place, ...]]:
    """Give small tensors the elements that lie in files of the model's folder.

    Args:
        tensors: tensors whose elements lie in other files; elements that are read become their
            ``payload``.
        model_dir: the folder of the model.

    Returns:
        SHA-256 of all that was read and the files that it was read from, both empty if nothing was,
        and the places of all elements that were wanted.
    """
    wanted: dict[str, list[tuple[ProtoTensor, Place]]] = {}
    total = 0
    for tensor in tensors:
        part = small_place(tensor)
        location = (tensor.external or {}).get("location", "")
        if part is None or (location not in wanted and len(wanted) >= MOST_FILES):
            continue
        total += part.nbytes
        if total > MOST_BYTES:
            break
        wanted.setdefault(location, []).append((tensor, (location, *part)))
    # in the order of files, so that each is opened once
    selected = [pair for pairs in wanted.values() for pair in pairs]
    digest, files, contents = contents_of([place for _, place in selected], model_dir)
    for (tensor, (_, _, nbytes)), data in zip(selected, contents, strict=True):
        if data is not None:
            tensor.payload, tensor.nbytes = data, nbytes
    return digest, files, tuple(place for _, place in selected)


def contents_of(
    places: Iterable[Place], model_dir: str | os.PathLike[str]
) -> tuple[str, tuple[str, ...], list[bytes | None]]:
    """Read places, which are in the order of files.

    Returns:
        SHA-256 of all contents, the files that could be opened, and the content of each place; None
        for one that cannot be read.
    """
    digest = hashlib.sha256()
    files: list[str] = []
    contents: list[bytes | None] = []
    for location, of_file in groupby(places, key=itemgetter(0)):
        with opened(model_dir, location) as file:
            files += [] if file is None else [location]
            for _, offset, nbytes in of_file:
                data = None if file is None else read_part(file, offset, nbytes)
                contents.append(data)
                if data is not None:
                    # places count too: equal bytes elsewhere are other contents
                    digest.update(f"{location}:{offset}:{nbytes}:".encode("utf-8", "replace"))
                    digest.update(data)
    return digest.hexdigest() if files else "", tuple(files), contents


def small_place(tensor: ProtoTensor) -> ExternalData | None:
    """Return the file range of a small tensor's elements; None for an inconsistent entry."""
    count, entry = tensor.element_count, tensor.external
    nbytes = None if count is None else stored_bytes(tensor.data_type, count)
    if entry is None or not nbytes or nbytes > PAYLOAD_CAP_BYTES:
        return None
    dtype = BY_ONNX.get(tensor.data_type)
    # more floats than a few, as the scales of Resize, are weights
    if dtype is None or (dtype.is_float and (count or 0) > MAX_FLOATS):
        return None
    offset, length = (_number(entry.get(key, "")) for key in ("offset", "length"))
    # without a length, the elements extend to the end of the file, or as far as the type says
    if offset is None or length is None or length not in (0, nbytes):
        return None
    return ExternalData(offset, nbytes)


def _number(text: str) -> int | None:
    """Return a decimal number below 2^63; 0 for an empty text, None for anything else."""
    if not text:
        return 0
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
    return number if number is not None and number < 1 << 63 else None


@contextmanager
def opened(model_dir: str | os.PathLike[str], location: str) -> Iterator[BinaryIO | None]:
    """Open a regular file inside the model's folder; None if there is no readable one."""
    try:
        target = external_path(model_dir, location)
        # a link that appears after the check is not followed, and opening a pipe does not wait
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        is_file = stat.S_ISREG(os.lstat(target).st_mode)
        handle = os.open(target, flags | getattr(os, "O_BINARY", 0)) if is_file else None
    except (OSError, ValueError, ModelError):
        handle = None
    if handle is None:
        yield None
        return
    with open(handle, "rb", buffering=0) as file:
        yield file if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None


def read_part(file: BinaryIO, offset: int, nbytes: int) -> bytes | None:
    """Return ``nbytes`` bytes at an offset; None if the file ends before."""
    try:
        file.seek(offset)
        data = file.read(nbytes)
    except (OSError, ValueError):
        return None
    return data if len(data) == nbytes else None
