"""How well products and convolutions fill the tiles of the matrix unit."""

from __future__ import annotations

import math
from collections.abc import Mapping

from perfc.ir.evaluate import evaluate
from perfc.ir.op import Kind
from perfc.ir.types import TensorType
from perfc.machine import Machine

from .fuse import Kernel

TILE = 128
"""Rows and columns of a matrix tile one SM works on; the common size of library kernels."""


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
