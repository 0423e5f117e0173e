"""From a graph's embedding to tokens of a language model (Eqs. 7.5 to 7.7, Section 7.7.5).

Its tokens stand in a prompt where words have embeddings.
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn

from ..operators import VOCABULARY
from .counts import DIGITS, KINDS, LAYOUT, OF_KIND, OF_TOTALS, SUMS

LEAST_SPREAD = 0.1
"""Minimum share of the mean deviation: columns that hardly differ are not made large."""
MOST_SPREADS = 5.0
"""Limit of standardised columns, so that an outlier is no direction alone."""
EMBEDDING_SPREAD = 0.02
"""Standard deviation of a word's embedding in a Llama that has learned nothing."""


class Readout(Enum):
    """Part of a graph that becomes a token."""

    NUMBERS = "numbers"
    """A token for the mean, and one for each kind of layer and each number of a summary."""
    SUMS = "sums"
    """The mean and the sums of what operators count: one token."""
    MEAN = "mean"
    """The mean of the operators' embeddings, as the thesis has it: one token."""


class GraphProjection(nn.Module):
    """``GraphToken = MLP_proj(g)``, Eq. 7.6.

    Args:
        graph: width of the encoder.
        language: width of a token.
        readout: what is projected.
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
                # what says which number it is: kind of operator, then the columns of `places`
                named = LAYOUT.numbers + len(VOCABULARY) + OF_KIND + KINDS
                # its logarithm, its digits and its name
                self.number = nn.Linear(1 + DIGITS + named, language)
                self.kind = nn.Linear(len(VOCABULARY) + KINDS, language)
                for layer in (self.number, self.kind):
                    # as long as embeddings of words are when a decoder begins
                    nn.init.normal_(layer.weight, std=EMBEDDING_SPREAD)
                    nn.init.zeros_(layer.bias)

    def settle(self, g: Tensor, sums: Tensor) -> None:
        """Set the mean and deviation that inputs are standardized with.

        Embeddings of different graphs are similar, so only the deviations carry information.

        Args:
            g: embeddings of training graphs, ``[graphs, width]``.
            sums: totals of the same graphs, ``[graphs, len(SUMS)]``.
        """
        for name, table in (("graph", g), ("sums", sums)):
            self.get_buffer(f"{name}_centre").copy_(table.mean(0))
            spread = table.std(0, unbiased=False)
            least = max(LEAST_SPREAD * float(spread.mean()), 1e-6)
            self.get_buffer(f"{name}_spread").copy_(spread.clamp_min(least))

    def _settled(self, name: str, table: Tensor) -> Tensor:
        """Return inputs standardised as `settle` set it, outliers cut."""
        centre, spread = (self.get_buffer(f"{name}_{what}") for what in ("centre", "spread"))
        return ((table - centre) / spread).clamp(-MOST_SPREADS, MOST_SPREADS)

    def forward(self, g: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens, ``[graphs, tokens, language]``, and which of them there are.

        Args:
            g: ``[graphs, width]``.
            sums: columns of `SUMS`, logarithms standardised, ``[graphs, len(SUMS)]``.
        """
        g = self._settled("graph", g)
        match self.readout:
            case Readout.MEAN:
                tokens = self.whole(g)[:, None]
            case Readout.SUMS:
                tokens = self.whole(torch.cat([g, self._settled("sums", sums)], dim=1))[:, None]
            case Readout.NUMBERS:
                return self._numbers(g, sums)
        return tokens, torch.ones(tokens.shape[:2], dtype=torch.long, device=g.device)

    def _numbers(self, g: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Return a token for the graph, then for kinds and numbers in the order of a summary."""
        graphs, count = len(g), LAYOUT.numbers
        digits = sums[:, LAYOUT.digits : LAYOUT.kinds].reshape(graphs, count, DIGITS)
        names = places(g.device).expand(graphs, count, -1)
        ops = sums[:, LAYOUT.kinds :].reshape(graphs, KINDS, len(VOCABULARY))
        # totals are of no kind of layer; the fields of a layer are of its kind
        of_totals = torch.zeros(graphs, OF_TOTALS, len(VOCABULARY), device=g.device)
        kind_of_number = torch.cat([of_totals, ops.repeat_interleave(OF_KIND, dim=1)], dim=1)
        numbers = self.number(
            torch.cat([sums[:, :count, None], digits, kind_of_number, names], dim=2)
        )
        place = torch.eye(KINDS, device=g.device).expand(graphs, KINDS, KINDS)
        kinds = self.kind(torch.cat([ops, place], dim=2))
        # every number has digits, zero too; a kind of layer that a graph lacks has none
        is_there = (digits.sum(2) > 0).long()
        tokens = _as_named(self.whole(g)[:, None], numbers, kinds[:, :, None])
        of_kinds = is_there[:, OF_TOTALS::OF_KIND, None]
        return tokens, _as_named(torch.ones_like(is_there[:, :1]), is_there, of_kinds)


def _as_named(whole: Tensor, numbers: Tensor, kinds: Tensor) -> Tensor:
    """Return tokens in order: the graph, its totals, then each kind of layer and its numbers.

    Args:
        whole: ``[graphs, 1, ...]``.
        numbers: ``[graphs, numbers, ...]``.
        kinds: ``[graphs, kinds, 1, ...]``.
    """
    graphs, rest = len(numbers), numbers.shape[2:]
    of_kinds = numbers[:, OF_TOTALS:].reshape(graphs, KINDS, OF_KIND, *rest)
    lines = torch.cat([kinds, of_kinds], dim=2).flatten(1, 2)
    return torch.cat([whole, numbers[:, :OF_TOTALS], lines], dim=1)


def places(device: torch.device) -> Tensor:
    """Return one-hot codes of each number of a summary: its place, field and kind of layer."""
    count = LAYOUT.numbers
    field = torch.zeros(count, OF_KIND, device=device)
    kind = torch.zeros(count, KINDS, device=device)
    for i in range(OF_TOTALS, count):
        k, f = divmod(i - OF_TOTALS, OF_KIND)
        field[i, f] = kind[i, k] = 1.0
    return torch.cat([torch.eye(count, device=device), field, kind], dim=1)


def projector(width_in: int, width_out: int) -> nn.Sequential:
    """Return two linear layers; the width of the inner one fits the weights of Table 7.3."""
    inner = min(2 * width_out, 2048)
    return nn.Sequential(nn.Linear(width_in, inner), nn.GELU(), nn.Linear(inner, width_out))
