"""Stage 3: encoder, projection and language model learn latency as text (Sections 7.4.3, 7.5.2).

`predictor` trains these networks with the loop of all networks.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..networks.batches import Batch, Scale
from ..networks.message_passing import pooled
from ..networks.network_predictor import head
from ..networks.row_features import ROW
from .counts import SUMS
from .graph_mae import GinEncoder
from .language_model import CausalLanguageModel
from .network import GraphLanguageNetwork
from .numbers import latencies, latency_text
from .projection import Readout

LONGEST_LATENCY = 14
"""Maximum tokens of an answer, such as ``12.35 ms``."""
PADDING = -1.0
"""Fills a row's question to the length of the longest."""


class LatencyNetwork(GraphLanguageNetwork):
    """Gives the latency of rows that are described in words.

    Args:
        features: features of an operator.
        width: width of the encoder.
        readout: what is projected.
        model: language model.
        scale: scale of latencies in a batch.
        rates: rates of graph and language model.
        has_graph: whether the graph's tokens are read.
    """

    def __init__(
        self,
        features: int,
        width: int,
        readout: Readout,
        model: CausalLanguageModel,
        scale: Scale,
        rates: tuple[float, float],
        *,
        has_graph: bool = True,
    ) -> None:
        super().__init__(features, width, readout, model, has_graph=has_graph)
        self.scale = scale
        self.rates = rates
        self.attempts, self.failed = 0, 0

    def rated_groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """Return the trained parameters with their share of the recipe's rate, the graph's."""
        graph, language = self.rates
        return self.groups(1.0, language / graph)

    def row_loss(self, batch: Batch) -> Tensor:
        """Return the cross entropy of the measured latencies of a batch, as text."""
        tokens, is_there = self.graph_tokens(batch)
        times = [self.scale.value(y) for y in batch.y.tolist()]
        answers = [self.model.ids(latency_text(t)) for t in times]
        return self.answer_loss(tokens, is_there, questions(batch), answers, batch.graph_of_row)

    def forward(self, batch: Batch) -> Tensor:
        """Return the latencies of the rows, ``[rows]``, scaled.

        An answer that is none counts as the mean.
        """
        tokens, is_there = self.graph_tokens(batch)
        written = self.answers(
            tokens, is_there, questions(batch), LONGEST_LATENCY, batch.graph_of_row
        )
        read = latencies(written)
        self.attempts += len(written)
        self.failed += read.failures
        usual_s = self.scale.value(0.0)  # the mean of the rows trained on, scaled, is 0
        # NaN is an answer that could not be read
        scaled = [self.scale.scaled(t if t == t else usual_s) for t in read.time_s.tolist()]
        return torch.tensor(scaled, dtype=torch.float32, device=batch.x.device)


def questions(batch: Batch) -> list[list[int]]:
    """Return the tokens that each row's question was written in."""
    return [[int(i) for i in row if i != PADDING] for row in batch.row.tolist()]


def written_loss(network: nn.Module, batch: Batch) -> Tensor:
    """Return the loss of a batch: of the answer's text, or of a number where there is no text."""
    if isinstance(network, LatencyNetwork):
        return network.row_loss(batch)
    return nn.functional.huber_loss(network(batch), batch.y)


class GinLatency(nn.Module):
    """The encoder alone: mean and sums of a graph, the row, two fully connected layers.

    Args:
        features: features of an operator.
        width: width of every layer.
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.encoder = GinEncoder(features, width)
        self.head = head(width + len(SUMS) + len(ROW), width)

    def forward(self, batch: Batch) -> Tensor:
        assert batch.u is not None
        h = self.encoder(batch.x, batch.edge_index)
        mean = pooled(h, batch.graph_of_node, batch.graphs, "mean", batch.count)
        of_graph = torch.cat([mean, batch.u], dim=1)[batch.graph_of_row]
        out: Tensor = self.head(torch.cat([of_graph, batch.row], dim=1))
        return out.squeeze(1)
