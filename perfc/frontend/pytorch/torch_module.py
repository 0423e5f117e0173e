"""PyTorch modules as models: exported by ``torch.export``, without their parameters."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

from perfc.errors import MissingExtraError, ModelError
from perfc.ir import Module, TensorType
from perfc.ir.symbolic.sizes import sizes_of

from .torch_inputs import Call, call_of, inferred, is_tensor, require_extents

EXAMPLES = 2
"""Batch of the example inputs of an export: exporters treat 1 as an extent that broadcasts."""


def exported(
    model: Any, input: object = None, inputs: object = None, dims: Mapping[str, Any] | None = None
) -> Module:
    """Return a PyTorch module in the IR without its parameters; its batch is a symbol.

    A shape without an element type is one of floats of the parameters' type, or of indices if the
    module looks up rows by indices. If the module is valid for one batch only, the batch is a
    number.

    Args:
        model: a ``torch.nn.Module`` or ``torch.export.ExportedProgram``.
        input: shape of one example, or a tensor, of its only input.
        inputs: a tuple or dict of shapes and tensors, for all its inputs.
        dims: sizes by name, as ``seq`` for a model of transformers without given inputs.

    Raises:
        ModelError: no example, one that does not fit, or PyTorch cannot export it.
        MissingExtraError: PyTorch is not installed.
    """
    if isinstance(model, type):
        name = model.__name__
        raise ModelError(f"{name} is a class, not a module", hint=f"an instance: {name}(...)")
    try:
        import torch
    except ImportError as error:
        from perfc.common.extras import install

        raise MissingExtraError(f"a module needs {error.name}", hint=install("runs")) from None
    if isinstance(model, torch.jit.ScriptModule):
        hint = "the module that it was made from"
        raise ModelError("PyTorch cannot export a ScriptModule", hint=hint)
    from .torch_program import archived, module_of

    call, sizes = call_of(input, inputs), sizes_of(dims or {})
    if isinstance(model, torch.export.ExportedProgram):
        if call is not None:
            raise ModelError("an ExportedProgram has its inputs", hint="leave out input and inputs")
        with silenced():
            try:
                return module_of(archived(model), type(model).__name__)
            except Exception as error:
                raise ModelError(f"PyTorch cannot export it: {why(error)}") from None
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    call = call or inferred(model, sizes)
    call.bound(model)  # raises ModelError if ``forward`` does not take these arguments
    data, size = archive_of(model, call, max(sizes.get("batch", 1), 1))
    return module_of(data, type(model).__name__, size)


def archive_of(
    model: Any,
    call: Call,
    batch: int,
    *,
    has_lengths: bool = False,
    constructed: Mapping[int, str] | None = None,
) -> tuple[bytes, int | None]:
    """Return the archive of a call of a PyTorch module, and the batch of the call.

    Args:
        model: a ``torch.nn.Module``.
        call: arguments of the call.
        batch: batch size of the export if PyTorch cannot export it with a symbolic one.
        has_lengths: whether the second axis of tokens becomes a symbol where it can.
        constructed: call stacks of the constructions of modules, by their identity.

    Raises:
        ModelError: PyTorch cannot export the module.
    """
    import torch

    tensors = list(model.parameters())
    device = tensors[0].device if tensors else torch.device("cpu")
    floats = next((t.dtype for t in tensors if t.is_floating_point()), torch.float32)
    # inputs of a module with embeddings may be indices
    has_embedding = any(isinstance(part, lookups()) for part in model.modules())
    failed: Exception | None = None
    with as_run(model), silenced(), hooked(model), with_autocast():
        # a symbolic batch first; a model that is valid for one batch only gets a number
        for is_symbol in (True, False):
            failed = None
            size = call.batch or (EXAMPLES if is_symbol else batch)
            # an example of batch 1 is repeated: exporters treat 1 as an extent that broadcasts
            doubled = is_symbol and size == 1
            for typed in call.typed(floats, has_embedding=has_embedding):
                given = typed.tensors(size, device, doubled=doubled)
                extent = (EXAMPLES if doubled else size) if is_symbol else None
                try:
                    from .torch_program import program

                    archive = program(
                        model, given, extent, has_lengths=has_lengths, constructed=constructed
                    )
                    return archive, call.batch
                except Exception as error:
                    # the first types are the likeliest, so their error is the one to report
                    failed = failed or error
    raise ModelError(f"PyTorch cannot export it: {why(failed)}") from None


@contextmanager
def as_run(model: Any) -> Iterator[None]:
    """Put the module into evaluation mode without a KV cache while the context is open."""
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
def hooked(model: Any) -> Iterator[None]:
    """Within the context, let the module return only tensors, and its layers check their operands.

    Exporters refuse outputs of unknown classes, and accept indices as operands of layers of floats.
    """

    def floats_only(part: Any, given: tuple[Any, ...]) -> None:
        if any(is_tensor(t) and not t.is_floating_point() for t in given[:1]):
            raise TypeError(f"{type(part).__name__} takes floats, not {given[0].dtype}")

    layers = [
        part
        for part in model.modules()
        if type(part).__module__.startswith("torch.nn.")
        and not isinstance(part, lookups())
        and any(t.is_floating_point() for t in part.parameters(recurse=False))
    ]
    hooks = [layer.register_forward_pre_hook(floats_only) for layer in layers]
    hooks.append(model.register_forward_hook(lambda _part, _given, output: tensors_of(output)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def with_autocast() -> Iterator[None]:
    """Within the context, let ``torch.autocast`` of a missing device be one of the processor.

    It has the type of the missing device. PyTorch refuses autocast on ``meta``, which rotary
    embeddings of transformers request, and switches off that of CUDA.
    """
    import torch

    autocast: Any = torch.autocast
    original = autocast.__init__

    @wraps(original)  # the compiler of PyTorch reads the signature
    def on_device(
        self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        if device_type == "meta" or (device_type == "cuda" and not torch.cuda.is_available()):
            device_type, dtype = "cpu", dtype or torch.get_autocast_dtype("cuda")
        original(self, device_type, dtype, *args, **kwargs)

    autocast.__init__ = on_device
    try:
        yield
    finally:
        autocast.__init__ = original


def lookups() -> tuple[type, ...]:
    """Return the classes of layers whose operands are indices."""
    import torch

    return torch.nn.Embedding, torch.nn.EmbeddingBag


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress output, logs and warnings of exporters, whose errors suffice."""
    import logging

    before, output = logging.root.manager.disable, io.StringIO()
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(output), redirect_stderr(output):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def tensors_of(output: Any) -> tuple[Any, ...]:
    """Return the tensors of an output, from its dataclasses, mappings and sequences."""
    if is_tensor(output):
        return (output,)
    match output:
        case Mapping():
            parts = list(output.values())
        case tuple() | list():
            parts = list(output)
        case _ if is_dataclass(output):
            parts = [getattr(output, f.name) for f in fields(output)]
        case _:
            parts = []
    return tuple(tensor for part in parts for tensor in tensors_of(part))


def why(error: BaseException | None) -> str:
    """Return the first line of the root cause of an error, without color codes."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    line = str(error).strip().partition("\n")[0]
    return re.sub(r"\x1b\[[0-9;]*m", "", line) or type(error).__name__


def check_example(module: Module, example: Sequence[int]) -> None:
    """Raise an error if a model's first input has other extents than one example.

    Raises:
        ModelError: other extents, or an invalid example.
    """
    require_extents(example)
    kind = module.graph.inputs[0].type if module.graph.inputs else None
    shape = kind.shape if isinstance(kind, TensorType) else None
    if shape is None:
        return
    pairs = [(extent, int(size)) for extent, size in zip(shape[1:], example, strict=False)]
    same = all(extent == size for extent, size in pairs if isinstance(extent, int))
    if len(shape) != len(example) + 1 or not same:
        extents = ", ".join(map(str, shape[1:]))
        raise ModelError(
            f"its input is ({extents})", where=module.name, hint="export it at that size"
        )
