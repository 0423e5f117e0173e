"""Zip archives of PyTorch: reads programs of ``torch.export.save`` and refuses other archives."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

from perfc.errors import ModelError, reason_of
from perfc.ir import record

from ..collector import paused_collector
from ..reading.proto import FileOrigin
from ..source import open_file, unreadable

MOST_BYTES = 1 << 27
"""Maximum bytes of a program without its weights: 65,536 nodes of about 2 KiB."""
MOST_DIRECTORY_BYTES = 1 << 26
"""Maximum bytes of the zip directory: about 670,000 entries of 100 bytes."""
MOST_CONSTANT_BYTES = 1 << 13
"""Maximum bytes of a constant whose elements are read: counters, indices and shapes."""
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compressions of an entry that are read; decoders of others reserve the memory that a file asks
for."""
FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)
"""Errors of `zipfile`: a damaged directory, damaged data, data that end early, encryption or a
version of zip that it does not read, and names or offsets that are invalid."""
SAVE = "save torch.export.export(module, inputs) with torch.export.save(program, 'model.pt2')"
"""Advice wherever another file than a saved program is given."""

PROGRAM = re.compile(r"([^/]+/)?(models/[^/]+\.json|serialized_exported_program\.json)")
"""Names of the entry with the program; PyTorch before 2.8 writes the second.
Source: torch/export/pt2_archive/constants.py; torch/export/__init__.py of PyTorch 2.5."""
WEIGHTS = re.compile(r"(([^/]+/)?data/weights/)[^/]+_weights_config\.json")
"""Names of the entry with the file of each parameter, which PyTorch writes since 2.8."""
CONSTANTS = re.compile(r"(([^/]+/)?data/constants/)[^/]+_constants_config\.json")
"""Names of the entry with the file of each constant, which PyTorch writes since 2.8."""
FILES = re.compile(rb'"path_name": *"([^"\\]*)"')
"""Names of the files of parameters in the table of weights."""

OTHERS: tuple[tuple[str, str, str], ...] = (
    (r".*/?code/.*\.py|.*constants\.pkl", "a TorchScript archive", SAVE),
    (r".*data/aotinductor/.*|.*\.wrapper\.cpp", "a compiled AOTInductor package", SAVE),
    (r".*data\.pkl", "a PyTorch checkpoint: weights without a graph", SAVE),
    (r".*\.npy", "a NumPy archive", "give the model"),
    (r".*model\.weights\.h5|.*keras_metadata\.pb", "a Keras model", "convert it with tf2onnx"),
    (r".*\.onnx", "a zip archive with an ONNX file in it", "unpack it: unzip FILE"),
)
"""Pattern of an entry of other zip archives, their type, and what to do; the first match holds."""


@record
class Archive:
    """Program of an archive.

    Args:
        program: object of the JSON document.
        ties: name of the first parameter that has the same elements, by name of a parameter; empty
            for PyTorch before 2.8 and where no two parameters share elements.
        constants: elements of small constants, by name; empty for PyTorch before 2.8.
        origin: path of the archive, with size and digest of the documents in it.
    """

    program: dict[str, Any]
    ties: Mapping[str, str]
    constants: Mapping[str, bytes]
    origin: FileOrigin


class BoundedReader(io.BufferedReader):
    """File that refuses reads larger than a zip directory, which `zipfile` reads in one piece."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes: ``size`` of them, all without a size.

        Raises:
            ModelError: the read returns more than a directory may have.
        """
        # one byte more than allowed shows that there are more
        limit = MOST_DIRECTORY_BYTES + 1
        data = super().read(limit if size is None or size < 0 else min(size, limit))
        if len(data) == limit:
            what = f"a zip directory of more than {MOST_DIRECTORY_BYTES >> 20} MiB"
            raise ModelError(what, hint=SAVE)
        return data


def read_archive(model: str | bytes, where: str) -> Archive:
    """Return the program of an archive; no weight is read.

    Args:
        model: path of a file, or the bytes of one.
        where: place of errors of the file system.

    Raises:
        ModelError: the archive is damaged, too large, or of another type.
        LookupError, TypeError, AttributeError: its table of weights does not follow the schema.
    """
    path, file = (
        ("", io.BytesIO(model)) if isinstance(model, bytes) else (model, open_file(model, where))
    )
    try:
        with BoundedReader(file) as bounded, zipfile.ZipFile(bounded) as archive:
            program, weights = documents(archive)
            document = parsed(program)
            ties, constants = ties_of(archive, weights), constants_of(archive)
    except FAULTS as error:
        what = f"damaged zip archive: {reason_of(error)}"
        raise ModelError(what, hint="it was cut short? Save it again") from None
    except OSError as error:
        raise unreadable(error, where) from None
    if not isinstance(document, dict) or not isinstance(document.get("graph_module"), dict):
        raise ModelError("its program has no graph", hint=SAVE)
    digest = hashlib.sha256(program + weights).hexdigest()
    return Archive(document, ties, constants, FileOrigin(path, len(program) + len(weights), digest))


