"""PerfGraph: the features of nodes, edges and the graph in PerfSeer (Section 3.1).

SeerNet and MLP-Node read them; Eagle reads those of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.schema import Schema

from .networks.node_features import HYPER_PARAMETERS, Encoding, indicators, logs, one_hot
from .operators import VOCABULARY

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

NODES = Schema(
    "PerfGraph nodes",
    (
        *HYPER_PARAMETERS,
        "flop",
        "access_bytes",
        "weight_elements",
        "intensity",
        "flop_share",
        "access_share",
        "weight_share",
    ),
)
"""Features of a node: v = hp ‖ c ‖ m ‖ a ‖ p. The operator is none of them, as the error is larger
with it (Section 4.2)."""
EDGES = Schema("PerfGraph edges", ("nbytes", "extent_0", "extent_1", "extent_2", "extent_3"))
"""Features of an edge: e = sz ‖ sp, the size, then batch, channels, height and width."""
PARTS = 1e4
"""Factor of shares and of the density before the logarithm."""
STATISTICS = ("total", "mean", "median", "max")
GRAPH = Schema(
    "PerfGraph graph",
    (
        "nodes",
        "edges",
        "density",
        *(f"flop_{s}" for s in STATISTICS),
        *(f"access_bytes_{s}" for s in STATISTICS),
        *(f"weight_elements_{s}" for s in STATISTICS),
        "edge_bytes_mean",
        "whole_intensity",
        "batch",
    ),
)
"""Features of the graph: u = gp ‖ c ‖ m ‖ a ‖ b."""


def amounts(graph: ModelGraph, batch: float) -> dict[str, Array]:
    """Return the FLOP, the memory access in bytes and the elements of weights of every node."""
    facts = graph.ops.at(batch)
    return {
        "flop": 2 * facts["mac"] + facts["alu"] + facts["sfu"] + facts["integer"],
        "access_bytes": facts["read_bytes"] + facts["write_bytes"],
        "weight_elements": facts["weight_elements"],
    }


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return the logarithms of the columns of `NODES`, ``[nodes, columns]``."""
    table = amounts(graph, batch)
    intensity = table["flop"] / np.maximum(table["access_bytes"], 1.0)
    shares = [values / max(values.sum(), 1.0) for values in table.values()]
    sizes = np.log2(1 + np.stack([*table.values(), intensity], axis=1))
    hyper = logs(graph.ops.at(batch), HYPER_PARAMETERS)
    parts = np.log2(1 + PARTS * np.stack(shares, axis=1))
    return np.concatenate([hyper, sizes, parts], axis=1)


def edge_table(graph: ModelGraph, batch: float) -> Array:
    """Return the logarithms of the columns of `EDGES`, ``[edges, columns]``."""
    return logs(graph.ops.edges_at(batch), EDGES.columns)


def graph_vector(graph: ModelGraph, batch: float) -> list[float]:
    """Return the logarithms of the columns of `GRAPH`."""
    table = amounts(graph, batch)
    nodes, edges = len(graph.ops), graph.ops.edges.shape[1]
    # density: edges divided by ordered pairs of nodes
    numbers: list[float] = [nodes, edges, edges / max(nodes * (nodes - 1), 1)]
    # in the order of `GRAPH`
    for values in table.values():
        numbers += [values.sum(), values.mean(), float(np.median(values)), values.max()]
    carried = graph.ops.edges_at(batch)["nbytes"]
    intensity = table["flop"].sum() / max(table["access_bytes"].sum(), 1.0)
    numbers += [float(carried.mean()) if edges else 0.0, intensity, batch]
    scaled: list[float] = np.log2(1 + np.array(numbers)).tolist()
    # the density is below 1, so that its logarithm needs the factor
    scaled[2] = log2(1 + PARTS * numbers[2])
    return scaled


ENCODING = Encoding(NODES, node_table, GRAPH, graph_vector, EDGES, edge_table)


class FeatureGroup(Enum):
    """A group of features, which is a column of Table 1."""

    HYPER_PARAMETERS = HYPER_PARAMETERS
    COMPUTATION = ("flop",)
    MEMORY_ACCESS = ("access_bytes", "weight_elements")
    INTENSITY = ("intensity",)
    PROPORTIONS = ("flop_share", "access_share", "weight_share")
    EDGE_SIZE = ("nbytes",)
    EDGE_SHAPE = EDGES.columns[1:]
    PROFILE = ("nodes", "edges", "density")
    WHOLE_COMPUTATION = tuple(f"flop_{s}" for s in STATISTICS)
    WHOLE_MEMORY_ACCESS = (
        *(f"access_bytes_{s}" for s in STATISTICS),
        *(f"weight_elements_{s}" for s in STATISTICS),
        "edge_bytes_mean",
    )
    WHOLE_INTENSITY = ("whole_intensity",)
    BATCH = ("batch",)


def first_groups(count: int) -> Encoding:
    """Return the encoding with the first ``count`` groups, which is a line of Table 1."""
    names = {name for group in list(FeatureGroup)[:count] for name in group.value}
    nodes, edges, whole = (
        [i for i, name in enumerate(schema.columns) if name in names]
        for schema in (NODES, EDGES, GRAPH)
    )
    # None for a table without columns, for which the network has no layer
    return Encoding(
        part(NODES, nodes),
        lambda graph, batch: node_table(graph, batch)[:, nodes],
        part(GRAPH, whole),
        (lambda graph, batch: [graph_vector(graph, batch)[i] for i in whole]) if whole else None,
        part(EDGES, edges),
        (lambda graph, batch: edge_table(graph, batch)[:, edges]) if edges else None,
    )


def part(schema: Schema, columns: Sequence[int]) -> Schema:
    """Return a schema with some columns of another."""
    return Schema(schema.name, tuple(schema.columns[i] for i in columns))


def with_categories(*, is_frequency: bool) -> Encoding:
    """Return PerfGraph with the operator of a node, one-hot or by frequency (Section 4.2)."""
    if is_frequency:
        return replace(
            ENCODING,
            nodes=Schema(NODES.name, (*NODES.columns, "operator_share")),
            node_table=lambda graph, batch: np.concatenate(
                [node_table(graph, batch), frequencies(graph)], axis=1
            ),
        )
    return replace(
        ENCODING,
        nodes=Schema(NODES.name, (*NODES.columns, *indicators(VOCABULARY))),
        node_table=lambda graph, batch: np.concatenate(
            [node_table(graph, batch), one_hot(graph.ops.ops, VOCABULARY)], axis=1
        ),
    )


def frequencies(graph: ModelGraph) -> Array:
    """Return the share of nodes that have the operator of a node, for each node, ``[nodes, 1]``."""
    counts = Counter(graph.ops.ops)
    return np.array([[counts[op] / len(graph.ops)] for op in graph.ops.ops], np.float64)
