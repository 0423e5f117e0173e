"""Model formats: each module of this folder detects one format and lowers its models.

A format is one module in this folder with the functions of `ModelFormat`; nothing lists them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from perfc.common.declared import modules
from perfc.ir import Known, Module, record

from ..reading.magic import HEAD_BYTES

if TYPE_CHECKING:
    from ..config import ModuleCode, ServingPrecision


PLAIN = (b"\x08", b"\x1f")
"""First bytes of ONNX files, plain and compressed by gzip: they are recognized without importing
other formats."""
CONFIGURATIONS = ("config", "gguf", "safetensors")
"""Formats that describe a language model instead of listing its operators."""


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


class ConfigurationFormat(ModelFormat, Protocol):
    """Functions of the format of configurations, whose models run as a deployment has it."""

    def generates(self, path: str) -> bool:
        """Return True for a model that generates tokens.

        Raises:
            ModelError: the configuration cannot be read.
        """

    def code_of(self, version: tuple[int, int] | None) -> ModuleCode:
        """Return the code of transformers that runs a model, of the newest version for None."""

    def usual_training(self, takes: Callable[[str], bool], dtype: str) -> tuple[str, bool]:
        """Return the type of products in training, and whether an optimizer keeps f32 copies.

        Args:
            takes: whether the machine multiplies a type.
            dtype: the given type; "" for the usual one of the machine.
        """

    def trained_in(self, dtype: str, takes: Callable[[str], bool]) -> ServingPrecision:
        """Return the element types of a step whose products have a type, on a machine.

        Raises:
            ParseError: an unknown format, autocast, or one whose weights have no gradient.
        """

    def cached(self, name: str) -> str:
        """Return the path of a configuration in the local cache of the hub; "" if it has none."""

    def shipped(self, name: str) -> dict[str, Any] | None:
        """Return the keys of a configuration that perfc ships; None if none has that name."""


def by_name(name: str) -> Any:
    """Return the format of a name, which is that of its module."""
    return import_module(f".{name}", __name__)


def configurations() -> ConfigurationFormat:
    """Return the format of configurations."""
    return cast("ConfigurationFormat", by_name(CONFIGURATIONS[0]))


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
