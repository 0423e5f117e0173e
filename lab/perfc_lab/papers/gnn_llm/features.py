"""Inputs of the encoder: NNLQP's 44 numbers of each operator, and the vector of a graph's summary.

`chosen_names` divides the pool of graphs into those that stages 1 and 2 train on and those of
tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from perfc.analyzers.graph.model_graph import ModelGraph

from ...splitting import grouped
from .. import nnlqp
from ..networks.batches import GraphTensors, Standard
from ..networks.equal_nodes import merged
from ..networks.network_predictor import plain_indicators
from ..networks.node_features import Encoding
from .corpus import drawn_batch
from .counts import SUMS, graph_vector
from .graph_mae import LAYERS

HIDDEN = 1024
"""Hidden units of the encoder. Source: thesis, Table 7.7."""
NODES = nnlqp.NODES
ENCODING = Encoding(NODES, nnlqp.node_table, SUMS, graph_vector)
FILES = "file"
"""Kind of the unlabelled graphs that are model files; measured rows may be of the same models."""
UNSEEN = 32
"""Number of graphs of the pool for tests, which stages 1 and 2 do not train on."""


class GraphFeatures:
    """Function that returns the standardised features of a graph at a batch size.

    Args:
        nodes: standard of the operators' columns.
        sums: standard of the columns `SUMS` of a graph.
    """

    def __init__(self, nodes: Standard, sums: Standard) -> None:
        self.nodes, self.sums = nodes, sums

    @classmethod
    def of(cls, graphs: Mapping[str, ModelGraph], names: Sequence[str]) -> GraphFeatures:
        """Return the features with the means and deviations of some graphs."""
        tables = [node_tensor(graphs[n], drawn_batch(n)) for n in names]
        sums = [torch.tensor(graph_vector(graphs[n], drawn_batch(n))) for n in names]
        return cls(
            plain_indicators(Standard.of(tables), NODES),
            plain_indicators(Standard.of([torch.stack(sums)]), SUMS),
        )

    def raw(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return a graph for stage 1: no sums, and equal operators not merged, as it hides some."""
        edges = torch.from_numpy(graph.ops.edges)
        return GraphTensors(self.nodes(node_tensor(graph, batch)), edges)

    def __call__(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return a graph with its sums, and with equal operators merged."""
        sums = self.sums(torch.tensor(graph_vector(graph, batch), dtype=torch.float32))
        tensors = merged(self.raw(graph, batch), LAYERS)
        return GraphTensors(tensors.x, tensors.edge_index, None, sums, tensors.count)


def node_tensor(graph: ModelGraph, batch: float) -> torch.Tensor:
    """Return the features of the operators, ``[nodes, 44]``."""
    return torch.from_numpy(np.asarray(nnlqp.node_table(graph, batch))).float()


def chosen_names(names: Sequence[str], most: int, seed: int) -> tuple[list[str], list[str]]:
    """Return names of at most ``most`` graphs for training, and names of others for tests.

    Both have graphs of all kinds in equal numbers; the kind of a graph is its name up to the first
    dot. Model files are left out, as rows of other data sets may be measured on them.
    """
    import random

    kinds = grouped(sorted(names), lambda name: name.split(".")[0])
    kinds.pop(FILES, None)
    draw = random.Random(seed)
    for members in kinds.values():
        draw.shuffle(members)
    # one graph of each kind in turn, so that any first part has all kinds
    in_turn = [
        m[i]
        for i in range(max(map(len, kinds.values()), default=0))
        for m in kinds.values()
        if i < len(m)
    ]
    # at most a quarter of a small pool is for tests
    unseen = min(UNSEEN, len(in_turn) // 4)
    return in_turn[unseen : unseen + most], in_turn[:unseen]
