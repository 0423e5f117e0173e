"""From kernels of the IR to rows of the operator predictor: one file a class, found by looking.

A file has a function ``lower(bound, env)``: class, element type and shape parameters of a kernel
with the symbols at ``env``, or None where the kernel is of another class. Parameters that the class
does not know are left out later, so a file may give more than its class needs today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from perfc.declared import modules
from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Value
from perfc.ir.op import ABSENT
from perfc.ir.types import TensorType

if TYPE_CHECKING:
    from perfc.ir.graph import Node
    from perfc.passes.roofline import KernelBound


class Lowered(NamedTuple):
    """A kernel as the operator predictor sees it.

    Args:
        class_name: of `perfc.analyzers.features.classes`.
        dtype: element type that is computed in.
        parameters: extents of one launch.
    """

    class_name: str
    dtype: str
    parameters: Mapping[str, float]


Row = tuple[str, str, Mapping[str, float]]
Lowering = Callable[["KernelBound", Mapping[str, int]], "Row | None"]


@cache
def lowerings() -> tuple[Lowering, ...]:
    """The function of every file."""
    return tuple(module.lower for module in modules(__name__))


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """The row of a kernel, None where no class knows it or it writes nothing that has a size."""
    if bound.counts.write_bytes <= 0:
        return None
    for function in lowerings():
        found = function(bound, env)
        if found is not None:
            return Lowered(*found)
    return None


def letters(node: Node, env: Mapping[str, int]) -> dict[str, float]:
    """The extents an operator counts with, as numbers; empty where they are not known."""
    outs = tuple(ABSENT if v is None else v.type for v in node.outputs)
    try:
        found = node.op.extents(node.inputs, outs)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        # the same that the cost pass forgives: an operator fed what no definition foresees
        return {}
    return {name: float(evaluate(d, env)) for name, d in found.items()}


def shape(value: Value | None, env: Mapping[str, int]) -> tuple[int, ...] | None:
    """The extents of a tensor as numbers, None where its rank is not known."""
    if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
        return None
    return tuple(int(evaluate(d, env)) for d in value.type.shape)
