"""Gradients of gathers: added into zeros at the same indices."""

from __future__ import annotations

from ... import Op, Value
from ...ops.movement.gather import Gather, GatherElements, GatherND
from ...ops.movement.gather_grad import GatherElementsGrad, GatherGrad, GatherNDGrad
from ..adjoint import Adjoint, Gradients


def gather(at: Adjoint) -> Gradients:
    """Return the gradients of rows, added where the rows were read, as for an embedding."""
    assert isinstance(at.op, Gather)
    return _added(at, GatherGrad(axis=at.op.axis))


def gather_elements(at: Adjoint) -> Gradients:
    """Return the gradients of elements, added where the elements were read.

    The operand is passed on too: ATen's backward operator takes the shape from it.
    """
    assert isinstance(at.op, GatherElements)
    return _added(at, GatherElementsGrad(axis=at.op.axis), at.operand(0))


def gather_nd(at: Adjoint) -> Gradients:
    """Return the gradients of slices, added where the slices were read."""
    assert isinstance(at.op, GatherND)
    return _added(at, GatherNDGrad(batch_dims=at.op.batch_dims))


def _added(at: Adjoint, op: Op, *more: Value) -> Gradients:
    """Return the gradient of the data from its extents, the indices, dY and ``more`` operands."""
    ins = (at.tape.ints(at.shape()), at.operand(1), at.dy, *more)
    return {0: at.tape.apply(op, *ins)}
