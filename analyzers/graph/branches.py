"""Find parallel linear branches, which an engine or ``--reparam`` folds into one convolution.

Source: Ding et al., "RepVGG: Making VGG-style ConvNets Great Again", CVPR 2021: convolutions and
normalisations between one tensor and one sum, nothing else between, are one convolution.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model_graph import OpGraph

LINEAR = frozenset({"conv", "batch_norm"})
"""Operators of a foldable branch."""


@lru_cache(maxsize=4096)
def foldable_share(ops: OpGraph) -> float:
    """Return the share of operators that are on foldable branches or add them."""
    inputs: list[list[int]] = [[] for _ in ops.ops]
    for source, target in ops.edges.T.tolist():
        inputs[target].append(source)
    start: list[tuple[int, int]] = []
    """First node of each node's linear branch, and the number of convolutions on it."""
    count = 0
    folded = [0] * len(ops)  # operators of each node's branch up to it
    for i, name in enumerate(ops.ops):
        sources = inputs[i]
        begin = (i, 0)
        if name in LINEAR and len(sources) == 1:
            origin, convolutions = start[sources[0]]
            convolutions += name == "conv"
            if convolutions <= 1:
                begin = (origin, convolutions)
                folded[i] = folded[sources[0]] + 1
            else:  # a second convolution begins a new branch
                begin, folded[i] = (sources[0], 1), 1
        elif name == "add" and len(sources) == 2:
            left, right = start[sources[0]], start[sources[1]]
            # branches of one tensor, at least one with a convolution; the sum counts as one itself
            if left[0] == right[0] and max(left[1], right[1]) == 1:
                begin = (left[0], 1)
                folded[i] = 0
                count += folded[sources[0]] + folded[sources[1]] + 1
        start.append(begin)
    return count / max(len(ops), 1)
