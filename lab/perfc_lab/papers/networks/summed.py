"""The network that DIPPM, NNLQP and TraPPM share: messages, a sum over operators, a perceptron.

Predictors differ in layers of messages, in what a node is, and in the number of outputs.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .batches import Batch
from .message_passing import pooled
from .network_predictor import head
from .row_features import ROW

PER = 100.0
"""Our embeddings are summed in hundreds of operators, so that a usual graph's sum is near 1."""
DROPOUT = 0.05
"""Dropout of the layers. Source: thesis, Table 4.3 and Section 5.4.3."""


class SummedNetwork(nn.Module):
    """Layers of messages, a sum over operators with the graph's vector, fully connected layers.

    Args:
        blocks: layers of messages; none for a network without a graph.
        whole: numbers of the graph's vector.
        width: width of every layer, 512 in the papers.
        layers: fully connected ones.
        per: divisor of the sum over operators; 1 in the papers.
        outputs: numbers a row.
        dropped: layers of messages between two dropouts; those of a block in DIPPM's program.
    """

    def __init__(
        self,
        blocks: Iterable[nn.Module],
        whole: int,
        width: int,
        *,
        layers: int = 2,
        per: float = PER,
        outputs: int = 1,
        dropped: int = 1,
    ) -> None:
        super().__init__()
        self.per, self.dropped = per, dropped
        self.blocks = nn.ModuleList(blocks)
        self.dropout = nn.Dropout(DROPOUT)
        read = (width if len(self.blocks) else 0) + whole + len(ROW)
        self.head = head(read, width, DROPOUT, layers, outputs)

    def forward(self, batch: Batch) -> Tensor:
        return self.every(batch).squeeze(1)

    def every(self, batch: Batch) -> Tensor:
        """Return ``[rows, outputs]``."""
        assert batch.u is not None
        parts, x = [batch.u], batch.x
        for i, block in enumerate(self.blocks, 1):
            x = torch.relu(block(x, batch.edge_index))
            x = x if i % self.dropped else self.dropout(x)  # after every `dropped`-th layer
        if len(self.blocks):
            total = pooled(x, batch.graph_of_node, batch.graphs, "sum", batch.count)
            parts.append(total / self.per)
        embedding = torch.cat(parts, dim=1)[batch.graph_of_row]
        out: Tensor = self.head(torch.cat([embedding, batch.row], dim=1))
        return out
