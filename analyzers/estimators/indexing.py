"""Time of PyTorch's kernels on operands that are not contiguous: address arithmetic per element.

Kernels of contiguous operands of one type load vectors and are limited by memory. Others compute
the address of each element of each operand by divisions, one for each axis that strides do not
merge; kernels that widen test the type of each element.

Source: PyTorch, aten/src/ATen/native/cuda: CUDALoops.cuh, Copy.cu, Shape.cu (CatArrayBatchedCopy);
ATen/TensorIterator.cpp, ``reorder_dimensions`` and ``coalesce_dimensions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to
from perfc.ir import DType, Kind, Node, TensorType, Value, element_count, evaluate
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.movement.movement import Contiguous
from perfc.ir.ops.movement.slice import Concat
from perfc.passes.inference.placement import contiguous
from perfc.passes.inference.strides import Strides
from perfc.passes.runtimes import Framework

from ..estimate.estimate import Estimate, Predictor
from ..features.sheet import Sheet

if TYPE_CHECKING:
    from perfc.passes.inference.placement import Extents
    from perfc.passes.inference.strides import StrideTable

    from .estimator import Execution

_FITTED = constants_next_to(__file__)
ELEMENT, AXIS, OPERAND = _FITTED["index_instructions"].numbers
CAST, JOIN = _FITTED["cast_and_join_instructions"].numbers
LANES: Mapping[str, float] = _FITTED["issue_lanes"].by_name
NARROW_BITS = 16


def with_indexing(execution: Execution, chosen: Mapping[int, Estimate]) -> dict[int, Estimate]:
    """Return estimates in which kernels of PyTorch on strided operands also compute addresses.

    Only in graphs whose weights have 16 bits: whole runs in f32 are scaled by measured ones, with
    the same kernels in both.
    """
    if execution.module is None or not is_corrected(execution):
        return dict(chosen)
    strides = execution.analyses.get(Strides(execution.kernels.runtime.name), execution.module)
    sheet = Sheet(execution.machine)
    lanes = LANES.get(execution.machine.vendor, 0.0) * sheet.sm_count * sheet.clock_hz
    result = dict(chosen)
    for i, estimate in chosen.items() if lanes else ():
        if estimate.predictor is not Predictor.LEARNED:
            continue
        kernel = execution.bounds.kernels[i].kernel
        node = kernel.anchor
        instructions = issued(node, strides) if is_single(kernel.nodes, node) else 0.0
        out = node.results[0].type if instructions else None
        if isinstance(out, TensorType) and out.shape is not None:
            count = float(evaluate(element_count(out.shape), execution.bounds.env_of(i)))
            index_s = count * instructions * kernel.times / lanes
            memory_s = estimate.time_s
            result[i] = estimate.scaled((1 + (index_s / memory_s) ** 2) ** 0.5)
    return result


def is_corrected(execution: Execution) -> bool:
    """Return True for kernels of PyTorch alone, of a graph whose weights have 16 bits."""
    table = execution.kernels.runtime
    assert execution.module is not None
    types = [w.type for w in execution.module.graph.weights]
    return (
        table.framework is Framework.TORCH
        and not table.epilogue
        and any(isinstance(t, TensorType) and t.dtype.bits == NARROW_BITS for t in types)
    )


def is_single(nodes: tuple[Node, ...], anchor: Node) -> bool:
    """Return True if a kernel is one operator and views."""
    return all(n is anchor or n.op.kind is Kind.VIEW or n.op.kind is Kind.MOVEMENT for n in nodes)


def issued(node: Node, strides: StrideTable) -> float:
    """Return the instructions per element of the result beyond loads of vectors; 0 for none."""
    operands = [v for v in node.inputs if v is not None and _rank(v, strides)]
    values = [node.results[0], *operands] if node.results else []
    shape = strides.shapes.get(values[0]) if values else None
    if shape is None or not operands:
        return 0.0
    match node.op:
        case Concat():
            is_strided = any(strides.of(v) != contiguous(strides.shapes[v]) for v in operands)
            return JOIN if is_strided else 0.0
        case Cast(to=DType.F32) if _bits(operands[0]) == NARROW_BITS:
            return CAST
        case Contiguous() | Cast():
            pass
        case op if op.kind is not Kind.ELEMENTWISE:
            return 0.0
    steps = [along(shape, strides.shapes[v], strides.of(v)) for v in values]
    axes = merged(shape, steps)
    return ELEMENT + axes * (AXIS + OPERAND * len(values)) if axes > 1 else 0.0


def _rank(v: Value, strides: StrideTable) -> int:
    return len(strides.shapes.get(v) or ())


def _bits(v: Value) -> int:
    return v.type.dtype.bits if isinstance(v.type, TensorType) else 0


def along(shape: Extents, operand: Extents, strides: Extents) -> Extents:
    """Return strides of an operand along the axes of the result; 0 where it is broadcast.

    >>> along((8, 4), (4,), (1,))
    (0, 1)
    """
    lead = len(shape) - len(operand)
    pairs = zip(shape[lead:], operand, strides, strict=True)
    return (0,) * lead + tuple(0 if a == 1 and b != 1 else s for b, a, s in pairs)


def merged(shape: Extents, steps: list[Extents]) -> int:
    """Return the number of axes after those that every operand steps through as one are merged.

    >>> merged((8, 4), [(4, 1), (4, 1)]), merged((8, 4), [(4, 1), (1, 8)])
    (1, 2)
    """
    axes = [a for a in range(len(shape)) if shape[a] != 1]
    axes.sort(key=lambda a: [s[a] for s in steps])
    count = 0
    last: tuple[int, tuple[int, ...]] | None = None
    for axis in axes:
        step = tuple(s[axis] for s in steps)
        if last is not None and step == tuple(last[0] * s for s in last[1]):
            last = last[0] * shape[axis], last[1]
            continue
        count += 1
        last = shape[axis], step
    return count
