"""PyTorch modules as models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from perfc.errors import ModelError
from perfc.ir.symbolic.sizes import sizes_of

from ..reading.module_name import NamedModule, is_named


def is_torch_module(model: object) -> bool:
    """Return True if a model is a ``torch.nn.Module``, without importing PyTorch."""
    return hasattr(model, "named_parameters") and callable(model)


def graph_of(
    model: Any, input: object = None, inputs: object = None, dims: Mapping[str, Any] | None = None
) -> Any:
    """Return a PyTorch module, or one by its name, in the IR; any other model unchanged.

    Args:
        model: any model that ``perfc.analyze`` takes.
        input: shape of one example of the only input of a module.
        inputs: inputs of a module with several: a tuple or dict of shapes, tensors and scalars.
        dims: sizes by name, as of a batch, for inputs that neither of these gives.

    Raises:
        ModelError: as `torch_module.exported`; ``inputs`` of a model that defines them.
        MissingExtraError: PyTorch is not installed.
    """
    if isinstance(model, NamedModule) or (isinstance(model, str) and is_named(model)):
        from .named import named_module

        named = model if isinstance(model, NamedModule) else NamedModule(model)
        if input is not None or inputs is not None:
            named = replace(named, input=input, examples=inputs)
        return named_module(named, sizes_of(dims or {}))
    if is_torch_module(model):
        from .torch_module import exported

        return exported(model, input, inputs, dims)
    if inputs is not None:
        raise ModelError("inputs are for PyTorch modules", hint="a file has its inputs")
    return model
