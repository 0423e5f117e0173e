"""Gradients of slices, splits and concatenations."""

from __future__ import annotations

from ... import Dim, Value, normal_axis
from ...ops.movement.pad import Pad
from ...ops.movement.slice import Concat, Slice, Split
from ..adjoint import Adjoint, Gradients
from ..tape import shape_of


def padded(at: Adjoint, v: Value, before: list[Dim], after: list[Dim]) -> Value:
    """Return a value padded with zeros; ``before`` and ``after`` have an amount for each axis."""
    if not any(d != 0 for d in (*before, *after)):
        return v
    return at.tape.apply(Pad(), v, at.tape.ints((*before, *after)))


def slice(at: Adjoint) -> Gradients:
    """Return the gradient with zeros for elements outside the slice, and between its steps."""
    assert isinstance(at.op, Slice)
    shape = at.shape()
    ranges = at.op.ranges(at.node.inputs, len(shape))
    if ranges is None:
        raise at.error("its axes are not known")
    before: list[Dim] = [0] * len(shape)
    after: list[Dim] = [0] * len(shape)
    dy = at.dy
    for axis, (start, _end, step) in ranges.items():
        extent, length = shape[axis], shape_of(dy)[axis]
        if start is None or not isinstance(step, int):
            raise at.error("where it starts is not known")
        if step < 0:
            # a slice backwards is a slice forwards with a reversed gradient: it begins at the last
            # element of the backward one. ONNX clamps a start behind the axis to its last element
            last = extent - 1
            begin = start + extent if isinstance(start, int) and start < 0 else start
            begin = min(begin, last) if isinstance(begin, int) and isinstance(last, int) else begin
            dy, step = at.tape.reversed(dy, axis), -step
            start = begin - (length - 1) * step
        first = start + extent if isinstance(start, int) and start < 0 else start
        # ONNX clamps a start before the first element
        if isinstance(first, int) and first < 0:
            first = 0
        if step > 1:
            dy = spread(at, dy, axis, step)
            length = length * step  # with the zeros behind the last element
        # negative for those zeros that lie beyond the axis: the padding cuts them off
        before[axis], after[axis] = first, extent - first - length
    return {0: padded(at, dy, before, after)}


def spread(at: Adjoint, v: Value, axis: int, step: int) -> Value:
    """Return a value with ``step - 1`` zeros after each element along an axis."""
    shape = shape_of(v)
    column = at.tape.reshape(v, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    no_padding: list[Dim] = [0] * (len(shape) + 1)
    behind = list(no_padding)
    behind[axis + 1] = step - 1
    spaced = padded(at, column, no_padding, behind)
    return at.tape.reshape(spaced, (*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))


def split(at: Adjoint) -> Gradients:
    """Return the concatenated gradients of the parts, zeros for parts without one."""
    assert isinstance(at.op, Split)
    axis = normal_axis(at.op.axis, len(at.shape()))
    parts: list[Value] = []
    for index, part in enumerate(at.of_results):
        if part is None:
            type_ = at.op.infer(at.node.inputs)[index]
            # a value for its shape and type alone; it enters no graph
            missing = Value("part", type_)
            part = at.tape.zeros(shape_of(missing), missing.dtype)
        parts.append(part)
    return {0: at.tape.concat(parts, axis)}


def concat(at: Adjoint) -> Gradients:
    """Return each operand's part of the gradient."""
    assert isinstance(at.op, Concat)
    axis = normal_axis(at.op.axis, len(at.shape()))
    gradients: dict[int, Value | None] = {}
    start: Dim = 0
    for index in range(len(at.node.inputs)):
        end = start + at.shape(index)[axis]
        if at.wants(index):
            gradients[index] = at.tape.part(at.dy, {axis: (start, end)})
        start = end
    return gradients
