"""From a graph's embedding to tokens of a language model (Eqs. 7.5 to 7.7, Section 7.7.5)."""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn

from ..operators import VOCABULARY
from .counts import DIGITS, KINDS, LAYOUT, MAGNITUDES, OF_KIND, OF_TOTALS, SUMS
from .numbers import COUNT_DIGITS

LEAST_SPREAD = 0.1
"""Of the mean deviation: columns that hardly differ are not made large."""
MOST_SPREADS = 5.0


class Readout(Enum):
    """What of a graph becomes a token."""

    NUMBERS = "numbers"
    """A token for the mean, and one for each kind of layer and each digit of a summary."""
    SUMS = "sums"
    """The mean beside the sums of what operators count: one token."""
    MEAN = "mean"
    """The mean of the operators' embeddings, as the thesis has it: one token."""


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
                named = LAYOUT.numbers + len(VOCABULARY) + OF_KIND + KINDS
                self.digit = nn.Linear(10 + COUNT_DIGITS + 1 + MAGNITUDES + named, language)
                self.kind = nn.Linear(len(VOCABULARY) + KINDS, language)

    def begin(self, digits: Tensor, names: Tensor) -> None:
        """Begin from the language model's own embeddings, so that copying is little to learn.

        Args:
            digits: ``[10, language]``.
            names: of the kinds of layer, ``[len(VOCABULARY), language]``.
        """
        spread = float(digits.std())
        # what digits have in common says nothing of a number
        digits = digits - digits.mean(0)
        digits = digits * (spread / max(float(digits.std()), 1e-6))
        for layer in (self.digit, self.kind):
            nn.init.normal_(layer.weight, std=spread)
            nn.init.zeros_(layer.bias)
        named = 10 + COUNT_DIGITS + 1 + MAGNITUDES
        with torch.no_grad():
            self.digit.weight[:, :10] = digits.T
            self.digit.weight[:, named : named + len(names)] = names.T
            self.kind.weight[:, : len(names)] = names.T

    def settle(self, g: Tensor, sums: Tensor) -> None:
        """Take from some graphs what is usual, so that tokens say how one graph differs.

        Means over operators of ReLU-like units have much in common; one-hot columns too.

        Args:
            g: ``[graphs, width]``, of graphs that are trained on.
            sums: ``[graphs, len(SUMS)]`` of the same.
        """
        for name, table in (("graph", g), ("sums", sums)):
            self.get_buffer(f"{name}_centre").copy_(table.mean(0))
            spread = table.std(0, unbiased=False)
            least = max(LEAST_SPREAD * float(spread.mean()), 1e-6)
            self.get_buffer(f"{name}_spread").copy_(spread.clamp_min(least))

    def _settled(self, name: str, table: Tensor) -> Tensor:
        centre, spread = (self.get_buffer(f"{name}_{what}") for what in ("centre", "spread"))
        return ((table - centre) / spread).clamp(-MOST_SPREADS, MOST_SPREADS)

    def forward(self, g: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens, ``[graphs, tokens, language]``, and which of them there are.

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
        """The graph, then kinds and digits of numbers as a summary names them."""
        graphs, count = len(g), LAYOUT.numbers
        known = sums[:, LAYOUT.digits : LAYOUT.kinds].reshape(graphs, count, DIGITS)
        digits = known[:, :, : 10 * COUNT_DIGITS].reshape(graphs, count, COUNT_DIGITS, 10)
        names = places(g.device).expand(graphs, count, -1)
        ops = sums[:, LAYOUT.kinds :].reshape(graphs, KINDS, len(VOCABULARY))
        of_totals = torch.zeros(graphs, OF_TOTALS, len(VOCABULARY), device=g.device)
        of = torch.cat([of_totals, ops.repeat_interleave(OF_KIND, dim=1)], dim=1)
        of_number = [sums[:, :count, None], known[:, :, 10 * COUNT_DIGITS :], of, names]
        shared = torch.cat(of_number, dim=2)[:, :, None].expand(-1, -1, COUNT_DIGITS, -1)
        place = torch.eye(COUNT_DIGITS, device=g.device).expand(graphs, count, -1, -1)
        each = self.digit(torch.cat([digits, place, shared], dim=3))
        rank = torch.eye(KINDS, device=g.device).expand(graphs, KINDS, KINDS)
        kinds = self.kind(torch.cat([ops, rank], dim=2))
        is_there = is_written(known).long()
        tokens = _as_named(self.whole(g)[:, None], each, kinds[:, :, None])
        of_kinds = is_there[:, OF_TOTALS::OF_KIND, :1]
        return tokens, _as_named(torch.ones_like(is_there[:, 0, :1]), is_there, of_kinds)


def is_written(known: Tensor) -> Tensor:
    """Which of its three digits a summary writes of each number, ``[graphs, numbers, 3]``.

    Args:
        known: columns of `counts.digits`, ``[graphs, numbers, DIGITS]``.
    """
    length = known[:, :, 10 * COUNT_DIGITS :].argmax(2, keepdim=True) + 1
    place = torch.arange(COUNT_DIGITS, device=known.device)
    is_zero = known[:, :, : 10 * COUNT_DIGITS : 10] > 0
    # zeros behind the point are left out, but for those that another digit follows
    is_rest = is_zero.flip(2).cumprod(2).flip(2) > 0
    before_point = (length - 1) % 3 + 1
    is_number = known.sum(2, keepdim=True) > 0
    found: Tensor = is_number & (place < length) & ((place < before_point) | ~is_rest)
    return found


def _as_named(whole: Tensor, digits: Tensor, kinds: Tensor) -> Tensor:
    """The graph's, totals, and of each kind of layer its name before its numbers.

    Args:
        whole: ``[graphs, 1, ...]``.
        digits: ``[graphs, numbers, digits, ...]``.
        kinds: ``[graphs, kinds, 1, ...]``.
    """
    graphs, rest = len(digits), digits.shape[3:]
    of_kinds = digits[:, OF_TOTALS:].reshape(graphs, KINDS, OF_KIND * COUNT_DIGITS, *rest)
    lines = torch.cat([kinds, of_kinds], dim=2).flatten(1, 2)
    return torch.cat([whole, digits[:, :OF_TOTALS].flatten(1, 2), lines], dim=1)


def places(device: torch.device) -> Tensor:
    """Which number of a summary each is: by itself, by its field and by its kind of layer."""
    count = LAYOUT.numbers
    field = torch.zeros(count, OF_KIND, device=device)
    kind = torch.zeros(count, KINDS, device=device)
    for i in range(OF_TOTALS, count):
        k, f = divmod(i - OF_TOTALS, OF_KIND)
        field[i, f] = kind[i, k] = 1.0
    return torch.cat([torch.eye(count, device=device), field, kind], dim=1)


def projector(width_in: int, width_out: int) -> nn.Sequential:
    """Two linear layers, the inner one twice as wide as a token, as ``|GraphToken| > |g|`` asks."""
    inner = 2 * width_out
    return nn.Sequential(nn.Linear(width_in, inner), nn.GELU(), nn.Linear(inner, width_out))
