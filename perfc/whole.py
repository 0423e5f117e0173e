"""What a whole run of a model takes, from its graph: an ONNX model or a PyTorch module."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.steps.setting import Setting, precision_of
from perfc.analyzers.whole_runs.estimate import Estimate, at_sizes, estimate
from perfc.analyzers.whole_runs.shipped import known_name, named, newest
from perfc.api import located, serialized
from perfc.choice import member
from perfc.errors import MissingExtraError, ModelError
from perfc.extras import install
from perfc.frontend import load
from perfc.ir.rewrite import with_defaults
from perfc.ir.sizes import sizes_of
from perfc.ir.types import TensorType

if TYPE_CHECKING:
    from perfc.ir.graph import Module

EXAMPLES = 2
"""Batch that a module is exported with: exporters take 1 for an extent that broadcasts."""


def predict(
    model: Any,
    batch: int | None = None,
    input: Sequence[int] | None = None,
    device: str = "rtx4090",
    *,
    precision: str = "amp f16",
    compiled: bool = False,
    channels_last: bool = False,
    training: bool = False,
    version: tuple[int, int] | None = None,
    dims: Mapping[str, int] | None = None,
    predictor: str = "",
    quantity: str = "time_s",
) -> Estimate:
    """Predict a whole run of a model in PyTorch, by weights learned from measured ones.

    Args:
        model: a path, a serialized model, an ``onnx.ModelProto`` or a ``torch.nn.Module``.
        batch: images or sequences; 1 by default, or what the model is fixed to.
        input: extents of one example, ``(3, 224, 224)``, or ``(128,)`` of a sequence of tokens; a
            module cannot do without.
        device: name or file of a target.
        precision: ``amp f16``, ``amp bf16``, ``f16``, ``bf16``, ``tf32``, ``f32``.
        compiled: ``torch.compile``.
        channels_last: feature maps as NHWC.
        training: a whole training step.
        version: of PyTorch, ``(2, 9)``; by default the newest that was measured.
        dims: values of symbols that are not the batch.
        predictor: name of weights that come with perfc, or the card of others.
        quantity: ``time_s``, ``memory_bytes``, ``energy_j`` or ``power_w``.

    Raises:
        PerfcError: the model cannot be read, sizes contradict it, or target, precision or predictor
            is not known.
        MissingExtraError: a module without PyTorch's exporter.

    >>> found = predict("examples/models/resnet50.onnx.gz", batch=8, device="rtx4090")
    >>> found.floor_s <= found.low <= found.value <= found.high
    True
    """
    wanted = member(Quantity, quantity, "quantity")
    stored = precision_of(precision, "precision")
    card = named(predictor, wanted) if predictor else None
    setting = Setting(stored, channels_last, compiled, training=training)
    setting = newest(card, known_name(device), setting, wanted, version)
    given = sizes_of(dims or {})
    with located(model):
        module = at_sizes(module_of(model, input, given), batch, given)
    return estimate(module, card, device, setting, batch, given, quantity=wanted)


def module_of(model: Any, example: Sequence[int] | None, dims: Mapping[str, int]) -> Module:
    """The module of a model, exported first where it is PyTorch's.

    Raises:
        ModelError: its input has other extents.
    """
    if hasattr(model, "named_parameters") and callable(model):
        if example is None:
            raise ModelError("a module says nothing of its input", hint="input=(3, 224, 224)")
        return exported(model, example)
    module = with_defaults(load(serialized(model), dims), dims)
    if example is not None:
        check(module, example)
    return module


def check(module: Module, example: Sequence[int]) -> None:
    """Refuse a model whose first input has other extents than one example."""
    kind = module.graph.inputs[0].type if module.graph.inputs else None
    shape = kind.shape if isinstance(kind, TensorType) else None
    if shape is None:
        return
    fixed = [(own, int(asked)) for own, asked in zip(shape[1:], example, strict=False)]
    same = all(own == asked for own, asked in fixed if isinstance(own, int))
    if len(shape) != len(example) + 1 or not same:
        own = ", ".join(map(str, shape[1:]))
        raise ModelError(f"its input is ({own})", where=module.name, hint="export it at that size")


def exported(model: Any, example: Sequence[int]) -> Module:
    """A PyTorch module in the IR, its batch a symbol; its parameters are not kept.

    Its input is of the type of its parameters, or token numbers where it looks them up first.
    """
    try:
        import onnxscript  # noqa: F401
        import torch
    except ImportError as error:
        raise MissingExtraError(f"a module needs {error.name}", hint=install("runs")) from None
    first = next(iter(model.parameters()), torch.zeros(0))
    types = [first.dtype]
    if any(isinstance(part, torch.nn.Embedding) for part in model.modules()):
        types.insert(0 if len(example) == 1 else 1, torch.int64)
    failed: Exception | None = None
    with as_run(model):
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


def program_of(model: Any, given: Any) -> Module:
    """What PyTorch exports at an example input."""
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
        return load(path)


def why(error: BaseException | None) -> str:
    """First line of what went wrong at first, without colours."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    line = str(error).strip().partition("\n")[0]
    return re.sub(r"\x1b\[[0-9;]*m", "", line) or type(error).__name__
