"""Headers of GGUF files: metadata, and name, type and extents of each tensor; no weight is read.

Source: ggml, docs/gguf.md; llama.cpp, ggml/src/gguf.cpp.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from io import FileIO
from math import prod
from typing import Any

from perfc.errors import ModelError
from perfc.ir import record

from ..reading.magic import recognize
from ..source import one_line, open_file, unreadable
from .ggml_types import TYPES
from .stored import FileTensor

MAGIC = b"GGUF"
MOST_HEADER_BYTES = 1 << 27
"""Maximum bytes of a header; a header with a vocabulary of 260,000 tokens has about 20 MiB."""
MOST_KEYS, MOST_TENSORS, MOST_PARTS = 1 << 14, 1 << 17, 1 << 10
"""Maximum metadata entries, tensors and files of a model that a damaged header can make."""
MOST_STRINGS = 1 << 22
"""Maximum strings of all arrays; the largest vocabularies with their merges have 600,000."""
DEEPEST, MOST_AXES = 4, 4
"""Maximum nesting of arrays, which bounds recursion, and axes. Source: ggml.h, GGML_MAX_DIMS."""
LONGEST_TEXT, LONGEST_LIST = 1 << 12, 1 << 12
"""Longest text and list that are stored; longer ones are skipped."""
MOST_ELEMENTS = 1 << 50
"""Maximum elements of a tensor; the extents of a damaged header multiply to more."""
STRING, ARRAY = 8, 9
"""Codes of types that are not scalars. Source: ggml, docs/gguf.md, gguf_metadata_value_type."""
SCALARS = {i: f"<{c}" for i, c in enumerate("BbHhIif?  Qqd") if c != " "}
"""Format of `struct` by code of a type, 0 to 12; blanks are `STRING` and `ARRAY`."""
SPLIT = re.compile(r"(.*-)(\d{5})(-of-)(\d{5})(\.gguf)", re.IGNORECASE | re.DOTALL)
"""Name of one of several files: ``model-00001-of-00003.gguf``, by llama.cpp's gguf-split."""
DOWNLOAD = "download it again"
MORE = "download it again, or more of its beginning"


@record
class GgufHeader:
    """Header of a file, or of all parts of a file that is split.

    Args:
        metadata: values by key, without long lists and texts.
        tensors: all tensors.
        digest: SHA-256 of the headers.
    """

    metadata: dict[str, Any]
    tensors: tuple[FileTensor, ...]
    digest: str


def read_gguf(path: str) -> GgufHeader:
    """Return the header of a GGUF file, of all parts if the file is one of several.

    Raises:
        ModelError: a part is missing, cannot be read, ends early, or is no GGUF file.
    """
    digest = hashlib.sha256()
    metadata: dict[str, Any] = {}
    tensors: list[FileTensor] = []
    for part in parts_of(path):
        header = _HeaderReader(part)
        # the first part has the metadata of the model, other parts only counts of their tensors
        metadata = {**header.metadata, **metadata}
        tensors += header.tensors
        digest.update(header.bytes_read)
    return GgufHeader(metadata, tuple(tensors), digest.hexdigest())


def parts_of(path: str) -> list[str]:
    """Return the paths of all parts of a split file; the path alone for another.

    Raises:
        ModelError: a part is missing.
    """
    named = SPLIT.fullmatch(path)
    if named is None or not 1 < int(named[4]) <= MOST_PARTS:
        return [path]
    before, _, infix, count, suffix = named.groups()
    parts = [f"{before}{i:05}{infix}{count}{suffix}" for i in range(1, int(count) + 1)]
    missing = [p for p in parts if not os.path.exists(p)]
    if missing:
        message = f"{len(missing)} of {len(parts)} parts of the model are missing"
        raise ModelError(message, hint="download all parts", where=one_line(missing[0]))
    return parts


