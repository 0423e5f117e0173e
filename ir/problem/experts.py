"""Experts: products of each token with the weights of the few experts that its router chose."""

from __future__ import annotations

from typing import NamedTuple

from ..dim import Dim


class Experts(NamedTuple):
    """Every token through ``chosen`` of ``experts``, of which this machine holds a share.

    Args:
        tokens: that are routed, on all ranks together.
        hidden: extent of a token.
        inner: extent inside an expert, on this machine.
        chosen: experts of a token.
        experts: on all ranks together.
        ranks: machines among which whole experts are divided.
        matrices: of an expert: 3 with a gate, else 2.
        weight_bits: of an element of a weight that is widened inside; 0 where none is.
        scale_block: elements of a weight that share a scale; 0 where it has none.
        skew: exponent of the power law by which tokens choose experts; 0 where each chooses by
            itself at even odds; None where tokens are of requests that nobody knows.
    """

    tokens: Dim
    hidden: Dim
    inner: Dim
    chosen: Dim
    experts: Dim
    ranks: int = 1
    matrices: int = 3
    weight_bits: int = 0
    scale_block: int = 0
    skew: float | None = None
