"""Kernels that only move elements: transpositions, concatenations, slices, pads, gathers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfc.ir.op import Kind

from . import Lowered
from .elementwise import of

if TYPE_CHECKING:
    from perfc.passes.roofline import KernelBound

NAMES = {Kind.MOVEMENT: "movement", Kind.GATHER: "embedding"}


def lower(bound: KernelBound, env: Mapping[str, int]) -> Lowered | None:
    """Elements and bytes moved; a gather is an embedding look-up."""
    name = NAMES.get(bound.kernel.kind)
    return None if name is None else of(bound, env, name)
