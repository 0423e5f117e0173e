"""TraPPM's static features of a graph (thesis, Section 5.4.3).

They are logarithms of the batch, of counts of nodes and edges, and of sums over operators. TraPPM's
baselines read nothing else of a graph.
"""

from __future__ import annotations

from functools import lru_cache
from math import log2

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.schema import Schema

STATIC = Schema("TraPPM static", ("batch", "nodes", "edges", "mac", "parameters", "memory"))
"""``F_s`` of Section 5.4.3."""


@lru_cache(16_384)
def static_features(graph: ModelGraph, batch: float) -> tuple[float, ...]:
    """Return the columns of `STATIC`; memory is the bytes that all operators read and write."""
    facts = graph.ops.at(batch)
    memory = float((facts["read_bytes"] + facts["write_bytes"]).sum())
    numbers = (
        batch,
        len(graph.ops),
        graph.ops.edges.shape[1],
        float(facts["mac"].sum()),
        graph.ops.whole_at(batch)["parameters"],
        memory,
    )
    return tuple(log2(1 + n) for n in numbers)