def parsed(document: bytes) -> Any:
    """Return the content of a JSON document.

    Raises:
        ModelError: it does not parse.
    """
    try:
        with paused_collector():
            return json.loads(document)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"its program is no JSON: {reason_of(error)}") from None


def documents(archive: zipfile.ZipFile) -> tuple[bytes, bytes]:
    """Return the JSON documents of the program and of its weights; empty for absent weights.

    Raises:
        ModelError: no program or several, or one that is too large or compressed in another way.
    """
    names = archive.namelist()
    programs = [name for name in names if PROGRAM.fullmatch(name)]
    if not programs:
        raise refused(names)
    if len(programs) > 1:
        hint = "save each program to a separate file"
        raise ModelError(f"{len(programs)} programs in one archive", hint=hint)
    # absent before PyTorch 2.8
    weights = [name for name in names if WEIGHTS.fullmatch(name)][:1]
    entries = [archive.getinfo(name) for name in programs + weights]
    if sum(info.file_size for info in entries) > MOST_BYTES:
        what = f"the program alone, without weights, is larger than {MOST_BYTES >> 20} MiB"
        raise ModelError(what, hint="export a part of the model")
    contents = [content_of(archive, info) for info in entries]
    return contents[0], contents[1] if weights else b""


def content_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of an entry.

    Raises:
        ModelError: compressed in another way.
    """
    if info.compress_type not in COMPRESSIONS:
        raise ModelError(f"its program has compression {info.compress_type}", hint=SAVE)
    content = io.BytesIO()
    with archive.open(info) as entry:
        shutil.copyfileobj(entry, content)
    return content.getvalue()


def ties_of(archive: zipfile.ZipFile, weights: bytes) -> dict[str, str]:
    """Return the first parameter with the same elements, by name of a parameter.

    PyTorch writes one empty file for all tensors without elements, as on the meta device: sharing
    it ties no parameters.
    """
    # most models tie nothing: their table is searched for equal files, not parsed
    files = FILES.findall(weights)
    if len(set(files)) == len(files):
        return {}
    sizes = {i.filename.rpartition("data/weights/")[2]: i.file_size for i in archive.infolist()}
    if not any(sizes.get(file.decode()) for file in files):
        return {}
    first: dict[tuple[str, str], str] = {}
    return {
        name: first.setdefault((weight["path_name"], str(weight["tensor_meta"])), name)
        for name, weight in parsed(weights)["config"].items()
        if weight["is_param"] and sizes.get(weight["path_name"])
    }


def constants_of(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Return the elements of small constants by name, if they are contiguous and no pickles.

    Raises:
        ModelError: their table is too large or no JSON.
        LookupError, TypeError, AttributeError: it does not follow the schema.
    """
    entries = {info.filename: info for info in archive.infolist()}
    table = next(filter(None, map(CONSTANTS.fullmatch, entries)), None)
    if table is None:
        return {}
    if entries[table[0]].file_size > MOST_BYTES:
        raise ModelError(f"a table of constants of more than {MOST_BYTES >> 20} MiB", hint=SAVE)
    result: dict[str, bytes] = {}
    for name, constant in parsed(content_of(archive, entries[table[0]]))["config"].items():
        info = entries.get(f"{table[1]}{constant['path_name']}")
        # strides that do not fall show another order of elements than row-major
        strides = [step["as_int"] for step in constant["tensor_meta"]["strides"]]
        is_contiguous = strides == sorted(strides, reverse=True) and not constant["use_pickle"]
        if info is not None and info.file_size <= MOST_CONSTANT_BYTES and is_contiguous:
            result[name] = content_of(archive, info)
    return result


def refused(names: list[str]) -> ModelError:
    """Return the error for a zip archive without a program."""
    for pattern, what, hint in OTHERS:
        if any(re.fullmatch(pattern, name) for name in names):
            return ModelError(f"not an exported program but {what}", hint=hint)
    what = "an empty zip archive" if not names else "a zip archive without a program in it"
    return ModelError(what, hint=SAVE)
