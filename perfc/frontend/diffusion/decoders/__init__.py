"""Decoders of latents, each its own file: how far it widens them, and what it is called with."""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import ClassVar

from perfc.errors import ModelError

from ..pipeline import Latent, Part, Tensor


class Decoder(ABC):
    """A class of decoders."""

    classes: ClassVar[tuple[str, ...]]
    """Of diffusers."""

    @abstractmethod
    def factors(self, part: Part) -> tuple[int, int]:
        """By how much it widens edges, and by how much time."""

    def inputs(self, latent: Latent) -> tuple[Tensor, ...]:
        """What it is called with: a latent of one image."""
        return (Tensor("z", (latent.channels, latent.height, latent.width)),)


class VideoDecoder(Decoder):
    """A decoder whose latents have a time."""

    def inputs(self, latent: Latent) -> tuple[Tensor, ...]:
        """A latent of all frames."""
        return (Tensor("z", (latent.channels, latent.frames, latent.height, latent.width)),)


@cache
def decoders() -> tuple[Decoder, ...]:
    """One of each file."""
    return tuple(_each())


def _each() -> Iterator[Decoder]:
    for found in pkgutil.iter_modules(__path__):
        yield import_module(f"{__name__}.{found.name}").DECODER


def decoder_of(part: Part) -> Decoder:
    """That of a part.

    Raises:
        ModelError: perfc knows none of its class.
    """
    for one in decoders():
        if part.class_name in one.classes:
            return one
    known = ", ".join(sorted(name for one in decoders() for name in one.classes))
    raise ModelError(f"no decoder {part.class_name[:64]!r} is known", where=part.name,
                     hint=f"known are {known}")  # fmt: skip
