"""Gradients of scatters: gathered at the same indices."""

from __future__ import annotations

from ... import Value
from ...ops.movement.gather import GatherElements, GatherND
from ...ops.movement.scatter import ScatterElements, ScatterND
from ..adjoint import Adjoint, Gradients
from ..tape import shape_of


def scatter_elements(at: Adjoint) -> Gradients:
    """Return the gradients of data and updates.

    The gradient of the data is 0 where an update replaced an element; a scatter that adds leaves it
    unchanged. The gradient of the updates is read at the indices.
    """
    assert isinstance(at.op, ScatterElements)
    axis, reduction = at.op.axis, at.op.reduction
    return _gradients(at, GatherElements(axis=axis), ScatterElements(axis=axis), reduction)


def scatter_nd(at: Adjoint) -> Gradients:
    """Return the gradients of data and updates, as `scatter_elements` does, for slices."""
    assert isinstance(at.op, ScatterND)
    return _gradients(at, GatherND(), ScatterND(), at.op.reduction)


def _gradients(
    at: Adjoint,
    take: GatherElements | GatherND,
    put: ScatterElements | ScatterND,
    reduction: str,
) -> Gradients:
    """Return gradients of data and updates.

    Args:
        at: the scatter: data, indices, updates.
        take: operator that reads elements at the indices.
        put: operator that replaces elements at the indices.
        reduction: how the scatter combines updates with data.
    """
    if reduction not in ("none", "add"):
        raise at.error(f"a reduction by {reduction}")
    gradients: dict[int, Value | None] = {}
    if at.wants(0):
        gradients[0] = at.dy
        if reduction == "none":
            updates = at.operand(2)
            zeros = at.tape.zeros(shape_of(updates), updates.dtype)
            gradients[0] = at.tape.apply(put, at.dy, at.operand(1), zeros)
    if at.wants(2):
        gradients[2] = at.tape.apply(take, at.dy, at.operand(1))
    return gradients
