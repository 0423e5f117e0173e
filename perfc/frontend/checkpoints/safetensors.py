"""Headers of safetensors files: element type and bytes of each tensor; no weight is read.

Source: https://github.com/huggingface/safetensors, README, "Format".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, TypeGuard

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError
from perfc.frontend.checkpoints.json_file import loaded, parsed
from perfc.ir import record

from ..source import one_line, open_file, unreadable

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
SUFFIX = ".safetensors"
LENGTH_BYTES = 8
"""A file begins with the length of its header, 8 bytes, little-endian. Source: safetensors,
README."""
MOST_HEADER_BYTES = 1 << 26
"""Maximum bytes of a header; the header of a model of 1,000 tensors has about 100 KiB."""
MOST_INDEX_BYTES = 1 << 26
"""Maximum bytes of an index of files; it has a line per tensor, as a header has."""
MOST_FILES = 1 << 12
"""Maximum files of a model, each of which is opened."""
MOST_TENSORS = 1 << 20
"""Maximum tensors of a file: a header of 64 MiB cannot name many more."""
BITS = data_next_to(__file__)
"""Bits of an element by type."""
FLOATS = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
"""Element types as a configuration names them, by their names in a file."""
PART = re.compile(r"(?!\.)[\w.-]{1,255}\.safetensors", re.ASCII)
"""Files of an index lie next to it: names without separators and without a leading dot."""


@record
class TensorTypes:
    """Types of all tensors of a model.

    Args:
        nbytes: bytes by element type, the largest first.
    """

    nbytes: Mapping[str, int]

    @property
    def dtype(self) -> str:
        """Return the type of most bytes among floats of 16 bits or more, as configurations name it.

        It is "" without such floats.
        """
        return next((FLOATS[name] for name in self.nbytes if name in FLOATS), "")

    @property
    def largest(self) -> str:
        """Return the type of most bytes; "" without tensors."""
        return next(iter(self.nbytes), "")


def is_safetensors(path: str) -> bool:
    """Return True for a file of tensors, or the index of several."""
    return path.lower().endswith((SUFFIX, f"{SUFFIX}.index.json"))


def has_safetensors(folder: str) -> bool:
    """Return True if a folder has a model's tensors."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in (INDEX, SINGLE))


def files_of(path: str) -> list[str]:
    """Return the files of a model: of a folder or an index, or one file.

    Raises:
        ModelError: a file that the index names is missing, or has a path outside the folder.
    """
    folder, index = os.path.dirname(path), path
    if os.path.isdir(path):
        folder, index = path, os.path.join(path, INDEX)
        if not os.path.isfile(index):
            return [os.path.join(path, SINGLE)] if has_safetensors(path) else []
    elif path.lower().endswith(SUFFIX):
        return [path]
    listed = loaded(index, MOST_INDEX_BYTES).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise ModelError("no 'weight_map' names the files", where=one_line(index))
    wrong = [n for n in listed.values() if not isinstance(n, str) or not PART.fullmatch(n)]
    # each file once, in the order of the index
    names = [] if wrong else list(dict.fromkeys(listed.values()))
    if wrong or len(names) > MOST_FILES:
        what = str(wrong[0])[:64] if wrong else f"more than {MOST_FILES}"
        raise ModelError(f"no file of a model: {what!a}", where=one_line(index))
    paths = [os.path.join(folder, name) for name in names]
    missing = [p for p in paths if not os.path.isfile(p)]
    if missing:
        message = f"{len(missing)} of {len(paths)} files of the model are missing"
        raise ModelError(message, hint="download all", where=one_line(missing[0]))
    return paths


def types_of(paths: Iterable[str]) -> TensorTypes:
    """Return the types of the tensors of some files.

    Raises:
        ModelError: a file cannot be read, ends early, or is no safetensors file.
    """
    sums: dict[str, int] = {}
    for path in paths:
        for name, nbytes in _tensors(path):
            sums[name] = sums.get(name, 0) + nbytes
    return TensorTypes(dict(sorted(sums.items(), key=lambda item: -item[1])))


def _tensors(path: str) -> list[tuple[str, int]]:
    """Return type and bytes of each tensor of a file."""
    where = one_line(path)
    with open_file(path, where) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            start = file.read(LENGTH_BYTES)
            length = int.from_bytes(start, "little")
            if len(start) < LENGTH_BYTES or LENGTH_BYTES + length > size:
                hint = "download it again, or more of its beginning"
                raise ModelError("ends within its header", hint=hint, where=where)
            if length > MOST_HEADER_BYTES:
                message = f"a header of more than {MOST_HEADER_BYTES >> 20} MiB"
                raise ModelError(message, where=where)
            data = file.read(length)
        except OSError as error:
            raise unreadable(error, where) from None
    header = parsed(data, where)
    header.pop("__metadata__", None)  # notes of the writer, no tensor
    if len(header) > MOST_TENSORS:
        raise ModelError(f"{len(header)} tensors, more than {MOST_TENSORS}", where=where)
    # the header alone, as fetched to save the download, has all that is read
    data_bytes = size - LENGTH_BYTES - length or None
    return [_tensor(name, entry, data_bytes, where) for name, entry in header.items()]


def _tensor(name: str, entry: Any, size: int | None, where: str) -> tuple[str, int]:
    """Return type and bytes of a tensor whose data are within ``size`` bytes; None: no data."""
    what = f"the entry of {name[:64]!a}"
    if not isinstance(entry, dict):
        raise ModelError(f"{what} is no object", where=where)
    dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in BITS:
        raise ModelError(
            f"{what} has the type {str(dtype)[:32]!a}, which is not known", where=where
        )
    # tensors of networks have fewer than 16 axes; a damaged file may name any number
    if not _are_wholes(shape) or not _are_wholes(offsets) or len(offsets) != 2 or len(shape) > 16:
        raise ModelError(f"{what} has no shape or no offsets", where=where)
    elements = prod(shape)
    nbytes = offsets[1] - offsets[0]
    # the bits of types below a byte are rounded up to whole bytes
    if nbytes != -(-elements * BITS[dtype] // 8):
        raise ModelError(f"{what} has {nbytes} bytes for {elements} of {dtype}", where=where)
    # offsets count from the end of the header
    if size is not None and offsets[1] > size:
        raise ModelError(
            f"ends before the data of {name[:64]!a}", hint="download it again", where=where
        )
    return dtype, nbytes


def _are_wholes(value: Any) -> TypeGuard[list[int]]:
    """Return True for a list of whole numbers from 0 to 2^63 - 1."""
    return isinstance(value, list) and all(
        isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 1 << 63 for i in value
    )
