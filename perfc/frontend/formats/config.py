"""Configurations of language models: ``.json``, a folder with one, or a shipped name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from perfc.errors import ModelError
from perfc.ir import Module

from ..reading.module_name import is_named
from . import ReadOptions

if TYPE_CHECKING:
    from ..config import ModuleCode, ServingPrecision


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


def generates(path: str) -> bool:
    """Return True for a model that generates tokens.

    Raises:
        ModelError: the configuration cannot be read.
    """
    from ..config import read_config

    return read_config(path).decoder is not None


def code_of(version: tuple[int, int] | None) -> ModuleCode:
    """Return the code of transformers that runs a model, of the newest version for None."""
    from ..config.lowering import module_code

    return module_code.code_of(version)


def usual_training(takes: Callable[[str], bool], dtype: str) -> tuple[str, bool]:
    """Return the type of products in training, and whether an optimizer keeps f32 copies."""
    from ..config.precision import SINGLE_TYPES, usual_type

    usual = dtype or usual_type(takes)
    return usual, usual not in SINGLE_TYPES


def trained_in(dtype: str, takes: Callable[[str], bool]) -> ServingPrecision:
    """Return the element types of a step whose products have a type, on a machine.

    Raises:
        ParseError: an unknown format, autocast, or one whose weights have no gradient.
    """
    from ..config.precision import training_precision, type_named

    return training_precision(type_named(dtype), takes)


def cached(name: str) -> str:
    """Return the path of a configuration in the local cache of the hub; "" if it has none."""
    from ..checkpoints import hub

    return hub.cached(name)


def shipped(name: str) -> dict[str, Any] | None:
    """Return the keys of a configuration that perfc ships; None if none has that name."""
    from perfc.frontend.checkpoints.json_file import loaded

    from ..checkpoints.sources import located, nearest

    plain = name.lower().rpartition("/")[2]
    # `nearest` returns the name itself only if it is shipped, else similar names
    return loaded(located(plain)[0]) if nearest(plain) == (plain,) else None
