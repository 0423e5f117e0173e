"""Whether a graph is built like one that was trained on: what shares of its operators are which.

Networks of one family are of the same operators in about the same shares, however deep and wide
they are; a convolution counts by its window, stride and grouping too. Graphs are as far apart as
their shares are (Hellinger 1909: the distance of square roots); names of models do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.model_graph import OP_FIXED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..graph.model_graph import OpGraph
    from ..graph.rows import Measurements

KIN = 0.06
"""Distance up to which graphs are kin; 1.41 is that of graphs without any operator in common.

Two thirds of architectures drawn at random have kin that near among all others of timm, a tenth of
those whose family is left out altogether.
"""
SCALE = 255.0


@dataclass(frozen=True, eq=False)
class Kinship:
    """Graphs that were trained on.

    Args:
        words: kinds of operators they have.
        roots: square roots of their shares over ``1 / SCALE``, ``[graphs, words]``, each row once.
    """

    words: tuple[str, ...]
    roots: NDArray[np.uint8]

    @classmethod
    def learned(cls, graphs: Iterable[OpGraph]) -> Kinship:
        """Of graphs; those of equal shares are one."""
        counts = [operators(graph) for graph in graphs]
        words = tuple(sorted({word for one in counts for word in one}))
        roots = np.stack([_roots(one, words)[0] for one in counts])
        return cls(words, np.unique(roots, axis=0))

    def distance(self, data: Measurements) -> Array:
        """Of the graph of every row to its nearest kin, ``[rows]``."""
        known = self.roots.astype(np.float64)
        graphs = {row.graph: data.graph(row).ops for row in data.rows}
        found: dict[str, float] = {}
        for name, graph in graphs.items():
            own, strange = _roots(operators(graph), self.words)
            squares = ((known - own) ** 2).sum(axis=1) / SCALE**2
            found[name] = float(np.sqrt(squares.min() + strange))
        return np.array([found[row.graph] for row in data.rows])

    def arrays(self) -> Mapping[str, Any]:
        """What `restored` reads: words that each graph has, and their roots."""
        graph, word = np.nonzero(self.roots)
        return {
            "word": word.astype(np.uint16 if len(self.words) > SCALE else np.uint8),
            "root": self.roots[graph, word],
            "sizes": np.bincount(graph, minlength=len(self.roots)).astype(np.uint16),
        }

    @classmethod
    def restored(cls, words: tuple[str, ...], arrays: Mapping[str, Any]) -> Kinship:
        """Read back, every index checked.

        Raises:
            ValueError: arrays that are no such graphs.
        """
        word, root, sizes = (np.asarray(arrays[name]) for name in ("word", "root", "sizes"))
        fits = word.ndim == root.ndim == sizes.ndim == 1 and len(word) == len(root)
        whole = all(one.dtype.kind == "u" for one in (word, root, sizes))
        if not fits or not whole or int(sizes.sum(dtype=np.int64)) != len(word) or not len(sizes):
            raise ValueError("arrays that are no shares of operators")
        if (word >= len(words)).any():
            raise ValueError("shares of operators that have no name")
        roots = np.zeros((len(sizes), len(words)), np.uint8)
        roots[np.repeat(np.arange(len(sizes)), sizes), word] = root
        return cls(words, roots)


@lru_cache(maxsize=8192)
def operators(graph: OpGraph) -> Mapping[str, int]:
    """How often a graph has each kind of operator.

    A window has its height, stride and grouping in its name: ``conv3/2`` with one group,
    ``conv3/1 depthwise`` with a group for each filter.
    """
    height, stride, groups, filters = (
        graph.fixed[:, OP_FIXED.columns.index(name)].tolist()
        for name in ("kernel_h", "stride_h", "groups", "weight_0")
    )
    found: Counter[str] = Counter()
    for name, window, step, parts, outputs in zip(
        graph.ops, height, stride, groups, filters, strict=True
    ):
        word = f"{name}{window:g}/{step:g}" if window else name
        if window and parts > 1:
            word += " depthwise" if parts >= outputs else " grouped"
        found[word] += 1
    return found


def _roots(counts: Mapping[str, int], words: tuple[str, ...]) -> tuple[NDArray[np.uint8], float]:
    """Rounded roots of the shares of words, and the share of operators that are none of them."""
    total = max(sum(counts.values()), 1)
    shares = np.array([counts.get(word, 0) for word in words], np.float64) / total
    known = sum(counts.get(word, 0) for word in words)
    strange = (sum(counts.values()) - known) / total
    return np.rint(SCALE * np.sqrt(shares)).astype(np.uint8), strange
