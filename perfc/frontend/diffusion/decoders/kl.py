"""The autoencoder of Stable Diffusion: a convolutional decoder of images."""

from __future__ import annotations

from ..pipeline import PipelinePart
from . import Decoder, doubled


class Kl(Decoder):
    """Its edges double between blocks."""

    classes = ("AutoencoderKL",)

    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """As many doublings as there are blocks but one."""
        return doubled(part.config.get("block_out_channels")), 1
