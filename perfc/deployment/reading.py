"""Read a model and bind given sizes to its symbols."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from perfc.errors import ParseError, PerfcError
from perfc.frontend import load, serialized
from perfc.frontend.lowering.input_contents import known_contents
from perfc.ir import Module
from perfc.ir.symbolic.sizes import sizes_of

from .extents import sized

if TYPE_CHECKING:
    from perfc.frontend.config import ModuleCode, ServingPrecision


def read(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    *,
    is_trained: bool = False,
) -> tuple[Module, dict[str, int]]:
    """Read the module of a model, and return the given sizes by symbol key.

    ``batch`` and ``seq`` in ``dims`` are the first dimension of the inputs and the second of
    token inputs, unless a symbol has that name. ``is_trained`` is passed to `load`.

    Raises:
        PerfcError: an unreadable model, or a size or content that does not fit it.
    """
    return bound(lowered(model, dims, values, is_trained=is_trained), dims, values)


def lowered(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    *,
    is_trained: bool = False,
    code: ModuleCode | None = None,
    trained_in: ServingPrecision | None = None,
) -> Module:
    """Read the module of a model; ``is_trained``, ``code`` and ``trained_in`` go to `load`.

    Raises:
        PerfcError: an unreadable model.
    """
    # before the return, so that wrong sizes are refused for modules as well
    sizes, known = sizes_of(dims or {}), known_contents(values)
    if isinstance(model, Module):
        return model
    given = serialized(model)
    return load(given, sizes, known, is_trained=is_trained, code=code, trained_in=trained_in)


def bound(
    module: Module, dims: Mapping[str, int] | None, values: Mapping[str, Any] | None
) -> tuple[Module, dict[str, int]]:
    """Return a module with the given sizes of its symbols, and these sizes by symbol key.

    Raises:
        PerfcError: a size or content that does not fit it.
    """
    module, given = sized(module, dims or {})
    inputs = [v.name for v in module.graph.inputs]
    unknown = sorted(set(values or ()) - set(inputs))
    if unknown:
        raise ParseError(
            f"no input {unknown[0]!r} to give a value to", hint=f"its inputs: {', '.join(inputs)}"
        )
    return module, given


@contextmanager
def located(model: Any) -> Iterator[None]:
    """Add the file of the model to errors, if it is a file."""
    path = os.fspath(model) if isinstance(model, str | os.PathLike) else ""
    try:
        yield
    except PerfcError as error:
        # errors of parsers have the file already
        if path and path not in str(error):
            error.where = f"{path}: {error.where}" if error.where else path
        raise
