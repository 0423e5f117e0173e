"""MLP-Node: fully connected layers on the features of all nodes (PerfSeer's baseline, Section 4.3).

It does not read the edges. The first of its three layers reads a fixed number of nodes, in order.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from . import perf_graph
from .networks.batches import Batch
from .networks.network_predictor import NetworkPredictor, head, squared
from .networks.node_features import Encoding
from .networks.row_features import ROW
from .networks.train import Loss
from .seernet import SeerNet

MOST_NODES = 512
"""Number of nodes that are read: further ones are left out, and zeros stand for missing ones. The
paper does not state its number."""


def in_a_row(x: Tensor, graph_of_node: Tensor, graphs: int, most: int) -> Tensor:
    """Return the first ``most`` nodes of each graph, joined, ``[graphs, most · features]``."""
    lengths = torch.bincount(graph_of_node, minlength=graphs)
    # nodes of a graph follow each other: position in the batch less that of the first node
    starts = torch.cumsum(lengths, 0) - lengths
    position = torch.arange(len(x), device=x.device) - starts[graph_of_node]
    fits = position < most
    padded = torch.zeros(graphs, most, x.shape[1], dtype=x.dtype, device=x.device)
    padded[graph_of_node[fits], position[fits]] = x[fits]
    return padded.reshape(graphs, -1)


class MlpNodeNetwork(nn.Module):
    """A layer on the joined nodes, and two on its result, the graph's vector and the row.

    Args:
        node: number of features of a node.
        whole: length of the graph's vector.
        width: width of the layers.
    """

    def __init__(self, node: int, whole: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(MOST_NODES * node, width)
        self.head = head(width + whole + len(ROW), width)

    def forward(self, batch: Batch) -> Tensor:
        assert batch.u is not None
        x = torch.relu(self.first(in_a_row(batch.x, batch.graph_of_node, batch.graphs, MOST_NODES)))
        embedding = torch.cat([x, batch.u], dim=1)[batch.graph_of_row]
        out: Tensor = self.head(torch.cat([embedding, batch.row], dim=1))
        return out.squeeze(1)


class MlpNode(NetworkPredictor):
    """MLP-Node with PerfGraph's features of nodes and of the graph, and the training of SeerNet."""

    name: ClassVar[str] = "mlp-node"
    title: ClassVar[str] = "MLP-Node (baseline of PerfSeer, 2025)"
    hidden: ClassVar[int] = 512
    recipe, ours = SeerNet.recipe, SeerNet.ours
    loss: ClassVar[Loss] = staticmethod(squared)
    encoding = Encoding(
        perf_graph.NODES, perf_graph.node_table, perf_graph.GRAPH, perf_graph.graph_vector
    )

    def network(self) -> nn.Module:
        return MlpNodeNetwork(len(perf_graph.NODES), len(perf_graph.GRAPH), self.width)


PREDICTOR = MlpNode
