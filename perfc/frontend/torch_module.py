"""PyTorch modules as models: exported to ONNX first, parameters not kept."""

from __future__ import annotations

import contextlib
import io
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfc.errors import MissingExtraError, ModelError
from perfc.ir.graph import Module
from perfc.ir.types import TensorType

from . import load

EXAMPLES = 2
"""Batch that a module is exported with: exporters take 1 for an extent that broadcasts."""


def is_torch_module(model: object) -> bool:
    """Whether a model is a ``torch.nn.Module``; PyTorch is not imported for the question."""
    return hasattr(model, "named_parameters") and callable(model)


def exported(model: Any, example: Sequence[int] | None) -> Module:
    """A PyTorch module in the IR, its batch a symbol; its parameters are not kept.

    Its input is of the type of its parameters, or token numbers where it looks them up first.

    Args:
        model: a ``torch.nn.Module``.
        example: extents of one example of its input.

    Raises:
        ModelError: no example, or PyTorch cannot export it.
        MissingExtraError: PyTorch or its exporter is not installed.
    """
    if example is None:
        raise ModelError("a module says nothing of its input", hint="input=(3, 224, 224)")
    require_extents(example)
    try:
        import onnxscript  # noqa: F401
        import torch
    except ImportError as error:
        from perfc.extras import install

        raise MissingExtraError(f"a module needs {error.name}", hint=install("runs")) from None
    first = next(iter(model.parameters()), torch.zeros(0))
    types = [first.dtype]
    if any(isinstance(part, torch.nn.Embedding) for part in model.modules()):
        types.insert(0 if len(example) == 1 else 1, torch.int64)
    failed: Exception | None = None
    with as_run(model), unheard():
        for dtype in types:
            given = torch.zeros((EXAMPLES, *example), device=first.device, dtype=dtype)
            try:
                return program_of(model, given)
            except Exception as error:
                failed = failed or error
    raise ModelError(f"PyTorch cannot export it: {why(failed)}") from None


@contextmanager
def as_run(model: Any) -> Iterator[None]:
    """The module as it runs once: in evaluation, without a cache of what it has seen."""
    modes = {part: part.training for part in model.modules()}
    config = getattr(model, "config", None)
    cached = getattr(config, "use_cache", None)
    model.eval()
    if cached:
        config.use_cache = False  # type: ignore[union-attr]
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode
        if cached:
            config.use_cache = cached  # type: ignore[union-attr]


@contextmanager
def unheard() -> Iterator[None]:
    """Without what exporters print, log and warn of: errors say what matters."""
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def program_of(model: Any, given: Any) -> Module:
    """What PyTorch exports at an example input."""
    import tempfile

    import torch

    shapes = ({0: torch.export.Dim("batch", min=1, max=1 << 16)},)
    program = torch.onnx.export(
        model, (given,), dynamo=True, optimize=False, verbose=False, dynamic_shapes=shapes
    )
    if program is None:
        raise ModelError("PyTorch exported nothing")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        program.save(os.fspath(path), external_data=True)
        module = load(path)
    graph = replace(module.graph, name=type(model).__name__)
    return replace(module, graph=graph, origin=replace(module.origin, path=""))


def why(error: BaseException | None) -> str:
    """First line of what went wrong at first, without colours."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    line = str(error).strip().partition("\n")[0]
    return re.sub(r"\x1b\[[0-9;]*m", "", line) or type(error).__name__


def require_extents(example: object) -> None:
    """Refuse what is no sequence of extents.

    Raises:
        ModelError: it is none.
    """
    extents = example if isinstance(example, Sequence) else [None]
    if not all(isinstance(extent, int) and extent > 0 for extent in extents):
        raise ModelError(f"{example!r} are no extents of an input", hint="input=(3, 224, 224)")


def check_example(module: Module, example: Sequence[int]) -> None:
    """Refuse a model whose first input has other extents than one example.

    Raises:
        ModelError: it has, or these are none.
    """
    require_extents(example)
    kind = module.graph.inputs[0].type if module.graph.inputs else None
    shape = kind.shape if isinstance(kind, TensorType) else None
    if shape is None:
        return
    fixed = [(own, int(asked)) for own, asked in zip(shape[1:], example, strict=False)]
    same = all(own == asked for own, asked in fixed if isinstance(own, int))
    if len(shape) != len(example) + 1 or not same:
        own = ", ".join(map(str, shape[1:]))
        raise ModelError(f"its input is ({own})", where=module.name, hint="export it at that size")
