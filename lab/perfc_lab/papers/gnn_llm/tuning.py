"""Networks of stage 3, which learns latencies as text (Sections 7.4.3, 7.5.2).

`predictor` trains them with the loop of all networks.
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
"""Maximum tokens of an answer such as ``12.35 ms``, in which each digit is a token."""
PADDING = -1.0
"""Number that extends the tokens of a row's question to the length of the longest."""


class LatencyNetwork(GraphLanguageNetwork):
    """Network that writes the latency of a row as an answer to a question in words.

    Args:
        features: number of features of an operator.
        width: width of the encoder.
        readout: numbers of a graph that become tokens.
        model: language model.
        scale: scale of the latencies in a `Batch`.
        rates: learning rates: of encoder and projection, and of the language model.
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
        """Return the trained parameters, each with its share of the recipe's learning rate."""
        # the recipe has the rate of the graph's parts
        graph, language = self.rates
        return self.groups(1.0, language / graph)

    def row_loss(self, batch: Batch) -> Tensor:
        """Return the cross entropy of the answers with the measured latencies of a batch."""
        tokens, is_there = self.graph_tokens(batch)
        times = [self.scale.value(y) for y in batch.y.tolist()]
        answers = [self.model.ids(latency_text(t)) for t in times]
        return self.answer_loss(tokens, is_there, questions(batch), answers, batch.graph_of_row)

    def forward(self, batch: Batch) -> Tensor:
        """Return the scaled latencies of the rows, ``[rows]``.

        The mean of the training rows stands for an answer that is no latency.
        """
        tokens, is_there = self.graph_tokens(batch)
        written = self.answers(
            tokens, is_there, questions(batch), LONGEST_LATENCY, batch.graph_of_row
        )
        read = latencies(written)
        self.attempts += len(written)
        self.failed += read.failures
        usual_s = self.scale.value(0.0)  # the mean of training rows is 0 on the scale
        # NaN, which is not equal to itself, is an answer that could not be read
        scaled = [self.scale.scaled(t if t == t else usual_s) for t in read.time_s.tolist()]
        return torch.tensor(scaled, dtype=torch.float32, device=batch.x.device)


def questions(batch: Batch) -> list[list[int]]:
    """Return the ids of the tokens of each row's question, without padding."""
    return [[int(i) for i in row if i != PADDING] for row in batch.row.tolist()]


def written_loss(network: nn.Module, batch: Batch) -> Tensor:
    """Return the loss of a batch: of answers as text, or of numbers without a language model."""
    if isinstance(network, LatencyNetwork):
        return network.row_loss(batch)
    return nn.functional.huber_loss(network(batch), batch.y)


class GinLatency(nn.Module):
    """Network without a language model: a head reads the encoder's mean, the sums and the row.

    Args:
        features: number of features of an operator.
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
