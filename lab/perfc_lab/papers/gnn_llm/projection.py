"""Project a graph to tokens of a language model (Eqs. 7.5 to 7.7, Section 7.7.5).

A token is a vector that takes the place of a word's embedding in the prompt. The columns `SUMS` of
a graph are the logarithms of its numbers, then their digits as indicators, then its kinds of layers
as indicators (`counts`).
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn

from ..operators import VOCABULARY
from .counts import DIGITS, KINDS, LAYOUT, OF_KIND, OF_TOTALS, SUMS

LEAST_SPREAD = 0.1
"""Minimum deviation of a column, as a share of the mean deviation: columns that hardly vary are not
enlarged."""
MOST_SPREADS = 5.0
"""Limit of the absolute value of standardised inputs, so that an outlier does not outweigh all
others."""
EMBEDDING_SPREAD = 0.02
"""Standard deviation of the elements of a word's embedding in an untrained Llama."""


class Readout(Enum):
    """Numbers of a graph that become tokens."""

    NUMBERS = "numbers"
    """One token for the mean of the embeddings, one for each number and each kind of layer."""
    SUMS = "sums"
    """One token for the mean of the embeddings and the columns `SUMS`."""
    MEAN = "mean"
    """One token for the mean of the operators' embeddings, as in the thesis."""


