"""Decoders of latents, each its own file: how far it widens them, and what it is called with."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from perfc.errors import ModelError

from ..kinds import PartKind, kind_of
from ..pipeline import Latent, Part, Tensor


class Decoder(PartKind):
    """A class of decoders."""

    @abstractmethod
    def factors(self, part: Part) -> tuple[int, int]:
        """By how much it widens edges, and by how much time."""

    def inputs(self, latent: Latent) -> tuple[Tensor, ...]:
        """What it is called with: a latent of one image."""
        return (Tensor("z", (latent.channels, latent.height, latent.width)),)


def decoder_of(part: Part) -> Decoder:
    """That of a part.

    Raises:
        ModelError: perfc knows none of its class.
    """
    return kind_of(part, __name__, Decoder)


def doubled(edges: object) -> int:
    """By how much a decoder widens that halves its widths between blocks of these channels.

    Raises:
        ModelError: they are no list of channels.
    """
    if not isinstance(edges, Sequence) or not 0 < len(edges) < 16:
        raise ModelError("a decoder without channels of its blocks")
    return 1 << (len(edges) - 1)
