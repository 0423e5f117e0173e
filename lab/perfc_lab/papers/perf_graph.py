"""PerfGraph: PerfSeer's features of nodes, edges and the graph (Section 3.1).

SeerNet and MLP-Node read them, and Eagle those of nodes.
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
"""v = hp ‖ c ‖ m ‖ a ‖ p. Operators are not named: Section 4.2 found that their names do harm."""
EDGES = Schema("PerfGraph edges", ("nbytes", "extent_0", "extent_1", "extent_2", "extent_3"))
"""e = sz ‖ sp: size, then batch, channels, height, width."""
PARTS = 1e4
"""Shares and the density are counted in parts of ten thousand before the logarithm."""
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
"""u = gp ‖ c ‖ m ‖ a ‖ b."""


def amounts(graph: ModelGraph, batch: float) -> dict[str, Array]:
    """Return FLOP, memory access in bytes and elements of weights, of every node."""
    facts = graph.ops.at(batch)
    return {
        "flop": 2 * facts["mac"] + facts["alu"] + facts["sfu"] + facts["integer"],
        "access_bytes": facts["read_bytes"] + facts["write_bytes"],
        "weight_elements": facts["weight_elements"],
    }


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return ``[nodes, len(NODES)]``, all by their logarithm."""
    table = amounts(graph, batch)
    intensity = table["flop"] / np.maximum(table["access_bytes"], 1.0)
    shares = [values / max(values.sum(), 1.0) for values in table.values()]
    sizes = np.log2(1 + np.stack([*table.values(), intensity], axis=1))
    hyper = logs(graph.ops.at(batch), HYPER_PARAMETERS)
    parts = np.log2(1 + PARTS * np.stack(shares, axis=1))
    return np.concatenate([hyper, sizes, parts], axis=1)


def edge_table(graph: ModelGraph, batch: float) -> Array:
    """Return ``[edges, len(EDGES)]``."""
    return logs(graph.ops.edges_at(batch), EDGES.columns)


def graph_vector(graph: ModelGraph, batch: float) -> list[float]:
    """Return ``[len(GRAPH)]``."""
    table = amounts(graph, batch)
    nodes, edges = len(graph.ops), graph.ops.edges.shape[1]
    # density: edges over pairs of nodes
    numbers: list[float] = [nodes, edges, edges / max(nodes * (nodes - 1), 1)]
    # in the order of `GRAPH`
    for values in table.values():
        numbers += [values.sum(), values.mean(), float(np.median(values)), values.max()]
    carried = graph.ops.edges_at(batch)["nbytes"]
    intensity = table["flop"].sum() / max(table["access_bytes"].sum(), 1.0)
    numbers += [float(carried.mean()) if edges else 0.0, intensity, batch]
    scaled: list[float] = np.log2(1 + np.array(numbers)).tolist()
    # the density, which is below 1
    scaled[2] = log2(1 + PARTS * numbers[2])
    return scaled


ENCODING = Encoding(NODES, node_table, GRAPH, graph_vector, EDGES, edge_table)


class FeatureGroup(Enum):
    """A column of Table 1: features that are left out together."""

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
    """Return the inputs of a line of Table 1: groups of nodes, then edges, then the graph."""
    names = {name for group in list(FeatureGroup)[:count] for name in group.value}
    nodes, edges, whole = (
        [i for i, name in enumerate(schema.columns) if name in names]
        for schema in (NODES, EDGES, GRAPH)
    )
    # a table without columns is none, so that the network has no part for it
    return Encoding(
        part(NODES, nodes),
        lambda graph, batch: node_table(graph, batch)[:, nodes],
        part(GRAPH, whole),
        (lambda graph, batch: [graph_vector(graph, batch)[i] for i in whole]) if whole else None,
        part(EDGES, edges),
        (lambda graph, batch: edge_table(graph, batch)[:, edges]) if edges else None,
    )


def part(schema: Schema, columns: Sequence[int]) -> Schema:
    """Return some columns of a schema."""
    return Schema(schema.name, tuple(schema.columns[i] for i in columns))


def with_categories(*, is_frequency: bool) -> Encoding:
    """Return PerfGraph with a node's operator besides, one-hot or by frequency (Section 4.2)."""
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
    """Return for each node the share of nodes with the same operator, ``[nodes, 1]``."""
    counts = Counter(graph.ops.ops)
    return np.array([[counts[op] / len(graph.ops)] for op in graph.ops.ops], np.float64)
