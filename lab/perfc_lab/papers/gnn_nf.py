"""GNN-NF: NNLQP with further node features (Panner Selvam, thesis, Section 7.5.2).

It differs from `nnlqp` in the table of nodes alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.schema import Schema

from . import nnlqp
from .gnn_llm.descriptions import node_counts
from .networks.node_features import logs

# further features of a node
COUNTS = ("flop", "mac", "parameters")
NODES = Schema("GNN-NF nodes", (*nnlqp.NODES.columns, *COUNTS))


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return the features of the nodes, ``[nodes, 47]``."""
    counts = node_counts(graph, batch)
    return np.concatenate([nnlqp.node_table(graph, batch), logs(counts, COUNTS)], axis=1)


class GnnNf(nnlqp.Nnlqp):
    """NNLQP with FLOP, MACs and parameters of each node after its 44 numbers."""

    name: ClassVar[str] = "gnn-nf"
    title: ClassVar[str] = "GNN-NF (NNLQP with FLOP, MACs and parameters of each node)"
    encoding = replace(nnlqp.ENCODING, nodes=NODES, node_table=node_table)


PREDICTOR = GnnNf
