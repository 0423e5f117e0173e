"""Utilization of the last wave of tiles by products and convolutions."""

from __future__ import annotations

import math

from perfc.ir import Numbers
from perfc.ir.problem import Product, SlidingWindow
from perfc.ir.problem.window import WindowOperation
from perfc.machine import Machine

from ..fusion.kernel import Kernel

TILE = 128
"""Rows and columns of the matrix tile of one SM; the common size in library kernels."""


def wave_efficiency(kernel: Kernel, machine: Machine, at: Numbers) -> float:
    """Return the filled share of all waves of output tiles, 1 if no tiles are counted.

    Tiles of ``TILE`` × ``TILE`` go to SMs in whole waves; no tile spans two products or two
    groups of channels. Source: NVIDIA, Matrix multiplication background guide, wave quantisation.
    Left out: split-k, smaller tiles, several tiles per SM.
    """
    match kernel.problem:
        case Product() as problem:
            extents = problem.products, problem.rows, problem.n
        case SlidingWindow() as problem if (
            problem.form is not WindowOperation.POOL and not problem.is_depthwise
        ):
            extents = problem.groups, problem.positions, problem.filters
        case _:
            return 1.0
    if machine.kind != "cuda":
        return 1.0
    products, rows, columns = map(at, extents)
    tiles = products * math.ceil(rows / TILE) * math.ceil(columns / TILE)
    if tiles <= machine.sm_count:
        return 1.0
    filled: float = tiles / (math.ceil(tiles / machine.sm_count) * machine.sm_count)
    return filled
