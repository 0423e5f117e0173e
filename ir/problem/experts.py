"""Experts: products of each token with the weights of the few experts that its router chose."""

from __future__ import annotations

import math
from collections.abc import Callable
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

    def touched_over_least(self, at: Callable[[Dim], float]) -> float:
        """Experts of a rank that its tokens touch in the mean, over those that one token touches.

        Each token is taken to choose by itself at even odds, as steps of decoding are estimated:
        tokens choose experts / ranks * (1 - (1 - chosen / experts)**tokens) of them in the mean,
        and what is read is proportional to that, so that no mean time of such steps is below a
        floor with it. With a skew fewer are touched, of which one token's are left as a floor.

        Args:
            at: value of an extent.
        """
        experts, chosen = at(self.experts), at(self.chosen)
        local = experts / self.ranks
        least = min(math.ceil(chosen / self.ranks), local)
        if self.skew or chosen >= experts or least <= 0:
            return 1.0
        touched = -local * math.expm1(at(self.tokens) * math.log1p(-chosen / experts))
        return max(touched / least, 1.0)
