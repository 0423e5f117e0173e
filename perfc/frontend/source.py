"""Open a model file of any form that is read: ``.onnx``, gzip, ONNX text, bytes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from io import FileIO
from typing import BinaryIO

from perfc.common.repository import remedy
from perfc.errors import ModelError, message_line

from .collector import paused_collector
from .lowering.schema import MESSAGES
from .lowering.window import ByteWindow
from .reading.external import read_contents
from .reading.magic import HEAD_BYTES, Form, looks_like_text, plain_text, recognize
from .reading.proto import NOTHING, FileOrigin, ProtoModel
from .reading.wire import WireDecoder

MEMORY_BYTES = 64 << 20
"""Maximum unpacked bytes of a compressed model in memory; a larger one goes to a temporary file."""
LONGEST_TEXT_BYTES = 16 << 20
"""Maximum bytes of ONNX text, which the parser of onnx needs whole in memory."""
LONGEST_GUNZIP_BYTES = 8 << 30
"""Maximum unpacked bytes of a compressed model."""
BOMB_BYTES = 1 << 30
"""Unpacked bytes of a compressed model up to which any ratio to its size is accepted."""
BOMB_RATIO = 100
"""Maximum ratio of unpacked bytes to the size of a larger model. Weights hardly compress, while
zeros, as in a file that is made to fill memory, compress 1000-fold."""

_BLOCK_BYTES = 1 << 18
"""Bytes that are read and unpacked at a time."""
_TEXT_SUFFIXES = (".onnxtxt", ".onnxtext", ".txt")
"""Endings of ONNX in text form."""
_DEEPEST_TEXT = 64
"""Maximum nesting of brackets, as of graphs in the binary form."""
_BRACKETS = re.compile(rb'(?:[^][(){}"]++|"(?:[^"\\]++|\\.)*+"?)*+([][(){}])?', re.DOTALL)
"""Text up to the next bracket outside of strings. Possessive, so that no byte is read twice."""
_ALONE: tuple[str, ...] = ()
"""Files of a model without external data."""


def open_model(model: str | os.PathLike[str] | bytes, content: bytes | None = None) -> ProtoModel:
    """Return the graph of a model without its weights.

    Args:
        model: path of a file, or the bytes of one.
        content: the bytes of the file, if the caller has read them.

    Raises:
        ModelError: there is no such file, it cannot be read, or it is not an ONNX model.
    """
    if isinstance(model, bytes):
        try:
            return _from_bytes(model, "", "model", text_suffix=False)
        except OSError as error:
            raise unreadable(error, "model") from None
    path = os.fspath(model)
    where = one_line(path)
    text_suffix = path.lower().removesuffix(".gz").endswith(_TEXT_SUFFIXES)
    if content is not None:
        return _from_bytes(content, path, where, text_suffix=text_suffix)
    with open_file(path, where) as file:
        try:
            head = file.read(HEAD_BYTES)
            nbytes = os.fstat(file.fileno()).st_size
            form = recognize(head, where, text_suffix=text_suffix)
            if form is Form.GZIP:
                file.seek(0)
                return _from_gzip(file, path, where, text_suffix=text_suffix)
            if form is Form.TEXT:
                file.seek(0)
                return _from_text(file.read(LONGEST_TEXT_BYTES + 1), path, where)
        except OSError as error:
            raise unreadable(error, where) from None
        return _decode(ByteWindow(where, file=file, nbytes=nbytes), head, path)


def one_line(path: str) -> str:
    """Return a path as it is printed in errors."""
    return path if path.isprintable() else ascii(path)


def open_file(path: str, where: str) -> FileIO:
    """Return a regular file, open for reading.

    Args:
        path: path of the file.
        where: the path as errors print it.

    Raises:
        ModelError: it cannot be opened, or is a folder, pipe or device.
    """
    try:
        # A pipe or a device would block or never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            what = "a folder" if os.path.isdir(path) else "not a regular file"
            raise ModelError(what, hint="give the path of a .onnx file", where=where)
        return open(path, "rb", buffering=0)
    except (OSError, ValueError) as error:
        raise unreadable(error, where) from None


def unreadable(error: OSError | ValueError, where: str) -> ModelError:
    """Return the error for a file that the operating system does not read."""
    match error:
        case FileNotFoundError():
            return ModelError("no such file", hint=remedy(where), where=where)
        case PermissionError():
            return ModelError("no permission to read it", hint="check its mode", where=where)
        case OSError():
            return ModelError(f"cannot be read: {error.strerror or error}", where=where)
        case _:
            return ModelError(f"not a path: {error}", where=where)


def _from_bytes(data: bytes, path: str, where: str, *, text_suffix: bool) -> ProtoModel:
    """Return the graph of bytes in any form."""
    head = data[:HEAD_BYTES]
    match recognize(head, where, text_suffix=text_suffix):
        case Form.GZIP:
            import io

            return _from_gzip(io.BytesIO(data), path, where, text_suffix=text_suffix)
        case Form.TEXT:
            return _from_text(data[: LONGEST_TEXT_BYTES + 1], path, where)
        case Form.BINARY:
            return _decode(ByteWindow(where, data=data), head, path)


def _from_gzip(file: BinaryIO, path: str, where: str, *, text_suffix: bool) -> ProtoModel:
    """Return the graph of a compressed model, unpacked in memory or to a temporary file."""
    blocks: list[bytes] = []
    total = 0
    stream = _gunzip(file, where)
    for block in stream:
        blocks.append(block)
        total += len(block)
        if total > MEMORY_BYTES:
            break
    else:
        # all of it is in memory; a larger model goes to a temporary file below
        data = b"".join(blocks)
        if data.startswith(b"\x1f\x8b"):
            raise ModelError("compressed twice", hint="decompress it: gunzip FILE", where=where)
        return _from_bytes(data, path, where, text_suffix=text_suffix)
    import tempfile

    with tempfile.TemporaryFile(buffering=0) as spill:
        for block in blocks:
            spill.write(block)
        blocks.clear()
        for block in stream:
            spill.write(block)
        nbytes = spill.tell()
        spill.seek(0)
        head = spill.read(HEAD_BYTES)
        # text is parsed in memory, which it exceeds here
        if recognize(head, where) is not Form.BINARY:
            raise ModelError("too large for anything but a binary model", where=where)
        return _decode(ByteWindow(where, file=spill, nbytes=nbytes), head, path)


def _gunzip(file: BinaryIO, where: str) -> Iterator[bytes]:
    """Yield the blocks of the decompressed bytes of all members of a gzip file."""
    read = total = 0
    # 31: a window of 2^15 bytes (15), with the header of gzip (16)
    inflate = zlib.decompressobj(wbits=31)
    data = b""
    while True:
        if not data:
            data = file.read(_BLOCK_BYTES)
            read += len(data)
            if not data:
                break
        if inflate.eof:
            # zeros may fill up a file after a member; anything else is the next member
            data = data.lstrip(b"\0")
            if data:
                inflate = zlib.decompressobj(wbits=31)
            continue
        try:
            block = inflate.decompress(data, _BLOCK_BYTES)
        except zlib.error as error:
            what = f"damaged gzip data: {error}"
            raise ModelError(what, hint="download it again", where=where) from None
        data = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
        total += len(block)
        if total > LONGEST_GUNZIP_BYTES or (total > BOMB_BYTES and total > BOMB_RATIO * read):
            raise ModelError(
                f"decompresses to more than {total >> 30} GiB",
                hint="decompress it yourself if you trust it: gunzip FILE",
                where=where,
            )
        yield block
    if not inflate.eof:
        what = "the gzip data ends early"
        raise ModelError(what, hint="it was cut short: download it again", where=where)


def _from_text(text: bytes, path: str, where: str) -> ProtoModel:
    """Return the graph of ONNX text, parsed by onnx and read as its binary form."""
    if len(text) > LONGEST_TEXT_BYTES:
        what = f"ONNX text of more than {LONGEST_TEXT_BYTES >> 20} MiB"
        raise ModelError(what, hint="convert it to the binary form", where=where)
    head = text[:HEAD_BYTES]
    # the parser of onnx calls itself for each bracket, on a stack of fixed size
    if is_deeper(text, _DEEPEST_TEXT):
        raise ModelError(f"graph nested deeper than {_DEEPEST_TEXT}", where=where)
    from onnx import parser

    try:
        data = parser.parse_model(text.decode("utf-8")).SerializeToString()
    except (parser.ParseError, RuntimeError, ValueError, LookupError) as error:
        # ONNX text begins with its versions in angle brackets: this is some other text
        if not head.lstrip().startswith(b"<"):
            raise plain_text(head, where) from None
        what = f"the ONNX text does not parse: {message_line(error)[:300]}"
        raise ModelError(what, hint="see the syntax in onnx/docs/Syntax.md", where=where) from None
    return _decode(ByteWindow(where, data=data), data[:HEAD_BYTES], path)


def is_deeper(text: bytes, most: int) -> bool:
    """Return True if brackets outside of strings are nested deeper than ``most``."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += 1 if match[1] in (b"(", b"[", b"{") else -1
        if depth > most:
            return True
    return False


def _decode(window: ByteWindow, head: bytes, path: str) -> ProtoModel:
    """Return the graph of a binary model, with the digest of what was read."""
    decoder = WireDecoder(window, MESSAGES)
    try:
        with paused_collector():
            model: ProtoModel | None = decoder.walk(MESSAGES["ModelProto"], 0, window.nbytes, 0)
    except ModelError:
        if looks_like_text(head):
            raise plain_text(head, window.where) from None
        raise
    except RecursionError:
        raise decoder.fault("graph nested too deep", 0) from None
    if model is None:
        if looks_like_text(head):
            raise plain_text(head, window.where)
        what, hint = "no graph in it: not an ONNX model", "export the model to ONNX"
        raise ModelError(what, hint=hint, where=window.where)
    digest, files, contents = window.digest(), _ALONE, NOTHING
    # a model given as bytes has no folder to look in
    if path and decoder.external:
        read, files, places = read_contents(decoder.external, os.path.dirname(path) or ".")
        contents = read, places
        if read:
            digest = hashlib.sha256(f"{digest}:{read}".encode()).hexdigest()
    model.origin = FileOrigin(path, window.nbytes, digest, files, contents)
    return model
