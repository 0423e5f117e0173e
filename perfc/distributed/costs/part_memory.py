"""What a part of a model keeps for its backward pass, as the step of a whole model does.

A part is lowered as `perfc analyze --train` lowers a configuration: operator by operator, as its
modules are written, and its kept storages are those that `Saved` finds. So one device needs as much
for activations in a plan as in `perfc fit`.
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
"""Kinds whose results selective checkpointing computes again: they read more than they compute."""


@record
class PartMemory:
    """Bytes that a part keeps for one micro-batch on one rank.

    Args:
        saved_bytes: all of it.
        products_bytes: inputs, and results of products and attention.
        replicated_bytes: tensors as wide as the model, which all ranks of a tensor group have.
    """

    saved_bytes: float
    products_bytes: float
    replicated_bytes: float


def memories(module: Module, envs: Sequence[Mapping[str, int]], hidden: int) -> list[PartMemory]:
    """What a part keeps at several sizes.

    Args:
        module: of the part, written out.
        envs: values of its symbols.
        hidden: width of the model.

    Raises:
        PassError: an operator has no gradient.
    """
    found: list[PartMemory] = []
    for env in envs:
        each = [(v, is_product, nbytes(v, env)) for v, is_product in kept(module)]
        found.append(
            PartMemory(
                sum([n for _, _, n in each]),
                sum([n for _, is_product, n in each if is_product]),
                sum([n for v, _, n in each if width(v) == hidden]),
            )
        )
    return found


@lru_cache(maxsize=512)
def kept(module: Module) -> tuple[tuple[Value, bool], ...]:
    """Storages that the backward pass of a part reads, and whether a product or the input is it."""
    am = Analyses()
    typed = am.apply(Canonicalize(keeps_parameters=True), am.apply(Sizes(()), module))
    both = differentiated(typed)
    table = am.get(Saved(TRAINING_DEFAULT), both.module)
    maker = {v: n for n in both.module.graph.nodes for v in n.results}
    # gradients from behind and what other ranks hold are inputs that this part does not keep
    others = set(both.module.graph.inputs) - set(both.inputs)
    values = [v for v in (*table.storages, *table.copied) if v not in others]
    return tuple([(v, v not in maker or maker[v].op.kind not in CHEAP) for v in values])


def width(v: Value) -> object:
    """The last extent of a value."""
    assert isinstance(v.type, TensorType)
    return (v.type.shape or (None,))[-1]


def nbytes(v: Value, env: Mapping[str, int]) -> float:
    """The size of a value; 0 where it is not known."""
    assert isinstance(v.type, TensorType)
    return float(evaluate(v.type.nbytes or 0, env))
