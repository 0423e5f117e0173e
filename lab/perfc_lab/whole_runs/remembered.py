"""What `PhysicsResidual` remembers of its training graphs: offsets, and shares of operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.whole_runs.memory import OffsetMemory, levels
from perfc.analyzers.whole_runs.similarity import OperatorSimilarity, operators, roots_of

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array
    from perfc.analyzers.graph.model_graph import OpGraph
    from perfc.analyzers.graph.rows import Measurements

PULL = 1.0
"""Number of rows that the mean of the level above counts as."""


def offsets_of(data: Measurements, left: Array) -> OffsetMemory:
    """Fit offsets to rows and their residuals, ``log(measured / estimated)``."""
    sums: dict[int, list[float]] = {}
    above: dict[int, int] = {}
    for row, value in zip(data.rows, left.tolist(), strict=True):
        upper = 0
        for key in levels(data.graph(row).ops, row):
            sums.setdefault(key, []).append(value)
            above.setdefault(key, upper)
            upper = key
    offsets: dict[int, float] = {0: 0.0}
    # a level is met after the one above it
    for key, values in sums.items():
        offsets[key] = (sum(values) + PULL * offsets[above[key]]) / (len(values) + PULL)
    del offsets[0]
    order = sorted(offsets)
    return OffsetMemory(
        np.array(order, np.uint64), np.array([offsets[k] for k in order], np.float32)
    )


def similarity_of(graphs: Iterable[OpGraph]) -> OperatorSimilarity:
    """Return the shares of graphs; equal ones are stored once."""
    counts = [operators(graph) for graph in graphs]
    words = tuple(sorted({word for one in counts for word in one}))
    roots = np.stack([roots_of(one, words)[0] for one in counts])
    return OperatorSimilarity(words, np.unique(roots, axis=0))
