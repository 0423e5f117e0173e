"""The autoencoder of Stable Diffusion: a convolutional decoder of images."""

from __future__ import annotations

from ..pipeline import PipelinePart
from . import Decoder, doubled


class Kl(Decoder):
    """Decoder that doubles edges between blocks."""

    classes = ("AutoencoderKL",)

    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """Return the upsampling factors: edges double between blocks."""
        return doubled(part.config.get("block_out_channels")), 1
