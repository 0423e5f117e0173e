"""File types by their first bytes, for clear errors about files that are not ONNX models."""

from __future__ import annotations

import re
from enum import Enum

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError

HEAD_BYTES = 512
"""Bytes by which a file is recognized: its magic number, or the beginning of its text."""

# advice for files that have weights but no graph
_EXPORT = "export it with torch.onnx.export(model, inputs, 'model.onnx')"

_STARTS = data_next_to(__file__)
"""Type of a file, and advice for it, by its first bytes."""
_RELAX = re.compile(rb'\s*\{\s*"(root_index"\s*:\s*\d|root"\s*:\s*\d|metadata"\s*:\s*\{\s*"tvm_)')
"""Beginning of a JSON document of TVM; ``root`` in versions before 0.22."""
_TRACE = re.compile(rb'"(traceEvents|deviceProperties|averageMs|ph)"\s*:')
"""A key that profilers write, and no model: PyTorch, ONNX Runtime, TensorRT."""
_HTML = (b"<!doctype", b"<html", b"<head", b"<body")
"""Beginnings of pages, which a download saves in place of a file that needs a login."""


class Form(Enum):
    """Encoding of a model's bytes."""

    BINARY = "protobuf"
    GZIP = "gzip"
    TEXT = "ONNX text"


def recognize(head: bytes, where: str, *, text_suffix: bool = False) -> Form:
    """Return the encoding of a file with this beginning.

    Raises:
        ModelError: the beginning is of something known that is not an ONNX model.
    """
    if not head:
        raise ModelError("the file is empty", hint="download or export it again", where=where)
    if head.startswith(b"\x1f\x8b"):
        return Form.GZIP
    for start, (what, hint) in _STARTS.items():
        if head.startswith(start.encode("latin-1")):
            raise _not_onnx(what, hint, where)
    # FlatBuffers have an identifier after the offset of their root
    match head[4:8]:
        case b"ET12":
            hint = "give the .pt2 archive that it was lowered from"
            raise _not_onnx("an ExecuTorch program", hint, where)
        case b"ORTM":
            hint = "give the ONNX model it was made from"
            raise _not_onnx("an ORT-format model", hint, where)
    # safetensors: the length of a JSON header in 8 bytes, here below 1 GiB, then the header
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") < 1 << 30:
        raise _not_onnx("a safetensors file: weights without a graph", _EXPORT, where)
    # without the mark of UTF-8
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:9].lower().startswith(_HTML):
        hint = "download the file itself, not the page that shows it"
        raise _not_onnx("an HTML page", hint, where)
    return Form.TEXT if text_suffix or text.startswith(b"<") else Form.BINARY


def is_relax(head: bytes) -> bool:
    """Return True for the beginning of a JSON document of TVM, as opposed to other JSON.

    >>> is_relax(b'{"root_index":58,"nodes":['), is_relax(b'{"model_type": "llama"')
    (True, False)
    """
    return _RELAX.match(head) is not None


def refuse_trace(head: bytes, where: str) -> None:
    """Raise an error if JSON that begins so is the trace of a profiler.

    Raises:
        ModelError: it is one.
    """
    if head.lstrip().startswith((b"{", b"[")) and _TRACE.search(head):
        hint = f"perfc trace {where} reads it"
        raise ModelError("a trace of a profiler, not a model", hint=hint, where=where)


def looks_like_text(head: bytes) -> bool:
    """Return True if all bytes are printable: protobuf has others, as lengths and tags."""
    # tab, line ends, ASCII, and bytes of UTF-8
    return not head.translate(None, bytes([9, 10, 13, *range(32, 127), *range(128, 256)]))


def plain_text(head: bytes, where: str) -> ModelError:
    """Return the error for text that is not an ONNX model."""
    start = head.lstrip()
    refuse_trace(start, where)
    if start.startswith((b"{", b"[")):
        return _not_onnx("JSON", "convert it: onnx.load(path, format='json')", where)
    if start.startswith((b"ir_version", b"graph {", b"producer_name", b"opset_import")):
        hint = "convert it: onnx.load(path, format='textproto')"
        return _not_onnx("a protobuf text file", hint, where)
    hint = "the ONNX text form begins with <ir_version"
    if where.endswith(".py"):
        hint = f"a module in it is {where}:NAME"
    return _not_onnx("other text", hint, where)


def _not_onnx(what: str, hint: str, where: str) -> ModelError:
    """Return the error that names what a file is instead."""
    return ModelError(f"not an ONNX model but {what}", hint=hint, where=where)
