"""How well products and convolutions can use the matrix unit: algorithms, tiles, channels."""

from __future__ import annotations

import math
from collections.abc import Mapping

from perfc.ir.dim import Dim
from perfc.ir.evaluate import evaluate
from perfc.ir.graph import Node
from perfc.ir.op import Kind
from perfc.ir.types import Shape, TensorType
from perfc.machine import Machine

from .fuse import Kernel

TILE = 128
"""Rows and columns of a matrix tile one SM works on; the common size of library kernels."""


def convolution(kernel: Kernel) -> Node | None:
    """The convolution that a kernel does, None where it does none."""
    if kernel.kind is not Kind.CONV:
        return None
    return kernel.anchor


def filters(node: Node) -> Shape:
    """Extents of the filters of a convolution, empty where they are not known."""
    for v in node.inputs[1:]:
        if v is not None and isinstance(v.type, TensorType) and len(v.type.shape or ()) > 2:
            return v.type.shape or ()
    return ()


def filter_extents(node: Node) -> tuple[int, ...]:
    """Extents of the window of a convolution, empty where they are not known."""
    shape = filters(node)
    window = tuple(d for d in shape[2:] if isinstance(d, int))
    return window if len(window) == len(shape) - 2 else ()


def winograd_gain(kernel: Kernel) -> float:
    """Factor by which minimal filtering F(4, r) can cut a stride-one convolution's products.

    Per axis, ``4 r / (r + 3)``. Source: Winograd 1980; Lavin & Gray 2016, section 3.
    """
    node = convolution(kernel)
    if node is None:
        return 1.0
    strides = getattr(node.op, "strides", ())
    dilations = getattr(node.op, "dilations", ())
    if any(s != 1 for s in strides) or any(d != 1 for d in dilations):
        return 1.0
    return math.prod(4 * r / (r + 3) for r in filter_extents(node) if r > 1)


def is_depthwise(kernel: Kernel) -> bool:
    """Whether a kernel is a convolution that sums over no channels, as a matrix unit would."""
    node = convolution(kernel)
    shape = filters(node) if node is not None else ()
    group: object = getattr(node.op, "group", 1) if node is not None else 1
    if node is None or not shape or not isinstance(group, int):
        return False
    return has_channels_apart(group, shape[0] // group if is_transposed(node) else shape[1])


def is_transposed(node: Node) -> bool:
    """Whether a convolution is a transposed one: its filters have input channels first."""
    return "conv_transpose" in node.op.mnemonic


def has_channels_apart(group: int, depth: Dim) -> bool:
    """Whether each input channel has filters of its own: depthwise, several results each or one.

    Args:
        group: of the convolution; one group is a plain convolution, whatever its channels.
        depth: input channels of a group.
    """
    return group > 1 and depth == 1


def wave_efficiency(kernel: Kernel, machine: Machine, env: Mapping[str, int]) -> float:
    """Share of the last wave of output tiles that is filled, 1 where no tiles are counted.

    Tiles of ``TILE`` × ``TILE`` go to SMs in whole waves. Source: NVIDIA, Matrix multiplication
    background guide, wave quantisation. Left out: split-k, smaller tiles, several tiles per SM.
    """
    if kernel.kind not in (Kind.MATMUL, Kind.CONV) or machine.kind != "cuda":
        return 1.0
    result = kernel.anchor.results[0].type if kernel.anchor.results else None
    if not isinstance(result, TensorType) or not result.shape or len(result.shape) < 2:
        return 1.0
    extents = [d if isinstance(d, int) else int(evaluate(d, env)) for d in result.shape]
    if kernel.kind is Kind.CONV:
        rows, columns = extents[0] * math.prod(extents[2:]), extents[1]
    else:
        rows, columns = math.prod(extents[:-1]), extents[-1]
    tiles = math.ceil(rows / TILE) * math.ceil(columns / TILE)
    if tiles <= machine.sm_count:
        return 1.0
    filled: float = tiles / (math.ceil(tiles / machine.sm_count) * machine.sm_count)
    return filled
