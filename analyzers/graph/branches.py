"""Find parallel linear branches, which an engine or ``--reparam`` folds into one convolution.

Source: Ding et al., "RepVGG: Making VGG-style ConvNets Great Again", CVPR 2021: if only
convolutions and normalisations lie between one tensor and a sum, all of them together are one
convolution.
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
    # of each node: the node whose result its linear branch begins from, and the number of
    # convolutions on the branch so far (0 or 1, as two convolutions do not fold into one)
    branches: list[tuple[int, int]] = []
    count = 0
    folded = [0] * len(ops)  # operators of each node's branch, up to and including the node
    for i, name in enumerate(ops.ops):
        sources = inputs[i]
        branch = (i, 0)  # any other operator begins new branches
        if name in LINEAR and len(sources) == 1:
            origin, convolutions = branches[sources[0]]
            convolutions += name == "conv"
            if convolutions <= 1:
                branch = (origin, convolutions)
                folded[i] = folded[sources[0]] + 1
            else:  # a second convolution begins a new branch
                branch, folded[i] = (sources[0], 1), 1
        elif name == "add" and len(sources) == 2:
            (left, left_count), (right, right_count) = (branches[source] for source in sources)
            # the sum of two branches of one tensor, at least one of them with a convolution, is
            # itself a branch with one convolution
            if left == right and max(left_count, right_count) == 1:
                branch = (left, 1)
                folded[i] = 0
                count += folded[sources[0]] + folded[sources[1]] + 1
        branches.append(branch)
    return count / max(len(ops), 1)
