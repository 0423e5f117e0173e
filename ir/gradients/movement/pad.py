"""Gradients of padding."""

from __future__ import annotations

from ... import Dim, Value
from ...ops.movement.gather_grad import GatherGrad
from ...ops.movement.pad import Pad
from ...tensors.contents import elements
from ..adjoint import Adjoint, Gradients
from ..tape import shape_of
from .slice import padded


def pad(at: Adjoint) -> Gradients:
    """Return the part of the gradient that belongs to the operand, for padding with constants.

    Elements that negative padding had cut off get zeros. Other modes repeat elements, whose
    gradients are added.
    """
    assert isinstance(at.op, Pad)
    shape = at.shape()
    axes, pads = at.op._axes(at.node.inputs, len(shape)), elements(at.node.inputs, 1)
    if axes is None or pads is None or None in pads:
        raise at.error("its pads are not known")
    amounts = [p for p in pads if p is not None]
    if at.op.mode != "constant":
        return {0: _repeated(at, axes, amounts)}
    before: list[Dim] = [0] * len(shape)
    after: list[Dim] = [0] * len(shape)
    ranges: dict[int, tuple[Dim, Dim]] = {}
    for i, axis in enumerate(axes):
        begin, end = amounts[i], amounts[i + len(axes)]
        total = shape_of(at.dy)[axis]
        # positive padding is cut off from the gradient; negative padding had cut off elements of
        # the operand, whose gradient is 0. A symbolic padding counts as positive
        cut_end = end if not isinstance(end, int) or end > 0 else 0
        cut_begin = begin if not isinstance(begin, int) or begin > 0 else 0
        ranges[axis] = (cut_begin, total - cut_end)
        before[axis] = -begin if isinstance(begin, int) and begin < 0 else 0
        after[axis] = -end if isinstance(end, int) and end < 0 else 0
    return {0: padded(at, at.tape.part(at.dy, ranges), before, after)}


def _repeated(at: Adjoint, axes: list[int], pads: list[Dim]) -> Value:
    """Return the gradient with the elements that padding repeats added up, axis by axis.

    ``pads`` has the padding before each of ``axes``, then the padding after each, as in ONNX.
    """
    assert isinstance(at.op, Pad)
    gradient, shape = at.dy, at.shape()
    for i, axis in enumerate(axes):
        begin, end, extent = pads[i], pads[i + len(axes)], shape[axis]
        if (begin, end) == (0, 0):
            continue
        if not (isinstance(begin, int) and isinstance(end, int) and isinstance(extent, int)):
            raise at.error("its extents are not numbers")
        # for each padded position the element of the operand that it repeats
        sources = [at.op._source(j - begin, extent) for j in range(begin + extent + end)]
        positions = at.tape.ints([s for s in sources if s is not None])
        extents = shape_of(gradient)
        target = at.tape.ints((*extents[:axis], extent, *extents[axis + 1 :]))
        gradient = at.tape.apply(GatherGrad(axis=axis), target, positions, gradient)
    return gradient
