"""From a graph's embedding to tokens of a language model (Eqs. 7.5 to 7.7, Section 7.7.5)."""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn

from ..operators import VOCABULARY
from .counts import DIGITS, KINDS, LAYOUT, OF_KIND, OF_TOTALS, SUMS


class Readout(Enum):
    """What of a graph becomes a token."""

    MEAN = "mean"
    """The mean of the operators' embeddings, as the thesis has it: one token."""
    SUMS = "sums"
    """The same beside the sums of what operators count: one token."""
    KINDS = "kinds"
    """A token for the graph and one for each kind of layer, each with its sums."""


class Projection(nn.Module):
    """``GraphToken = MLP_proj(g)``, Eq. 7.6.

    Args:
        graph: width of the encoder.
        language: width of a token.
        readout: what is projected.
    """

    def __init__(self, graph: int, language: int, readout: Readout) -> None:
        super().__init__()
        self.readout = readout
        numbers = 1 + DIGITS
        match readout:
            case Readout.MEAN:
                self.whole = projector(graph, language)
            case Readout.SUMS:
                self.whole = projector(graph + len(SUMS), language)
            case Readout.KINDS:
                self.whole = projector(graph + OF_TOTALS * numbers, language)
                self.kind = projector(graph + len(VOCABULARY) + OF_KIND * numbers + KINDS, language)

    def forward(self, g: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens, ``[graphs, tokens, language]``, and which of them there are.

        Args:
            g: ``[graphs, width]``.
            sums: columns of `SUMS`, logarithms standardised, ``[graphs, len(SUMS)]``.
        """
        match self.readout:
            case Readout.MEAN:
                tokens = self.whole(g)[:, None]
            case Readout.SUMS:
                tokens = self.whole(torch.cat([g, sums], dim=1))[:, None]
            case Readout.KINDS:
                return self._kinds(g, sums)
        return tokens, torch.ones(tokens.shape[:2], dtype=torch.long, device=g.device)

    def _kinds(self, g: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        graphs = len(g)
        logs = sums[:, : LAYOUT.numbers]
        digits = sums[:, LAYOUT.digits : LAYOUT.kinds].reshape(graphs, LAYOUT.numbers, DIGITS)
        shown = torch.cat([logs[:, :, None], digits], dim=2)
        ops = sums[:, LAYOUT.kinds :].reshape(graphs, KINDS, len(VOCABULARY))
        totals = self.whole(torch.cat([g, shown[:, :OF_TOTALS].reshape(graphs, -1)], dim=1))
        place = torch.eye(KINDS, device=g.device).expand(graphs, KINDS, KINDS)
        of_kind = shown[:, OF_TOTALS:].reshape(graphs, KINDS, -1)
        each = torch.cat([g[:, None].expand(-1, KINDS, -1), ops, of_kind, place], dim=2)
        tokens = torch.cat([totals[:, None], self.kind(each)], dim=1)
        is_there = (digits[:, OF_TOTALS::OF_KIND].sum(2) > 0).long()
        return tokens, torch.cat([torch.ones_like(is_there[:, :1]), is_there], dim=1)


def projector(width_in: int, width_out: int) -> nn.Sequential:
    """Two linear layers, the inner one twice as wide as a token, as ``|GraphToken| > |g|`` asks."""
    inner = 2 * width_out
    return nn.Sequential(nn.Linear(width_in, inner), nn.GELU(), nn.Linear(inner, width_out))
