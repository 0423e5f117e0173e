"""ONNX files as messages, for commands that write a model; external weights stay external."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.whole_file import write_whole
from perfc.errors import ModelError

if TYPE_CHECKING:
    import onnx

    from perfc.ir import Poly

LARGEST_BYTES = (1 << 31) - 1
"""Maximum size of a protobuf message; larger models have external weights."""


def read_model(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """Read the model in ``path`` (``.onnx``, gzip or ONNX text) without external data.

    Raises:
        ModelError: not an ONNX model, or too large for a message.
    """
    from importlib import import_module

    import onnx

    # protobuf ships no types
    decode_error: type[Exception] = import_module("google.protobuf.message").DecodeError
    where = os.fspath(path)
    data = _bytes(where)
    if where.removesuffix(".gz").endswith((".onnxtxt", ".onnxtext", ".txt")):
        try:
            model: onnx.ModelProto = onnx.parser.parse_model(data.decode("utf-8"))
        except (onnx.parser.ParseError, UnicodeDecodeError) as error:
            raise ModelError(f"not ONNX text: {error}", where=where) from None
        return model
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except decode_error as error:
        raise ModelError(f"not an ONNX model: {error}", where=where) from None
    if not model.HasField("graph"):
        raise ModelError("not an ONNX model: it has no graph", where=where)
    return model


def _bytes(where: str) -> bytes:
    """Return the bytes of a file, unpacked if it is gzip."""
    try:
        with open(where, "rb") as file:
            # gzip is recognized by its first bytes, whatever the name. One byte more than allowed
            # is read, which shows that there are more
            if file.read(2) == b"\x1f\x8b":
                file.seek(0)
                with gzip.open(file) as unpacked:
                    data = unpacked.read(LARGEST_BYTES + 1)
            else:
                file.seek(0)
                data = file.read(LARGEST_BYTES + 1)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"cannot be read: {reason}", where=where) from None
    if len(data) > LARGEST_BYTES:
        raise ModelError(
            "larger than 2 GiB in one file", where=where, hint="save its weights as external data"
        )
    return data


def write_model(model: onnx.ModelProto, path: Path) -> None:
    """Write the model atomically, compressed if the name ends in ``.gz``.

    Raises:
        ModelError: the file cannot be written.
    """
    data = model.SerializeToString(deterministic=True)
    if path.name.endswith(".gz"):
        # no time stamp, so that equal models are equal files
        data = gzip.compress(data, mtime=0)
    try:
        write_whole(path, data)
    except OSError as error:
        raise ModelError(error.strerror or "cannot be written", where=str(path)) from None


def dim_param(extent: Poly) -> str:
    """Return ``extent`` as an ONNX dimension name: a symbol's name or a printed expression."""
    from perfc.ir import symbols
    from perfc.ir.syntax.names import symbol_name

    text = str(extent)
    return symbol_name(text) if text in {s.key for s in symbols(extent)} else text
