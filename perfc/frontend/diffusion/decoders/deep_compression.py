"""The deep compression autoencoder of SANA (Chen et al., 2024, arXiv:2410.10733)."""

from __future__ import annotations

from ..pipeline import PipelinePart
from . import Decoder, doubled


class DeepCompression(Decoder):
    """Its edges double between blocks, 32 times in all."""

    classes = ("AutoencoderDC",)

    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """As many doublings as there are blocks but one."""
        return doubled(part.config.get("decoder_block_out_channels")), 1
