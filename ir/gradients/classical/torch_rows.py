"""Gradients of operators of PyTorch that are defined only by data."""

from __future__ import annotations

from ... import DType
from ...ops.movement.gather import Gather
from ...ops.movement.gather_grad import GatherGrad
from ..adjoint import Adjoint, Gradients


def embedding_bag(at: Adjoint) -> Gradients:
    """Return the gradient of each bag, added to all rows of the bag."""
    tape = at.tape
    # the bag of each index: its contents do not change shapes or costs
    bags = tape.zeros(at.shape(1), DType.I64)
    rows = tape.apply(Gather(axis=0), at.dy, bags)
    return {0: tape.apply(GatherGrad(axis=0), tape.ints(at.shape()), at.operand(1), rows)}
