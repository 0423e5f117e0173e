"""Copies where convolutions on blocked channels meet other operators.

ONNX Runtime's CPU provider stores channels in blocks around convolutions; around convolutions of
quantized models it stores channels last. A tensor that only its writer, or only a reader, takes in
this form is copied in between, once for all its readers. Source: onnxruntime nchwc_transformer.cc,
nhwc_transformer.cc.
"""

from __future__ import annotations

from dataclasses import replace

from perfc.ir import DType, Kind, Value
from perfc.ir.ops.convolution.conv import Conv, DeformConv
from perfc.ir.ops.convolution.global_pool import GlobalAveragePool, GlobalMaxPool
from perfc.ir.ops.convolution.pool import AveragePool, MaxPool
from perfc.ir.ops.elementwise.activation import Relu, Sigmoid, Tanh
from perfc.ir.ops.elementwise.elementwise import Add, Mul, Sum
from perfc.ir.ops.movement.slice import Concat
from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.ops.resampling.resize import Resize, Upsample
from perfc.ir.problem import SlidingWindow

from ..fusion.fuse import KernelTable
from ..fusion.kernel import Kernel
from .helper_launches import Around, Helpers

BLOCK = 16
"""Channels in a block on processors with 512-bit vectors; others have blocks of 8.

Channels that fill blocks of 16 also fill blocks of 8.
"""
REORDERS = {True: "layout nchw→nchwc", False: "layout nchwc→nchw"}
"""Names of the copies into blocks, and out of them."""
ALIGNMENT = 4
"""Copies into blocks take multiples of this number of channels."""
LAST = "channels last"
"""Pattern given to reductions that read feature maps with channels last."""
_POOLS = (MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool)
"""Pools with kernels on blocks."""
_PASSING = (Relu, Sigmoid, Tanh, BatchNormalization, Resize, Upsample)
"""Operators of one tensor that work on either form and keep it."""
_UNITS = frozenset({"quick_gelu", "gelu", "fast_gelu"})
"""Patterns of several operators that work on either form and keep it."""
_JOINING = (Add, Sum, Mul)
"""Operators that keep blocks if all operands have them."""


def with_reorders(table: KernelTable, helpers: Helpers) -> KernelTable:
    """Return the table with the copies into and out of blocks.

    A copy belongs to the kernel that writes the tensor; the copy of an input belongs to its first
    reader.

    Args:
        table: kernels of a runtime that stores channels in blocks.
        helpers: makes the launches.
    """
    read = {v for k in table.kernels for v in k.reads}
    maker = {v: k for k in table.kernels for v in k.writes}
    blocked: set[Value] = set()
    # the copy of each tensor in the other form
    copies: dict[Value, Value] = {}
    kernels: list[Kernel] = []
    begins: list[int] = []
    # in execution order, as ``blocked`` must have the results of all earlier kernels
    for k in table.kernels:
        # alternatives refer to kernels by position, which the copies move
        begins.append(len(kernels))
        takes = accepts(k, blocked)
        copied: dict[Value, Value] = {}
        for v in k.reads:
            # whether the kernel reads ``v`` in blocks; in that form already, no copy is needed
            into = takes and is_data(k, v)
            if (v in blocked) == into or v.weight is not None:
                continue
            if v not in copies:
                copy = Around(helpers, maker.get(v, k)).reordered(v, REORDERS[into])
                kernels.append(copy)
                copies[v] = copy.writes[0]
            copied[v] = copies[v]
        if copied:
            reads = tuple([copied.get(v, v) for v in k.reads])
            key = "reordered", k.identity, *[v in copied for v in k.reads]
            k = replace(k, reads=reads, identity=helpers.number(key))
        if takes and k.kind is Kind.REDUCTION:
            k = replace(k, pattern=LAST, identity=helpers.number((LAST, k.identity)))
        kernels.append(k)
        if takes:
            blocked.update(k.writes)
            # a result of the model, which no kernel reads, leaves it plain
            out = Around(helpers, k)
            kernels += [out.reordered(v, REORDERS[False]) for v in k.writes if v not in read]
    begins.append(len(kernels))
    others = [replace(a, first=begins[a.first], last=begins[a.last]) for a in table.alternatives]
    return replace(table, kernels=tuple(kernels), alternatives=tuple(others), memo={})


def accepts(kernel: Kernel, blocked: set[Value]) -> bool:
    """Return True if a kernel works on a blocked layout, or channels last in a quantized model.

    Convolutions start it; most other operators only keep it, if all their activations have it.
    """
    node = kernel.anchor
    activations = [v for v in kernel.reads if v.weight is None]
    if kernel.pattern == "quantized" and kernel.kind is not Kind.POOL:
        takes_any = blocked.issuperset(activations) and kernel.kind is not Kind.NORMALIZATION
        return takes_any or kernel.kind is Kind.CONV
    if kernel.pattern in _UNITS:
        return len(activations) == 1 and activations[0] in blocked
    match node.op:
        case DeformConv() | Conv(is_nhwc=True):
            return False
        case Conv():
            return is_blocked_conv(kernel)
        case op if isinstance(op, _POOLS):
            return (
                len(activations) == 1
                and channels(activations[0]) % BLOCK == 0
                and len(node.results) == 1
            )
        # blocks have nearest neighbours with asymmetric coordinates only
        case Resize(mode="nearest", coordinate_transformation_mode=form) if form != "asymmetric":
            return False
        case op if isinstance(op, _PASSING):
            return bool(activations) and activations[0] in blocked
        case op if isinstance(op, _JOINING):
            return (
                len(activations) == len(node.inputs)
                and len({v.shape for v in activations}) == 1
                and blocked.issuperset(activations)
            )
        case Concat(axis=1):
            # every operand fills its last block, so that none is cut
            aligned = all(channels(v) % BLOCK == 0 for v in activations)
            return aligned and blocked.issuperset(activations)
        case _:
            return False


def channels(v: Value) -> int:
    """Return the extent of the second of four axes; 1 if there is none or it is unknown."""
    match v.shape:
        case (_, int(extent), _, _):
            return extent
        case _:
            return 1


def is_data(kernel: Kernel, v: Value) -> bool:
    """Return True if a kernel on blocks reads ``v`` in blocks.

    The exception is the input of a convolution that has fewer channels than a block.
    """
    if not isinstance(kernel.anchor.op, Conv) or kernel.pattern == "quantized":
        return True
    match kernel.problem:
        case SlidingWindow(groups=1, depth=int(depth)) if kernel.anchor.inputs[0] is v:
            return depth >= BLOCK
        case _:
            return True


def is_blocked_conv(kernel: Kernel) -> bool:
    """Return True if a convolution works on a blocked layout."""
    problem, weight = kernel.problem, kernel.anchor.inputs[1]
    if not isinstance(problem, SlidingWindow) or weight is None or weight.weight is None:
        return False
    if kernel.mac_dtype is not DType.F32 or len(problem.extents) != 2:
        return False
    filters, depth = problem.out_channels, problem.depth
    if not isinstance(filters, int) or not isinstance(depth, int):
        return False
    # fewer channels than a block are read unblocked, see ``is_data``
    if problem.groups == 1:
        return depth < BLOCK or depth % ALIGNMENT == 0
    if problem.is_depthwise and filters == problem.groups:
        return filters % ALIGNMENT == 0
    return depth % BLOCK == 0 and (filters // problem.groups) % BLOCK == 0
