"""Graphs of which a release has some features: they are filled in, the others are 0.

Also checks numbers of releases: their size, form and range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from perfc.analyzers.graph.model_graph import (
    BATCHES,
    EDGE_SCALED,
    OP_FIXED,
    OP_SCALED,
    WHOLE,
    ModelGraph,
    OpGraph,
)
from perfc.ir.record import record

from ..source import FetchError

Numbers = NDArray[np.float64]

MOST_NODES = 1 << 18
"""Maximum operators of a network."""
MOST_NUMBERS = 1 << 24
"""Maximum numbers of a table of features, counted before an array is made of them."""
LARGEST = 1e24
"""Largest number that is accepted, far above any size of a network."""


@record
class PartialGraph:
    """A network at one batch, as a release describes it.

    Args:
        ops: mnemonic of each operator.
        facts: columns of `OP_FIXED` and `OP_SCALED` by name, ``[nodes]`` each.
        edges: source and target, ``[2, edges]``.
        whole: entries of `WHOLE` by name.
        tensors: columns of `EDGE_SCALED` by name, ``[edges]`` each.
    """

    ops: Sequence[str]
    facts: Mapping[str, Numbers]
    edges: NDArray[np.int64]
    whole: Mapping[str, float]
    tensors: Mapping[str, Numbers]

    def model_graph(self, name: str, where: str) -> ModelGraph:
        """Return the graph, the same at every batch, as it was measured at one.

        Raises:
            FetchError: there is no operator, too many, or an edge to an operator that is not there.
        """
        count = len(self.ops)
        if not 0 < count <= MOST_NODES:
            raise FetchError(f"a graph of {count} operators", where=where)
        edges = self.edges
        if edges.size and not 0 <= edges.min() <= edges.max() < count:
            raise FetchError("an edge to an operator that is not there", where=where)
        fixed = table(self.facts, OP_FIXED.columns, count)
        scaled = table(self.facts, OP_SCALED.columns, count)
        edge_features = table(self.tensors, EDGE_SCALED.columns, edges.shape[1])
        whole_features = np.array([self.whole.get(name, 0.0) for name in WHOLE.columns])
        batches = len(BATCHES)
        return ModelGraph(
            name,
            OpGraph(
                tuple(self.ops),
                fixed,
                np.stack([scaled] * batches),
                edges,
                np.stack([edge_features] * batches),
                np.stack([whole_features] * batches),
            ),
            {},
        )


def table(facts: Mapping[str, Numbers], columns: Sequence[str], count: int) -> Numbers:
    """Return ``[count, columns]``; columns without facts are 0."""
    empty = np.zeros(count)
    if not columns:
        return np.zeros((count, 0))
    return np.stack([facts.get(name, empty) for name in columns], axis=1)


def numbers(value: object, where: str) -> Numbers:
    """Return nested lists as an array of numbers from 0 to `LARGEST`.

    Raises:
        FetchError: the lists are ragged, too large, or hold anything but such numbers.
    """
    rows = value if isinstance(value, list) else [value]
    # lists are counted first: a pickled file may refer to one list many times, so that its array is
    # far larger than the file
    lists = [row for row in rows if isinstance(row, list)]
    if len(rows) + sum(map(len, lists)) > MOST_NUMBERS or any(
        not isinstance(cell, int | float) for row in lists for cell in row
    ):
        raise FetchError("no table of numbers, or too large", where=where)
    try:
        array = np.array(value, np.float64)
    except (ValueError, TypeError):
        raise FetchError("values that are no numbers", where=where) from None
    if array.size and not (np.isfinite(array).all() and 0 <= array.min() <= array.max() <= LARGEST):
        raise FetchError("a number that is negative or no size", where=where)
    return array


def edge_table(value: object, where: str) -> NDArray[np.int64]:
    """Return ``[2, edges]``.

    Raises:
        FetchError: the value has another form.
    """
    pairs = numbers(value, where)
    if pairs.size == 0:
        return np.zeros((2, 0), np.int64)
    if pairs.ndim != 2 or len(pairs) != 2:
        raise FetchError(f"edges of {list(pairs.shape)}", where=where)
    return pairs.astype(np.int64)
