"""Similarity of a graph to the training graphs, by the shares of its operators.

A graph is described by the share of each operator kind among its nodes; convolutions of different
window, stride or grouping are different kinds. Networks of one family have nearly equal shares at
any depth and width. The distance of two graphs is the Hellinger distance of their shares, the
Euclidean distance of their square roots (Hellinger 1909). Names of models are not used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import entity

from ..graph.model_graph import OP_FIXED, OpGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..graph.rows import Measurements

SIMILAR = constants_next_to(__file__)["similar"].number
"""Largest distance of similar graphs; √2 is that of graphs without a common operator.
``constants.toml`` in this folder says on which graphs it was chosen."""
SCALE = 255.0
"""Factor by which the square roots of shares, at most 1, are stored as bytes."""


@entity
class OperatorSimilarity:
    """Operator shares of the training graphs.

    Args:
        words: operator kinds of these graphs, sorted.
        roots: square roots of their shares times `SCALE`, ``[distinct graphs, words]``.
    """

    words: tuple[str, ...]
    roots: NDArray[np.uint8]

    def distance(self, data: Measurements) -> Array:
        """Return the distance of every row's graph to the nearest training graph, ``[rows]``."""
        known = self.roots.astype(np.float64)
        # many rows share a graph
        graphs = {row.graph: data.graph(row).ops for row in data.rows}
        distances: dict[str, float] = {}
        for name, graph in graphs.items():
            roots, unknown_share = roots_of(operators(graph), self.words)
            squares = ((known - roots) ** 2).sum(axis=1) / SCALE**2
            # operators that no training graph has add their whole share
            distances[name] = float(np.sqrt(squares.min() + unknown_share))
        return np.array([distances[row.graph] for row in data.rows])

    def arrays(self) -> Mapping[str, Any]:
        """Return the arrays that `restored` reads: only nonzero roots, graph by graph."""
        graph, word = np.nonzero(self.roots)
        return {
            # the narrowest types that hold the indices, as these arrays ship with the package; a
            # byte holds indices up to 255
            "word": word.astype(np.uint16 if len(self.words) > SCALE else np.uint8),
            "root": self.roots[graph, word],
            "sizes": np.bincount(graph, minlength=len(self.roots)).astype(np.uint16),
        }

    @classmethod
    def restored(cls, words: tuple[str, ...], arrays: Mapping[str, Any]) -> OperatorSimilarity:
        """Return the shares stored in arrays, with every index checked.

        Raises:
            ValueError: the arrays are not valid shares.
        """
        word, root, sizes = (np.asarray(arrays[name]) for name in ("word", "root", "sizes"))
        fits = word.ndim == root.ndim == sizes.ndim == 1 and len(word) == len(root)
        is_unsigned = all(array.dtype.kind == "u" for array in (word, root, sizes))
        if (
            not fits
            or not is_unsigned
            or int(sizes.sum(dtype=np.int64)) != len(word)
            or not len(sizes)
        ):
            raise ValueError("arrays that are no shares of operators")
        if (word >= len(words)).any():
            raise ValueError("shares of operators that have no name")
        roots = np.zeros((len(sizes), len(words)), np.uint8)
        roots[np.repeat(np.arange(len(sizes)), sizes), word] = root
        return cls(words, roots)


@lru_cache(maxsize=8192)
def operators(graph: OpGraph) -> Mapping[str, int]:
    """Return the number of nodes of each operator kind of a graph.

    The kind of an operator with a window includes its height, stride and grouping: ``conv3/2`` with
    one group, ``conv3/1 depthwise`` with one per filter.
    """
    height, stride, groups, filters = (
        graph.fixed[:, OP_FIXED.columns.index(name)].tolist()
        for name in ("kernel_h", "stride_h", "groups", "weight_0")
    )
    counts: Counter[str] = Counter()
    for name, window, step, parts, outputs in zip(
        graph.ops, height, stride, groups, filters, strict=True
    ):
        word = f"{name}{window:g}/{step:g}" if window else name
        # a network of depthwise convolutions differs from one of dense ones; one filter per group
        # is depthwise
        if window and parts > 1:
            word += " depthwise" if parts >= outputs else " grouped"
        counts[word] += 1
    return counts


def roots_of(counts: Mapping[str, int], words: tuple[str, ...]) -> tuple[NDArray[np.uint8], float]:
    """Return the rounded roots of the shares of words, and the share of operators not in words."""
    total = max(sum(counts.values()), 1)
    shares = np.array([counts.get(word, 0) for word in words], np.float64) / total
    known_count = sum(counts.get(word, 0) for word in words)
    unknown_share = (sum(counts.values()) - known_count) / total
    return np.rint(SCALE * np.sqrt(shares)).astype(np.uint8), unknown_share
