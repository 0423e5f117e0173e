"""Tensors that a training step saves in the forward pass for the backward pass."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import ClassVar

from perfc.ir import (
    Dim,
    Env,
    Kind,
    Module,
    Node,
    Phase,
    Value,
    dim_sum,
    evaluate,
    frozen,
)
from perfc.ir.ops.contraction.matmul import FusedMatMul
from perfc.ir.ops.normalization.normalization_grad import GroupNormalizationGrad

from .. import Analysis
from ..inference.placement import viewed
from ..inference.strides import Strides, StrideTable
from ..manager import Analyses
from ..runtimes import DEFAULT, runtime

BEFORE = (Phase.FORWARD, Phase.LOSS)
"""Phases whose values may be saved."""
AFTER = (Phase.BACKWARD, Phase.RECOMPUTE)
"""Phases that read saved values: recomputation starts from values that a checkpoint saved."""


@frozen
class SavedTable:
    """Values of the forward pass that backward nodes read.

    Args:
        values: each such value, with the value whose storage holds it; views share a storage.
        copied: values that a backward kernel reads as a copy, which is saved in addition.
        readers: the first backward node that reads each value.
        is_bound: whether a size is unknown, so that bytes are a lower bound.
    """

    values: Mapping[Value, Value]
    copied: tuple[Value, ...]
    readers: Mapping[Value, Node]
    is_bound: bool

    @property
    def storages(self) -> tuple[Value, ...]:
        """Return the saved storages, each once."""
        return tuple(dict.fromkeys(self.values.values()))

    @property
    def nbytes(self) -> Dim:
        """Return the bytes of all storages that are held."""
        return dim_sum(v.nbytes or 0 for v in (*self.storages, *self.copied))

    def bytes_at(self, env: Env) -> int:
        """Return the bytes of all held storages, with numbers for symbols."""
        return int(evaluate(self.nbytes, env))

    def facts(self) -> dict[Node, dict[str, object]]:
        """Return which value each backward node is the first to read."""
        result: dict[Node, dict[str, object]] = {}
        for v, node in self.readers.items():
            saved = result.setdefault(node, {})
            saved[f"saved{len(saved)}"] = f"{v.name}: {v.type}"
        return result


@frozen
class Saved(Analysis[SavedTable]):
    """Values saved for the backward pass: results, inputs, and what views show of them.

    Stored tensors are left out: they are there anyway. A view holds the storage that it shows, as
    in PyTorch, where a runtime's views move nothing and strides can express them.

    Source: PyTorch, torch.autograd.graph.saved_tensors_hooks sees the same tensors.
    """

    requires: ClassVar = (Strides,)
    runtime: str = DEFAULT

    def run(self, module: Module, am: Analyses) -> SavedTable:
        """Return the values by storage, in the order of the forward pass."""
        graph = module.graph
        strides = am.get(Strides(self.runtime), module)
        copies = strides.copies
        views = runtime(self.runtime).views
        root: dict[Value, Value] = {v: v for v in graph.inputs}
        for node in graph.nodes:
            if node.loc.phase not in BEFORE:
                continue
            is_view = node.op.kind is Kind.VIEW or node.op.mnemonic in views
            source = node.inputs[0] if node.inputs else None
            if not is_view or node in copies or source is None:
                root.update((v, v) for v in node.results)
            elif source in root:
                # a view needs no storage: an operator of kind VIEW shows its operand in the first
                # result alone, the further views of a runtime, such as Split, in every result
                shown = node.results[:1] if node.op.kind is Kind.VIEW else node.results
                root.update((v, root[source]) for v in shown)
                root.update((v, v) for v in node.results[len(shown) :])
        readers: dict[Value, Node] = {}
        uncopied: dict[Value, None] = {}
        copied: dict[Value, None] = {}
        for node in graph.nodes:
            if node.loc.phase in AFTER:
                for v in node.inputs:
                    if v in root and v is not None:
                        readers.setdefault(v, node)
                        # a kernel that copies its operand first saves the copy
                        (copied if is_copied(v, node, strides) else uncopied)[v] = None
        values = {v: root[v] for v in root if v in uncopied}
        is_bound = any(v.nbytes is None for v in (*values.values(), *copied))
        return SavedTable(values, tuple(copied), readers, is_bound)


def is_copied(v: Value, reader: Node, table: StrideTable) -> bool:
    """Return True if a view is copied before its kernel, which then saves the copy.

    Batched products need all batch axes as one axis, and the gradient of a product with a matrix
    all rows; a view whose strides do not allow that is copied. So is every permuted operand of
    group normalisation, whose gradient reads whole groups of channels.
    """
    strides = table.strides.get(v)
    if strides is None:
        return False
    if reader in table.copies or isinstance(reader.op, GroupNormalizationGrad):
        return True
    shape = table.shapes[v]
    # below four axes there is one batch axis at most, and nothing to merge
    if not isinstance(reader.op, FusedMatMul) or len(shape) < 4:
        return False
    merged = (prod(shape[:-2]), *shape[-2:])
    return viewed(shape, strides, merged) is None