class _HeaderReader:
    """Reads one file front to back; each read is checked against the file's size.

    ``data`` has the bytes that were read so far, and ``at`` is the position of the next value in
    them; ``strings`` counts items of arrays, for `MOST_STRINGS`.

    Args:
        path: path of the file.
    """

    def __init__(self, path: str) -> None:
        self.where = one_line(path)
        self.data, self.at = b"", 0
        self.strings = 0
        self.metadata: dict[str, Any] = {}
        with open_file(path, self.where) as file:
            self.file: FileIO = file
            try:
                self.size = os.fstat(file.fileno()).st_size
                self.tensors = self._read()
            except OSError as error:
                raise unreadable(error, self.where) from None
        self.bytes_read = self.data[: self.at]

    def _read(self) -> list[FileTensor]:
        """Read magic number, version, metadata and tensors, in the order of the format."""
        if self.peek(4) != MAGIC:
            # for a file of another known format, this raises an error that says what to do
            recognize(self.data[:512], self.where, text_suffix=True)
            raise self.wrong("not a GGUF file", DOWNLOAD)
        self.at = 4
        version = self.number("<I")
        if version not in (2, 3):
            # the version with its bytes in the other order
            is_swapped = version in (2 << 24, 3 << 24)
            what = "big-endian GGUF" if is_swapped else f"version {version} of GGUF"
            raise self.wrong(f"{what}, not version 2 or 3", "convert it with llama.cpp")
        tensors = self.count("<Q", MOST_TENSORS, "tensors")
        for _ in range(self.count("<Q", MOST_KEYS, "keys")):
            key = self.text()
            self.metadata[key] = self.value(self.number("<I"), 0)
        all_tensors = [self.tensor() for _ in range(tensors)]
        self.check(all_tensors)
        return [tensor for tensor, _ in all_tensors]

    def check(self, every: list[tuple[FileTensor, int]]) -> None:
        """Raise an error if the data of a tensor lie beyond the end of a file that has any."""
        # 32 by default (ggml, docs/gguf.md); files use few, and a damaged one could have any
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20:
            raise self.wrong(f"an alignment of {str(alignment)[:20]}")
        # data begin at the next multiple of the alignment
        data_start = -(-self.at // alignment) * alignment
        # the header alone, as fetched to save the download, has all that is read
        if self.size <= data_start:
            return
        for tensor, offset in every:
            if data_start + offset + tensor.nbytes > self.size:
                hint = f"{DOWNLOAD}, or keep its header alone: head -c {self.at} FILE"
                raise self.wrong(f"ends before the data of {tensor.name[:64]!a}", hint)

    def tensor(self) -> tuple[FileTensor, int]:
        """Return the next tensor, and the position of its data behind the header."""
        name = self.text()
        axes = self.number("<I")
        if axes > MOST_AXES:
            raise self.wrong(f"{name[:64]!a} has {axes} axes")
        shape = tuple(self.number("<Q") for _ in range(axes))
        code, offset = self.number("<I"), self.number("<Q")
        type_ = TYPES.get(code)
        if type_ is None:
            raise self.wrong(f"{name[:64]!a} has the tensor type {code}, which is not known")
        elements = prod(shape)
        if elements > MOST_ELEMENTS:
            raise self.wrong(f"{name[:64]!a} has {elements} elements")
        # blocks lie along the first axis, the contracted one
        row = shape[0] if shape else 1
        if row % type_.elements:
            rows = f"rows of {row} elements, not blocks of {type_.elements}"
            raise self.wrong(f"{name[:64]!a} has {rows}")
        nbytes = elements // type_.elements * type_.nbytes
        return FileTensor(name, type_, elements, nbytes, shape), offset

    def value(self, kind: int, depth: int) -> Any:
        """Return the next value of a type; None for long texts and lists, which are skipped."""
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == STRING:
            text = self.raw_text()
            return text.decode("utf-8", "replace") if len(text) <= LONGEST_TEXT else None
        if kind != ARRAY:
            raise self.wrong(f"the metadata type {kind}, which is not known")
        if depth == DEEPEST:
            raise self.wrong(f"arrays nested deeper than {DEEPEST}")
        inner, count = self.number("<I"), self.number("<Q")
        if inner in SCALARS and count > LONGEST_LIST:
            self.skip(count * struct.calcsize(SCALARS[inner]))
            return None
        if inner not in SCALARS:
            # strings and arrays have no size before they are read: they are counted
            self.strings += count
            if self.strings > MOST_STRINGS:
                raise self.wrong(f"{self.strings} items in arrays, more than {MOST_STRINGS}")
        if inner == STRING and count > LONGEST_LIST:
            self.skip_strings(count)
            return None
        if count > LONGEST_LIST:
            raise self.wrong(f"an array of {count} arrays")
        return [self.value(inner, depth + 1) for _ in range(count)]

    def skip_strings(self, count: int) -> None:
        """Skip strings, such as the words of a vocabulary: only their lengths are decoded."""
        # a local position and one `Struct`, as a vocabulary has 260,000 strings
        position, length_at = self.at, struct.Struct("<Q").unpack_from
        for _ in range(count):
            if position + 8 > len(self.data):
                self.at = position
                self.skip(8)
            (length,) = length_at(self.data, position)
            position += 8 + length
        self.at = position
        self.skip(0)  # reads what is missing of the last string, or raises the error

    def count(self, form: str, most: int, what: str) -> int:
        """Return the next number, which is at most ``most``."""
        number: int = self.number(form)
        if number > most:
            raise self.wrong(f"{number} {what}, more than {most}")
        return number

    def number(self, form: str) -> Any:
        """Return the next number of a format of `struct`."""
        width = struct.calcsize(form)
        self.skip(width)
        return struct.unpack_from(form, self.data, self.at - width)[0]

    def text(self) -> str:
        """Return the next string."""
        return self.raw_text().decode("utf-8", "replace")

    def raw_text(self) -> bytes:
        """Return the bytes of the next string."""
        length = self.number("<Q")
        self.skip(length)
        return self.data[self.at - length : self.at]

    def peek(self, count: int) -> bytes:
        """Return the next bytes; fewer at the end of the file."""
        self._fill(min(self.at + count, self.size))
        return self.data[self.at : self.at + count]

    def skip(self, count: int) -> None:
        """Skip bytes.

        Raises:
            ModelError: the file ends before, or the header is too long.
        """
        end = self.at + count
        if end > len(self.data):
            if end > self.size:
                raise self.wrong("ends within its header", MORE)
            if end > MOST_HEADER_BYTES:
                raise self.wrong(f"a header of more than {MOST_HEADER_BYTES >> 20} MiB")
            self._fill(end)
        self.at = end

    def _fill(self, end: int) -> None:
        """Read at least to a position, in pieces that double from 64 KiB to 16 MiB."""
        while len(self.data) < end:
            piece = self.file.read(max(1 << 16, min(len(self.data), 1 << 24)))
            if not piece:
                raise self.wrong("ends within its header", MORE)
            self.data += piece

    def wrong(self, message: str, hint: str = "") -> ModelError:
        """Return the error for a file that breaks a rule of the format."""
        return ModelError(message, hint=hint, where=self.where)
