"""Activations that a part of a model saves for its backward pass.

A part is lowered operator by operator, as `perfc analyze --train` lowers a configuration, and
`Saved` finds its saved storages. So `perfc plan` on one device gives the same activations as
`perfc fit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from perfc.ir.graph import Module, Value
from perfc.ir.op import Kind
from perfc.ir.record import record
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import TensorType
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.memory.saved import Saved
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import TRAINING_DEFAULT
from perfc.passes.training.backward import differentiated

CHEAP = frozenset({Kind.NORMALIZATION, Kind.ELEMENTWISE, Kind.SOFTMAX, Kind.MOVEMENT})
"""Kinds whose results selective checkpointing recomputes: they read more than they compute."""


@record
class PartMemory:
    """Bytes that a part saves for one micro-batch on one rank.

    Args:
        saved_bytes: all saved activations.
        products_bytes: inputs, and results of products and attention.
        replicated_bytes: tensors as wide as the model, which all ranks of a tensor group have.
    """

    saved_bytes: float
    products_bytes: float
    replicated_bytes: float


def memories(module: Module, envs: Sequence[Mapping[str, int]], hidden: int) -> list[PartMemory]:
    """Return the memory of a part at several sizes.

    Args:
        module: module of the part, written out.
        envs: values of its symbols.
        hidden: width of the model.

    Raises:
        PassError: an operator has no gradient.
    """
    result: list[PartMemory] = []
    for env in envs:
        each = [(v, is_product, nbytes(v, env)) for v, is_product in saved_storages(module)]
        result.append(
            PartMemory(
                sum([n for _, _, n in each]),
                sum([n for _, is_product, n in each if is_product]),
                sum([n for v, _, n in each if width(v) == hidden]),
            )
        )
    return result


@lru_cache(maxsize=512)
def saved_storages(module: Module) -> tuple[tuple[Value, bool], ...]:
    """Return the storages that the backward pass of a part reads.

    Each comes with True for the input and for results of products and attention.
    """
    am = Analyses()
    typed = am.apply(Canonicalize(keeps_parameters=True), am.apply(Sizes(()), module))
    both = differentiated(typed)
    table = am.get(Saved(TRAINING_DEFAULT), both.module)
    maker = {v: n for n in both.module.graph.nodes for v in n.results}
    # gradients of the next part and values of other ranks are inputs that this part does not save
    others = set(both.module.graph.inputs) - set(both.inputs)
    values = [v for v in (*table.storages, *table.copied) if v not in others]
    return tuple([(v, v not in maker or maker[v].op.kind not in CHEAP) for v in values])


def width(v: Value) -> object:
    """Return the last extent of a value."""
    assert isinstance(v.type, TensorType)
    return (v.type.shape or (None,))[-1]


def nbytes(v: Value, env: Mapping[str, int]) -> float:
    """Return the bytes of a value; 0 if unknown."""
    assert isinstance(v.type, TensorType)
    return float(evaluate(v.type.nbytes or 0, env))