class GraphProjection(nn.Module):
    """Projection to tokens: ``GraphToken = MLP_proj(g)``, Eq. 7.6.

    Args:
        graph: width of the encoder.
        language: width of a token.
        readout: numbers of a graph that become tokens.
    """

    def __init__(self, graph: int, language: int, readout: Readout) -> None:
        super().__init__()
        self.readout = readout
        for name, columns in (("graph", graph), ("sums", len(SUMS))):
            self.register_buffer(f"{name}_centre", torch.zeros(columns))
            self.register_buffer(f"{name}_spread", torch.ones(columns))
        match readout:
            case Readout.MEAN:
                self.whole = projector(graph, language)
            case Readout.SUMS:
                self.whole = projector(graph + len(SUMS), language)
            case Readout.NUMBERS:
                self.whole = projector(graph, language)
                # columns that identify a number: kind of layer, then those of `places`
                named = LAYOUT.numbers + len(VOCABULARY) + OF_KIND + KINDS
                # inputs: logarithm of the number, its digits, and the columns that identify it
                self.number = nn.Linear(1 + DIGITS + named, language)
                self.kind = nn.Linear(len(VOCABULARY) + KINDS, language)
                for layer in (self.number, self.kind):
                    # tokens begin with the size of an untrained decoder's embeddings
                    nn.init.normal_(layer.weight, std=EMBEDDING_SPREAD)
                    nn.init.zeros_(layer.bias)

    def settle(self, g: Tensor, sums: Tensor) -> None:
        """Set the mean and deviation that inputs are standardised with.

        Embeddings of graphs are similar, so that their information is in the small deviations.

        Args:
            g: embeddings of training graphs, ``[graphs, width]``.
            sums: columns `SUMS` of the same graphs, ``[graphs, len(SUMS)]``.
        """
        for name, table in (("graph", g), ("sums", sums)):
            self.get_buffer(f"{name}_centre").copy_(table.mean(0))
            spread = table.std(0, unbiased=False)
            least = max(LEAST_SPREAD * float(spread.mean()), 1e-6)
            self.get_buffer(f"{name}_spread").copy_(spread.clamp_min(least))

    def _settled(self, name: str, table: Tensor) -> Tensor:
        """Return inputs standardised by the numbers that `settle` set, with outliers clipped."""
        centre, spread = (self.get_buffer(f"{name}_{what}") for what in ("centre", "spread"))
        return ((table - centre) / spread).clamp(-MOST_SPREADS, MOST_SPREADS)

    def forward(self, g: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens, ``[graphs, tokens, language]``, and a mask of those that a graph has.

        Args:
            g: embeddings of the graphs, ``[graphs, width]``.
            sums: columns `SUMS`, ``[graphs, len(SUMS)]``. `GraphFeatures` has standardised the
                logarithms; indicators are 0 or 1.
        """
        g = self._settled("graph", g)
        match self.readout:
            case Readout.MEAN:
                tokens = self.whole(g)[:, None]
            case Readout.SUMS:
                # standardised once more, as a perceptron reads indicators and logarithms together
                tokens = self.whole(torch.cat([g, self._settled("sums", sums)], dim=1))[:, None]
            case Readout.NUMBERS:
                return self._numbers(g, sums)
        return tokens, torch.ones(tokens.shape[:2], dtype=torch.long, device=g.device)

    def _numbers(self, g: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens of `Readout.NUMBERS` and their mask, in the order of a summary."""
        graphs, count = len(g), LAYOUT.numbers
        digits = sums[:, LAYOUT.digits : LAYOUT.kinds].reshape(graphs, count, DIGITS)
        names = places(g.device).expand(graphs, count, -1)
        ops = sums[:, LAYOUT.kinds :].reshape(graphs, KINDS, len(VOCABULARY))
        # kind of layer of each number: none for totals, that of the layer for its fields
        of_totals = torch.zeros(graphs, OF_TOTALS, len(VOCABULARY), device=g.device)
        kind_of_number = torch.cat([of_totals, ops.repeat_interleave(OF_KIND, dim=1)], dim=1)
        numbers = self.number(
            torch.cat([sums[:, :count, None], digits, kind_of_number, names], dim=2)
        )
        place = torch.eye(KINDS, device=g.device).expand(graphs, KINDS, KINDS)
        kinds = self.kind(torch.cat([ops, place], dim=2))
        # a number of the graph has digits, also 0; numbers of kinds that the graph lacks have none
        is_there = (digits.sum(2) > 0).long()
        tokens = _as_named(self.whole(g)[:, None], numbers, kinds[:, :, None])
        of_kinds = is_there[:, OF_TOTALS::OF_KIND, None]
        return tokens, _as_named(torch.ones_like(is_there[:, :1]), is_there, of_kinds)


def _as_named(whole: Tensor, numbers: Tensor, kinds: Tensor) -> Tensor:
    """Return tokens in order: the graph, its totals, then each kind of layer and its numbers.

    Args:
        whole: token or mask of the graph, ``[graphs, 1, ...]``.
        numbers: those of the numbers, ``[graphs, numbers, ...]``.
        kinds: those of the kinds of layers, ``[graphs, kinds, 1, ...]``.
    """
    graphs, rest = len(numbers), numbers.shape[2:]
    of_kinds = numbers[:, OF_TOTALS:].reshape(graphs, KINDS, OF_KIND, *rest)
    lines = torch.cat([kinds, of_kinds], dim=2).flatten(1, 2)
    return torch.cat([whole, numbers[:, :OF_TOTALS], lines], dim=1)


def places(device: torch.device) -> Tensor:
    """Return one-hot codes of each number of a summary: position, field and place of the layer."""
    count = LAYOUT.numbers
    field = torch.zeros(count, OF_KIND, device=device)
    kind = torch.zeros(count, KINDS, device=device)
    for i in range(OF_TOTALS, count):
        k, f = divmod(i - OF_TOTALS, OF_KIND)
        field[i, f] = kind[i, k] = 1.0
    return torch.cat([torch.eye(count, device=device), field, kind], dim=1)


def projector(width_in: int, width_out: int) -> nn.Sequential:
    """Return two linear layers with GELU between them."""
    # of Llama-3-8B, 4,096 wide, 2,048 result in the 24 million weights of Table 7.3 at rank 8; a
    # small decoder has twice its width
    inner = min(2 * width_out, 2048)
    return nn.Sequential(nn.Linear(width_in, inner), nn.GELU(), nn.Linear(inner, width_out))
