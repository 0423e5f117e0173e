"""The deep compression autoencoder of SANA (Chen et al., 2024, arXiv:2410.10733)."""

from __future__ import annotations

from ..pipeline import PipelinePart
from . import Decoder, doubled


class DeepCompression(Decoder):
    """Decoder that doubles edges between blocks, by 32 in all."""

    classes = ("AutoencoderDC",)

    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """Return the upsampling factors: edges double between blocks."""
        return doubled(part.config.get("decoder_block_out_channels")), 1
