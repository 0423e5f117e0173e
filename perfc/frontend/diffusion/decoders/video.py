"""Causal autoencoders of videos, whose latents have a frame for four."""

from __future__ import annotations

from perfc.errors import ModelError

from ..pipeline import Latent, PipelinePart, Tensor
from . import Decoder

EDGE, TIME = 8, 4
"""Default upsampling factors of both classes."""
MOST = 64
"""Maximum upsampling factor: a damaged configuration may widen a video beyond any memory."""


class Video(Decoder):
    """Decoders of Wan and CogVideoX."""

    classes = ("AutoencoderKLWan", "AutoencoderKLCogVideoX")

    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """Return the configured upsampling factors."""
        config = part.config
        time = config.get("scale_factor_temporal", config.get("temporal_compression_ratio", TIME))
        edge = config.get("scale_factor_spatial", EDGE)
        if not all(isinstance(n, int) and 1 <= n <= MOST for n in (time, edge)):
            raise ModelError("a decoder that widens by no number", where=part.name)
        return edge, time

    def inputs(self, latent: Latent) -> tuple[Tensor, ...]:
        """Return the inputs of the decoder: a latent of all frames."""
        return (Tensor("z", (latent.channels, latent.frames, latent.height, latent.width)),)
