"""Model formats: each module of this folder detects one format and lowers its models.

A format is one module in this folder with the functions of `ModelFormat`; nothing lists them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, cast

from perfc.common.declared import modules
from perfc.ir import Known, Module, record

from ..reading.magic import HEAD_BYTES

if TYPE_CHECKING:
    from ..config import ModuleCode, ServingPrecision


PLAIN = (b"\x08", b"\x1f")
"""First bytes of ONNX files, plain and compressed by gzip: they are recognised without importing
other formats."""


@record
class ReadOptions:
    """Options of reading a model.

    Args:
        dims: values for symbolic extents; they become the symbols' defaults.
        contents: what is known of inputs that drive shapes.
        is_trained: whether a training step is made of the model.
        code: code of the modules that a configuration describes; None for kernels of engines.
        trained_in: element types of a training step of a configuration, if it runs the kernels of
            trainers; None otherwise.
        root: folder that source files are named from; "" for the current one.
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    contents: Mapping[str, Known] = field(default_factory=dict)
    is_trained: bool = False
    code: ModuleCode | None = None
    trained_in: ServingPrecision | None = None
    root: str = ""


class ModelFormat(Protocol):
    """Functions of a module that reads one format; it imports its reader when it lowers."""

    def reads(self, path: str, head: bytes) -> bool:
        """Return True if a model has this format.

        Args:
            path: path or name of the model; empty for one given as bytes.
            head: first `HEAD_BYTES` bytes; empty for a folder, or a name that is no file.
        """

    def lower(self, model: str | bytes, options: ReadOptions) -> Module:
        """Return the model without its weights; types of intermediate values stay open.

        Raises:
            ModelError: the model cannot be read.
        """


def format_of(model: str | bytes | os.PathLike[str]) -> ModelFormat:
    """Return the format of a model; ONNX by default, whose reader names other types of files."""
    from . import onnx

    path = "" if isinstance(model, bytes) else os.fspath(model)
    head = model[:HEAD_BYTES] if isinstance(model, bytes) else head_of(path)
    if head[:1] in PLAIN and path.lower().endswith((".onnx", ".onnx.gz")):
        return cast("ModelFormat", onnx)
    # the reader of ONNX accepts everything: it comes last
    others = cast("list[ModelFormat]", [m for m in modules(__name__) if m is not onnx])
    return next((f for f in others if f.reads(path, head)), cast("ModelFormat", onnx))


def head_of(path: str) -> bytes:
    """Return the first bytes of a regular file; empty for anything else."""
    try:
        # opening a pipe or a device would block
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with open(path, "rb", buffering=0) as file:
            return file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return b""
