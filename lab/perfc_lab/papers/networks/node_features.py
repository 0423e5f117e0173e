"""Inputs of networks from a graph, and the pieces that the papers' vectors are made of.

An `Encoding` names the tables; the functions make one-hot and logarithmic columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.graph.model_graph import OP_FIXED, ModelGraph
from perfc.analyzers.graph.schema import Schema
from perfc.ir.record import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

# column of what a vocabulary does not list
OTHER = "other"
HYPER_PARAMETERS = (*OP_FIXED.columns[:9], "weight_0", "weight_1", "has_bias")
"""Window, stride, dilation, padding and groups of an operator, and extents of its weight."""

GraphTable = Callable[[ModelGraph, float], "Array"]
"""Features of a graph at a batch."""
NO_GRAPH, NO_EDGES = Schema("no graph", ()), Schema("no edges", ())


@frozen
class Encoding:
    """Inputs of a network from a graph.

    Args:
        nodes: columns of the node table.
        node_table: ``[nodes, len(nodes)]``.
        whole: columns of the graph's vector; empty for none.
        graph_vector: ``[len(whole)]``; None where the network reads none.
        edges: columns of the edge table; empty for none.
        edge_table: ``[edges, len(edges)]``; None where the network reads none.
        edge_index: source and target of each edge, ``[2, edges]``; None for the data flow.
    """

    nodes: Schema
    node_table: GraphTable
    whole: Schema = NO_GRAPH
    graph_vector: Callable[[ModelGraph, float], Sequence[float]] | None = None
    edges: Schema = NO_EDGES
    edge_table: GraphTable | None = None
    edge_index: Callable[[ModelGraph], NDArray[np.int64]] | None = None


def one_hot(names: Sequence[str], vocabulary: Sequence[str]) -> Array:
    """Return ``[nodes, len(vocabulary)]``.

    What is not listed is ``other`` where that is, else zeros.
    """
    position = {name: i for i, name in enumerate(vocabulary)}
    rest = position.get(OTHER, -1)  # −1: a row of zeros
    columns = np.array([position.get(name, rest) for name in names], np.int64)
    matrix = np.zeros((len(names), len(vocabulary)))
    is_listed = columns >= 0
    matrix[np.flatnonzero(is_listed), columns[is_listed]] = 1.0
    return matrix


def logs(facts: Mapping[str, Array], names: Iterable[str]) -> Array:
    """Return ``[nodes, names]``: log₂(1 + x), as sizes span nine orders of magnitude.

    The papers feed raw numbers; with few graphs to learn from, a network does not get over that.
    """
    return np.log2(1 + np.stack([facts[name] for name in names], axis=1))


def indicators(vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a one-hot part; their prefix keeps them from being standardised."""
    return tuple(f"is {name}" for name in vocabulary)
