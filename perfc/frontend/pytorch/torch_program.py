"""Export of PyTorch modules by ``torch.export`` to archives without weights."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perfc.ir import Module, symbols
from perfc.ir.graphs.rewrite import with_defaults
from perfc.ir.symbolic.evaluate import solved

from ..formats import ReadOptions
from ..lowering import lowered
from ..pt2.program import read_program
from .constructions import with_constructions
from .op_costs import with_costs
from .torch_inputs import Call, is_tensor, mapped

VMAP = "torch._functorch"
"""Module of the functions that ``torch.vmap`` leaves in a program."""
MOST_BATCH = 1 << 16
"""Maximum of the symbolic batch: exporters need a limit, which is removed again in `archived`."""


def program(
    model: Any,
    given: Call,
    batch: int | None = None,
    *,
    has_lengths: bool = False,
    constructed: Mapping[int, str] | None = None,
) -> bytes:
    """Return the archive of the program of a module at example inputs.

    Strict tracing, which takes longer, is the second try: it also handles code that only the
    compiler of PyTorch can trace or write, such as masks by ``vmap``.

    Args:
        model: a ``torch.nn.Module``.
        given: tensors and scalars.
        batch: first extent of tensors that becomes a symbol; None for none.
        has_lengths: whether the second axis of tokens becomes a symbol where it can.
        constructed: call stacks of the constructions of modules, by their identity.

    Raises:
        Exception: whatever PyTorch raises at first.
    """
    import torch

    shapes = None
    if batch is not None:
        extent = torch.export.Dim("batch", min=1, max=MOST_BATCH)
        length = getattr(torch.export.Dim, "AUTO", None) if has_lengths else None

        def axes(value: Any) -> dict[int, Any] | None:
            if not is_batched(value, batch):
                return None
            has_length = length is not None and value.ndim == 2 and not value.is_floating_point()
            return {0: extent, 1: length} if has_length else {0: extent}

        shapes = {name: mapped(axes, value) for name, value in given.bound(model).items()}

    def traced(*, strict: bool) -> bytes:
        result = torch.export.export(
            model, given.args, dict(given.kwargs), dynamic_shapes=shapes, strict=strict
        )
        if any(VMAP in getattr(n.target, "__module__", "") for n in result.graph.nodes):
            # shapes within vmap are those of one example; decompositions write out all of them
            result = result.run_decompositions({})
        with_costs(result)
        with_constructions(result, model, constructed or {})
        return archived(result)

    try:
        return traced(strict=False)
    except Exception as error:
        if not is_untraceable(error):
            raise
        try:
            return traced(strict=True)
        except Exception:
            # the first error shows what to change in the module
            raise error from None


def is_untraceable(error: Exception) -> bool:
    """Return True if strict tracing may succeed: the program was traced, but cannot be saved."""
    return "serializ" in f"{type(error).__name__} {error}".lower()


def archived(exported: Any) -> bytes:
    """Return the archive of a program without the elements of its parameters.

    Tied parameters get one name in the signature: without elements, no common storage shows them.

    Args:
        exported: a ``torch.export.ExportedProgram``.
    """
    import torch

    # a shallow copy: the program of the caller stays as it is
    copied, name_by_id = copy.copy(exported), dict[int, str]()
    # MOST_BATCH is a limit of the export, not of the module
    copied._range_constraints = {
        key: limits
        for key, limits in exported.range_constraints.items()
        if limits.upper != MOST_BATCH
    }
    # one tensor under several names gets its first name everywhere
    names = {name: name_by_id.setdefault(id(v), name) for name, v in exported.state_dict.items()}
    specs = [
        replace(s, target=names.get(s.target, s.target))
        for s in exported.graph_signature.input_specs
    ]
    copied._graph_signature = replace(exported.graph_signature, input_specs=specs)
    for name in ("_state_dict", "_constants"):
        stored = getattr(exported, name, None)
        if isinstance(stored, dict):
            setattr(copied, name, {k: on_meta(v) for k, v in stored.items()})
    if hasattr(copied, "_example_inputs"):
        copied._example_inputs = None
    data = io.BytesIO()
    torch.export.save(copied, data)
    return data.getvalue()


def on_meta(value: Any) -> Any:
    """Return a tensor without its elements; anything else as it is."""
    import torch

    if not is_tensor(value):
        return value
    bare = value.detach().to("meta")
    is_parameter = isinstance(value, torch.nn.Parameter)
    return torch.nn.Parameter(bare, value.requires_grad) if is_parameter else bare


def is_batched(value: Any, batch: int) -> bool:
    """Return True for a tensor whose first extent is the batch."""
    return is_tensor(value) and tuple(value.shape[:1]) == (batch,)


def module_of(archive: bytes, name: str, batch: int | None = None, root: str = "") -> Module:
    """Return the module of an archive, with a name and a default of its batch.

    Args:
        archive: bytes of a file of ``torch.export.save``.
        name: name of the module.
        batch: default batch; None for that of the archive.
        root: folder to which paths of source files are relative; "" for the current one.
    """
    read = read_program(archive, root)
    module = lowered(read, ReadOptions(root=root))
    module = replace(module, graph=replace(module.graph, name=name))
    return with_examples(module, read.examples, batch)


def with_examples(
    module: Module, examples: Mapping[str, Sequence[int | None]], batch: int | None
) -> Module:
    """Return the module with the sizes of its example inputs as defaults.

    Args:
        module: the module.
        examples: extents of inputs by name.
        batch: default of the symbols that lead the shapes of inputs; None for the assumed one.
    """
    sizes: dict[str, int | None] = {}
    leading: dict[str, int | None] = {}
    for v in module.graph.inputs:
        shape = v.shape or ()
        if shape:
            leading.update({a.key: batch for a in symbols(shape[0])})
        for extent, size in zip(shape, examples.get(v.name, ()), strict=False):
            match [*symbols(extent)]:
                case [atom] if size is not None:
                    sizes.setdefault(atom.key, solved(extent, atom.key, size))
                case _:
                    pass
    return with_defaults(module, {k: n for k, n in {**sizes, **leading}.items() if n is not None})
