"""The network that DIPPM, NNLQP and TraPPM share: messages, a sum over operators, a perceptron."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .batches import Batch
from .message_passing import pooled
from .network_predictor import head
from .row_features import ROW

PER = 100.0
"""Embeddings of operators are summed in hundreds, so that the sum of a usual graph is near 1."""
DROPOUT = 0.05


class SummedNetwork(nn.Module):
    """Layers of messages, a sum over operators beside the graph's vector, fully connected layers.

    Args:
        blocks: layers of messages; none for a network without a graph.
        whole: numbers of the graph's vector.
        width: of every layer, 512 in the papers.
        layers: fully connected ones.
    """

    def __init__(
        self, blocks: Iterable[nn.Module], whole: int, width: int, *, layers: int = 2
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.dropout = nn.Dropout(DROPOUT)
        read = (width if len(self.blocks) else 0) + whole + len(ROW)
        self.head = head(read, width, DROPOUT, layers)

    def forward(self, batch: Batch) -> Tensor:
        assert batch.u is not None
        parts, x = [batch.u], batch.x
        for block in self.blocks:
            x = self.dropout(torch.relu(block(x, batch.edge_index)))
        if len(self.blocks):
            parts.append(pooled(x, batch.graph_of_node, batch.graphs, "sum", batch.count) / PER)
        embedding = torch.cat(parts, dim=1)[batch.graph_of_row]
        out: Tensor = self.head(torch.cat([embedding, batch.row], dim=1))
        return out.squeeze(1)
