"""Decoders of latents, one per file: their upsampling factors and inputs."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

from perfc.errors import ModelError, ParseError

from ..kinds import PartKind, kind_of
from ..pipeline import DiffusionPipeline, Latent, PartRole, Picture, PipelinePart, Tensor


class Decoder(PartKind):
    """A class of decoders."""

    @abstractmethod
    def factors(self, part: PipelinePart) -> tuple[int, int]:
        """Return the upsampling factors of edges and of time."""

    def inputs(self, latent: Latent) -> tuple[Tensor, ...]:
        """Return the inputs of the decoder: a latent of one image."""
        return (Tensor("z", (latent.channels, latent.height, latent.width)),)


def decoder_of(part: PipelinePart) -> Decoder:
    """Return the decoder of a part.

    Raises:
        ModelError: an unknown class.
    """
    return kind_of(part, __name__, Decoder)


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
    # the first frame has a latent frame alone, then every `time` frames have one
    frames = 1 + math.ceil((picture.frames - 1) / time)
    # Wan calls it z_dim
    key = "latent_channels" if "latent_channels" in decoder.config else "z_dim"
    channels = decoder.number(key)
    return Latent(channels, frames, picture.height // edge, picture.width // edge)


def doubled(edges: object) -> int:
    """Return the upsampling factor of a decoder with blocks of these channels: 2 per transition.

    Raises:
        ModelError: they are no list of channels.
    """
    if not isinstance(edges, Sequence) or not 0 < len(edges) < 16:
        raise ModelError("a decoder without channels of its blocks")
    return 1 << (len(edges) - 1)
