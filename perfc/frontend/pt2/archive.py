"""Zip archives of PyTorch: finds the program of ``torch.export.save`` and names what else it is."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
import zlib
from typing import Any, BinaryIO

from perfc.errors import ModelError, reason_of
from perfc.ir.record import record

from ..collector import paused_collector

MOST_BYTES = 1 << 27
"""Maximum bytes of a program without its weights; a node takes about 2 KiB."""
MOST_DIRECTORY_BYTES = 1 << 26
"""Maximum bytes of the zip directory; an entry takes about 100."""
TAIL_BYTES = (1 << 16) + 22
"""Bytes at the end of a zip archive that contain the record of its directory."""
SAVE = "save torch.export.export(module, inputs) with torch.export.save(program, 'model.pt2')"

PROGRAM = re.compile(r"([^/]+/)?(models/[^/]+\.json|serialized_exported_program\.json)")
"""Names of the entry with the program; PyTorch before 2.8 writes the second.
Source: torch/export/pt2_archive/constants.py; torch/export/__init__.py of PyTorch 2.5."""

OTHERS: tuple[tuple[str, str, str], ...] = (
    (r".*/?code/.*\.py|.*constants\.pkl", "a TorchScript archive", SAVE),
    (r".*data/aotinductor/.*|.*\.wrapper\.cpp", "a compiled AOTInductor package", SAVE),
    (r".*data\.pkl", "a PyTorch checkpoint: weights without a graph", SAVE),
    (r".*\.npy", "a NumPy archive", "give the model"),
    (r".*model\.weights\.h5|.*keras_metadata\.pb", "a Keras model", "convert it with tf2onnx"),
    (r".*\.onnx", "a zip archive with an ONNX file in it", "unpack it: unzip FILE"),
)
"""Pattern of an entry of other zip archives, what they are, and what to do."""


@record
class Archive:
    """Program of an archive.

    Args:
        program: object of the JSON document.
        nbytes: size of the document.
        sha256: digest of the document.
    """

    program: dict[str, Any]
    nbytes: int
    sha256: str


def read_archive(model: str | bytes) -> Archive:
    """Return the program of an archive; no weight is read.

    Args:
        model: path of a file, or the bytes of one.

    Raises:
        ModelError: damaged, too large, or another zip archive.
    """
    where = "model" if isinstance(model, bytes) else model
    try:
        with io.BytesIO(model) if isinstance(model, bytes) else open(model, "rb") as file:
            require_small_directory(file, where)
            with zipfile.ZipFile(file) as archive:
                data = program_bytes(archive, where)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            LookupError, ValueError) as error:  # fmt: skip
        what = f"damaged zip archive: {reason_of(error)}"
        raise ModelError(what, hint="it was cut short? Save it again", where=where) from None
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}", where=where) from None
    try:
        with paused_collector():
            program = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"its program is no JSON: {reason_of(error)}", where=where) from None
    if not isinstance(program, dict) or not isinstance(program.get("graph_module"), dict):
        raise ModelError("its program has no graph", hint=SAVE, where=where)
    return Archive(program, len(data), hashlib.sha256(data).hexdigest())


def require_small_directory(file: BinaryIO, where: str) -> None:
    """Raise an error if the directory of a zip archive does not fit into memory.

    Raises:
        ModelError: it is too large.
    """
    nbytes = file.seek(0, os.SEEK_END)
    file.seek(max(nbytes - TAIL_BYTES, 0))
    tail = file.read(TAIL_BYTES)
    at = tail.rfind(b"PK\5\6")
    size = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if size == 0xFFFFFFFF:
        wide = tail.rfind(b"PK\6\6", 0, at)
        size = int.from_bytes(tail[wide + 40 : wide + 48], "little") if wide >= 0 else nbytes
    if size > MOST_DIRECTORY_BYTES:
        what = f"a zip directory of more than {MOST_DIRECTORY_BYTES >> 20} MiB"
        raise ModelError(what, hint=SAVE, where=where)
    file.seek(0)


def program_bytes(archive: zipfile.ZipFile, where: str) -> bytes:
    """Return the JSON document of the program.

    Raises:
        ModelError: none or several, or it is too large.
    """
    names = archive.namelist()
    programs = [name for name in names if PROGRAM.fullmatch(name)]
    if not programs:
        raise refused(names, where)
    if len(programs) > 1:
        hint = "save each program to a file of its own"
        raise ModelError(f"{len(programs)} programs in one archive", hint=hint, where=where)
    info = archive.getinfo(programs[0])
    if info.file_size <= MOST_BYTES:
        with archive.open(info) as entry:
            data = entry.read(MOST_BYTES + 1)
        if len(data) <= MOST_BYTES:
            return data
    what = f"the program alone, without weights, is larger than {MOST_BYTES >> 20} MiB"
    raise ModelError(what, hint="export a part of the model", where=where)


def refused(names: list[str], where: str) -> ModelError:
    """Return the error for a zip archive without a program."""
    for pattern, what, hint in OTHERS:
        if any(re.fullmatch(pattern, name) for name in names):
            return ModelError(f"not an exported program but {what}", hint=hint, where=where)
    what = "an empty zip archive" if not names else "a zip archive without a program in it"
    return ModelError(what, hint=SAVE, where=where)
