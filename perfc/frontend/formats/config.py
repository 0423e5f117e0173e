"""Configurations of language models: ``.json``, a folder with one, or a shipped name."""

from __future__ import annotations

from perfc.errors import ModelError
from perfc.ir import Module

from ..reading.module_name import is_named
from . import ReadOptions


def reads(path: str, head: bytes) -> bool:
    """Return True for a JSON file, a folder with a configuration, or a shipped name."""
    if not path or (head and not path.lower().endswith(".json")):
        return False
    # the name of a module, such as transformers:llama-3.1-8b, may be similar to a shipped name
    if is_named(path):
        return False
    from ..config import is_config

    return is_config(path)


def lower(model: str | bytes, options: ReadOptions) -> Module:
    """Return the module of a configuration."""
    from ..config import load_config

    if isinstance(model, bytes):
        raise ModelError("a configuration or a GGUF file has to be given by its path")
    return load_config(
        model,
        options.dims,
        is_trained=options.is_trained,
        code=options.code,
        trained_in=options.trained_in,
    )
