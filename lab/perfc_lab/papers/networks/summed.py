"""The network that DIPPM, NNLQP and TraPPM share: message passing, a sum over operators, a head.

The predictors differ in the layers of message passing, in the features of a node, and in the number
of outputs.
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
"""Divisor of the sum over operators, which the papers lack: a usual graph has hundreds of
operators, and its sum is then near 1."""
DROPOUT = 0.05
"""Share of features that dropout sets to 0. Source: thesis, Table 4.3 and Section 5.4.3."""


class SummedNetwork(nn.Module):
    """Layers of message passing, a sum over operators, and fully connected layers.

    The latter read the sum, the graph's vector and the features of the row.

    Args:
        blocks: layers of message passing; none for a network that reads only the graph's vector.
        whole: length of the graph's vector.
        width: width of every layer, 512 in the papers.
        layers: number of fully connected layers.
        per: divisor of the sum over operators; 1 in the papers.
        outputs: numbers per row.
        dropped: dropout follows every so many layers; in DIPPM's program, the layers of a block.
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
        """Return all outputs, ``[rows, outputs]``."""
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
