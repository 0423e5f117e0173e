"""Problem size of mixtures of experts: products of tokens with weights of chosen experts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..symbolic.dim import Dim


class Experts(NamedTuple):
    """Every token through ``chosen`` of ``experts``, of which this device holds a share.

    Args:
        tokens: routed tokens of all ranks together.
        hidden: hidden size of a token.
        inner: intermediate size of an expert, on this device.
        chosen: experts per token.
        experts: experts on all ranks together.
        ranks: devices among which whole experts are divided.
        matrices: matrices per expert: 3 with a gate, else 2.
        weight_bits: bits of a weight that the kernel dequantizes; 0 if it does not.
        scale_block: elements of a weight that share a scale; 0 without scales.
        skew: exponent of the power law by which tokens choose experts; 0 for independent uniform
            choices; None if the requests of the tokens are unknown.
    """

    tokens: Dim
    hidden: Dim
    inner: Dim
    chosen: Dim
    experts: Dim
    ranks: int = 1
    matrices: int = 3
    weight_bits: float = 0
    scale_block: int = 0
    skew: float | None = None

    def touched_over_least(self, at: Callable[[Dim], float]) -> float:
        """Return the mean experts that all tokens touch on a rank, over those of a single token.

        Each token is assumed to choose independently and uniformly, as decode steps are estimated:
        tokens touch experts / ranks * (1 - (1 - chosen / experts)**tokens) of them on average,
        and the weights read are proportional to that, so it gives a lower bound of the mean time of
        such steps. With a skew fewer are touched, and the bound is that of a single token.

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
