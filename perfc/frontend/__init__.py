"""Readers that lower a model into the performance IR."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfc.errors import ModelError

if TYPE_CHECKING:
    from perfc.ir import Known, Module

    from .config import ModuleCode, ServingPrecision

__all__ = ["format_name", "is_configuration", "load", "serialized"]


def load(
    model: str | os.PathLike[str] | bytes,
    dims: Mapping[str, int] | None = None,
    contents: Mapping[str, Known] | None = None,
    *,
    is_trained: bool = False,
    code: ModuleCode | None = None,
    trained_in: ServingPrecision | None = None,
) -> Module:
    """Read a model without its weights and lower it; types of intermediate values stay open.

    Args:
        model: a file (``.onnx``, ``.onnx.gz``, ONNX text, ``.pir``), a serialized model, or the
            configuration of a language model (``.json``, its folder, or a shipped name), or the
            name of a PyTorch module.
        dims: values for symbolic extents; they become the symbols' defaults.
        contents: what is known of inputs that drive shapes.
        is_trained: whether a training step is made of the model; a configuration then has the
            scores of every token.
        code: code of the modules that a configuration describes; None for kernels of engines.
        trained_in: element types of a training step of a configuration, if it runs the kernels of
            trainers; None otherwise.

    Raises:
        ModelError: not a readable model.
    """
    from perfc.ir.graphs.blocks import placed

    from .formats import ReadOptions, format_of
    from .reading.module_name import NamedModule

    given: Any = model if isinstance(model, bytes | NamedModule) else os.fspath(model)
    options = ReadOptions(dict(dims or {}), dict(contents or {}), is_trained, code, trained_in)
    return placed(format_of(given).lower(given, options))


def is_configuration(model: object) -> bool:
    """Return True if a model is given by its configuration; imports the reader only if needed."""
    if not isinstance(model, str | os.PathLike):
        return False
    from .formats import CONFIGURATIONS, by_name, format_of, head_of, onnx

    path = os.fspath(model)
    if format_of(path) is onnx:
        return False
    head = head_of(path)
    return any(by_name(name).reads(path, head) for name in CONFIGURATIONS)


def format_name(model: object) -> str:
    """Return the format of a model: a module of ``formats``, a converter, or a graph's exporter."""
    from perfc.ir import Module

    from .formats import format_of
    from .reading.module_name import NamedModule

    if isinstance(model, NamedModule):
        return "stablehlo" if model.is_jax else "python"
    if isinstance(model, Module):
        return model.origin.producer.partition(" ")[0].lower()  # a graph in memory: its exporter
    if not isinstance(model, str | bytes | os.PathLike):
        # a message of ONNX has no name of a format; all else is a module of PyTorch
        return "" if hasattr(model, "SerializeToString") else "python"
    given = model if isinstance(model, bytes) else os.fspath(model)
    name = str(format_of(given).__name__).rpartition(".")[2]  # type: ignore[attr-defined]
    if name != "conversion" or isinstance(given, bytes):
        return name

    from .formats import by_name, head_of

    source = by_name(name).source_of(given, head_of(given))
    return "" if source is None else source.extra


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
