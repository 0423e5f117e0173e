"""Inputs of networks from a graph: the tables of an `Encoding`, and columns that papers share.

The functions return one-hot and logarithmic columns.
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

# column of a one-hot vector for names that a vocabulary does not list
OTHER = "other"
HYPER_PARAMETERS = (*OP_FIXED.columns[:9], "weight_0", "weight_1", "has_bias")
"""Columns of window, stride, dilation, padding and groups, the first nine, and of an operator's
weight."""

GraphTable = Callable[[ModelGraph, float], "Array"]
"""Function that returns a table of features of a graph at a batch size."""
NO_GRAPH, NO_EDGES = Schema("no graph", ()), Schema("no edges", ())


@frozen
class Encoding:
    """Inputs of a network from a graph.

    Args:
        nodes: columns of the node table.
        node_table: returns the node table, ``[nodes, len(nodes)]``.
        whole: columns of the graph's vector; empty for none.
        graph_vector: returns that vector, ``[len(whole)]``; None if the network reads none.
        edges: columns of the edge table; empty for none.
        edge_table: returns the edge table, ``[edges, len(edges)]``; None if the network reads none.
        edge_index: returns source and target of each edge, ``[2, edges]``; None for the data flow.
    """

    nodes: Schema
    node_table: GraphTable
    whole: Schema = NO_GRAPH
    graph_vector: Callable[[ModelGraph, float], Sequence[float]] | None = None
    edges: Schema = NO_EDGES
    edge_table: GraphTable | None = None
    edge_index: Callable[[ModelGraph], NDArray[np.int64]] | None = None


def one_hot(names: Sequence[str], vocabulary: Sequence[str]) -> Array:
    """Return the one-hot rows of names, ``[nodes, len(vocabulary)]``.

    A name that is not listed has the column ``other``; in a vocabulary without it, a row of zeros.
    """
    position = {name: i for i, name in enumerate(vocabulary)}
    rest = position.get(OTHER, -1)  # -1 stands for a row of zeros
    columns = np.array([position.get(name, rest) for name in names], np.int64)
    matrix = np.zeros((len(names), len(vocabulary)))
    is_listed = columns >= 0
    matrix[np.flatnonzero(is_listed), columns[is_listed]] = 1.0
    return matrix


def logs(facts: Mapping[str, Array], names: Iterable[str]) -> Array:
    """Return log₂(1 + x) of columns, ``[nodes, names]``, as sizes span nine orders of magnitude.

    The papers' networks read the plain numbers, from which a network does not learn with few
    graphs.
    """
    return np.log2(1 + np.stack([facts[name] for name in names], axis=1))


def indicators(vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Return names for columns of a one-hot part; columns with this prefix are not standardised."""
    return tuple(f"is {name}" for name in vocabulary)
