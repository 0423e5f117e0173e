"""Inputs of the encoder: NNLQP's 44 numbers an operator, and sums over operators.

Also chooses the graphs of the pool that stages 1 and 2 train on and test with.
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
"""Units of Table 7.7."""
NODES = nnlqp.NODES
ENCODING = Encoding(NODES, nnlqp.node_table, SUMS, graph_vector)
FILES = "file"
"""Kind of the unlabelled graphs that come from model files, which rows may be measured on."""
UNSEEN = 32
"""Graphs of the pool that stages 1 and 2 never see."""


class GraphFeatures:
    """Features of a graph at a batch, standardised.

    Args:
        nodes: standard of the operators' columns.
        sums: standard of the sums over a graph.
    """

    def __init__(self, nodes: Standard, sums: Standard) -> None:
        self.nodes, self.sums = nodes, sums

    @classmethod
    def of(cls, graphs: Mapping[str, ModelGraph], names: Sequence[str]) -> GraphFeatures:
        """Return the standards of some graphs."""
        tables = [node_tensor(graphs[n], drawn_batch(n)) for n in names]
        sums = [torch.tensor(graph_vector(graphs[n], drawn_batch(n))) for n in names]
        return cls(
            plain_indicators(Standard.of(tables), NODES),
            plain_indicators(Standard.of([torch.stack(sums)]), SUMS),
        )

    def raw(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return every operator once, without sums: stage 1 hides and restores single ones."""
        edges = torch.from_numpy(graph.ops.edges)
        return GraphTensors(self.nodes(node_tensor(graph, batch)), edges)

    def __call__(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return operators that the encoder cannot distinguish once, and the sums."""
        sums = self.sums(torch.tensor(graph_vector(graph, batch), dtype=torch.float32))
        tensors = merged(self.raw(graph, batch), LAYERS)
        return GraphTensors(tensors.x, tensors.edge_index, None, sums, tensors.count)


def node_tensor(graph: ModelGraph, batch: float) -> torch.Tensor:
    """Return ``[nodes, 44]``."""
    return torch.from_numpy(np.asarray(nnlqp.node_table(graph, batch))).float()


def chosen_names(names: Sequence[str], most: int, seed: int) -> tuple[list[str], list[str]]:
    """Return names of graphs for training, as many of each kind, and others for tests.

    Graphs of model files are left out: rows of other data sets may be measured on them. The kind
    of a graph is its name up to the first dot.
    """
    import random

    kinds = grouped(sorted(names), lambda name: name.split(".")[0])
    kinds.pop(FILES, None)
    draw = random.Random(seed)
    for members in kinds.values():
        draw.shuffle(members)
    # one graph of each kind in turn, so that every prefix holds all kinds
    in_turn = [
        m[i]
        for i in range(max(map(len, kinds.values()), default=0))
        for m in kinds.values()
        if i < len(m)
    ]
    # a small pool gives at most a quarter to tests
    unseen = min(UNSEEN, len(in_turn) // 4)
    return in_turn[unseen : unseen + most], in_turn[:unseen]
