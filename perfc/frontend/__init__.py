"""Readers that lower a model into the performance IR."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfc.errors import ModelError

if TYPE_CHECKING:
    from perfc.ir import Known, Module

__all__ = ["is_configuration", "load", "serialized"]


def load(
    model: str | os.PathLike[str] | bytes,
    dims: Mapping[str, int] | None = None,
    contents: Mapping[str, Known] | None = None,
    *,
    is_trained: bool = False,
) -> Module:
    """Read a model without its weights and lower it; types of intermediate values stay open.

    Args:
        model: a file (``.onnx``, ``.onnx.gz``, ONNX text, ``.pir``), a serialized model, or the
            configuration of a language model (``.json``, its folder, or a shipped name).
        dims: values for symbolic extents; they become the symbols' defaults.
        contents: what is known of inputs that drive shapes.
        is_trained: whether a training step is made of the model; a configuration then has the
            scores of every token.

    Raises:
        ModelError: not a readable model.
    """
    if isinstance(model, str | os.PathLike) and os.fspath(model).endswith(".pir"):
        from perfc.ir.graphs.rewrite import with_defaults
        from perfc.ir.syntax.parse import read

        return with_defaults(read(os.fspath(model)).module, dims or {})
    if isinstance(model, str | os.PathLike) and is_configuration(model):
        from .config import load_config

        return load_config(os.fspath(model), dims or {}, is_trained=is_trained)
    from .lowering.functions import Functions
    from .lowering.lower import Lowering
    from .lowering.symbols import SymbolTable
    from .source import open_model

    message = open_model(model)
    table = SymbolTable(dict(dims or {}))
    return Lowering(message, table, dict(contents or {}), Functions.of(message)).module()


def is_configuration(model: object) -> bool:
    """Return True if a model is given by its configuration; imports the reader only if needed."""
    if not isinstance(model, str | os.PathLike):
        return False
    path = os.fspath(model)
    if not path.lower().endswith(".json") and os.path.isfile(path):
        return False
    from .config import is_config

    return is_config(model)


def serialized(model: Any) -> str | os.PathLike[str] | bytes:
    """Return a path or bytes unchanged, a message object as its bytes."""
    if isinstance(model, str | os.PathLike | bytes):
        return model
    try:
        return bytes(model.SerializeToString())
    except AttributeError:
        raise ModelError(
            f"{type(model).__name__} is no model",
            hint="a path, bytes, an onnx.ModelProto or a torch.nn.Module",
        ) from None
    except ValueError as error:
        raise ModelError(
            f"the model cannot be serialized: {error}", hint="save it to a file and give its path"
        ) from error
