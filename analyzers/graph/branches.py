"""Linear branches side by side, which an engine or ``--reparam`` folds into one convolution.

Source: Ding et al., "RepVGG: Making VGG-style ConvNets Great Again", CVPR 2021: convolutions and
normalisations between one tensor and one sum, nothing else between, are one convolution.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model_graph import OpGraph

LINEAR = frozenset({"conv", "batch_norm"})


@lru_cache(maxsize=4096)
def foldable_share(ops: OpGraph) -> float:
    """Return the share of the operators that lie on foldable branches or sum them."""
    inputs: list[list[int]] = [[] for _ in ops.ops]
    for source, target in ops.edges.T.tolist():
        inputs[target].append(source)
    start: list[tuple[int, int]] = []
    """Start of each node's linear branch, and the number of convolutions on it."""
    count = 0
    folded = [0] * len(ops)
    for i, name in enumerate(ops.ops):
        here = inputs[i]
        begin = (i, 0)
        if name in LINEAR and len(here) == 1:
            origin, convolutions = start[here[0]]
            convolutions += name == "conv"
            if convolutions <= 1:
                begin = (origin, convolutions)
                folded[i] = folded[here[0]] + 1
            else:
                begin, folded[i] = (here[0], 1), 1
        elif name == "add" and len(here) == 2:
            one, other = start[here[0]], start[here[1]]
            if one[0] == other[0] and max(one[1], other[1]) == 1:
                begin = (one[0], 1)
                folded[i] = 0
                count += folded[here[0]] + folded[here[1]] + 1
        start.append(begin)
    return count / max(len(ops), 1)
