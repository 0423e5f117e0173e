"""Decoders of latents: their upsampling factors and inputs, by class of diffusers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from perfc.errors import ModelError, ParseError

from .pipeline import DiffusionPipeline, Latent, PartRole, Picture, PipelinePart, Tensor

EDGE, TIME = 8, 4
"""Upsampling factors of edges and of time that the configuration of a video decoder leaves out."""
MOST = 64
"""Maximum upsampling factor: a damaged configuration may widen a video beyond any memory."""


class Decoder:
    """Decoder of images that doubles edges between blocks.

    The autoencoder of Stable Diffusion has one, and the deep compression autoencoder of SANA (Chen
    et al., 2024, arXiv:2410.10733), whose decoder enlarges edges 32 times in all.
    """

    channels: ClassVar[str] = "block_out_channels"
    """Key of the channels of the blocks."""

    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """Return the upsampling factors of edges and of time."""
        return doubled(part.config.get(self.channels)), 1

    def inputs(self, latent: Latent) -> tuple[Tensor, ...]:
        """Return the inputs of the decoder: a latent of one image."""
        return (Tensor("z", (latent.channels, latent.height, latent.width)),)


class DeepDecoder(Decoder):
    """Decoder of the deep compression autoencoder, whose configuration has a list for each side."""

    channels = "decoder_block_out_channels"


class VideoDecoder(Decoder):
    """Decoder of Wan and CogVideoX: of causal autoencoders, with a latent frame for four frames."""

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


DECODERS = {
    "AutoencoderDC": DeepDecoder(),
    "AutoencoderKL": Decoder(),
    "AutoencoderKLCogVideoX": VideoDecoder(),
    "AutoencoderKLWan": VideoDecoder(),
}
"""Decoders by name of their class."""


def decoder_of(part: PipelinePart) -> Decoder:
    """Return the decoder of a part.

    Raises:
        ModelError: an unknown class.
    """
    return part.kind(DECODERS)


def latent_of(pipeline: DiffusionPipeline, picture: Picture) -> Latent:
    """Return the latent size of an image or video: its size over the decoder's upsampling factor.

    Raises:
        ParseError: the decoder cannot produce that size.
        ModelError: the decoder is not supported.
    """
    decoder = pipeline.part(PartRole.DECODER)
    edge, time = decoder_of(decoder).factors(decoder)
    across = (("height", picture.height), ("width", picture.width))
    for name, size in across:
        if size % edge:
            nearest = max(1, round(size / edge)) * edge
            raise ParseError(
                f"a {name} of {size} pixels",
                where="--size",
                hint=f"multiples of {edge}, as {nearest}",
            )
    # the first frame has a latent frame for itself, then every `time` frames have one
    frames = 1 + math.ceil((picture.frames - 1) / time)
    # Wan calls it z_dim
    key = "latent_channels" if "latent_channels" in decoder.config else "z_dim"
    channels = decoder.number(key)
    return Latent(channels, frames, picture.height // edge, picture.width // edge)


def doubled(edges: object) -> int:
    """Return the upsampling factor of a decoder: 2 for each transition between its blocks.

    Args:
        edges: channels of each block, as the configuration lists them.

    Raises:
        ModelError: the configuration has no such list.
    """
    # more blocks would enlarge a picture beyond any memory
    if not isinstance(edges, Sequence) or not 0 < len(edges) < 16:
        raise ModelError("a decoder without channels of its blocks")
    return 1 << (len(edges) - 1)
