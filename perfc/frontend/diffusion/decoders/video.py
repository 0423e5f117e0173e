"""Causal autoencoders of videos, whose latents have a frame for four."""

from __future__ import annotations

from perfc.errors import ModelError

from ..pipeline import Latent, PipelinePart, Tensor
from . import Decoder

EDGE, TIME = 8, 4
"""How far both widen, where their configurations say nothing."""
MOST = 64


class Video(Decoder):
    """Wan's and CogVideoX's."""

    classes = ("AutoencoderKLWan", "AutoencoderKLCogVideoX")

    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """As configured."""
        stated = part.config
        time = stated.get("scale_factor_temporal", stated.get("temporal_compression_ratio", TIME))
        edge = stated.get("scale_factor_spatial", EDGE)
        if not all(isinstance(n, int) and 1 <= n <= MOST for n in (time, edge)):
            raise ModelError("a decoder that widens by no number", where=part.name)
        return edge, time

    def inputs(self, latent: Latent) -> tuple[Tensor, ...]:
        """A latent of all frames."""
        return (Tensor("z", (latent.channels, latent.frames, latent.height, latent.width)),)
