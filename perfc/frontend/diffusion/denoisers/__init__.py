"""Denoisers, each family its own file: what a step calls them with."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ..kinds import PartKind, kind_of
from ..pipeline import Latent, PipelinePart, Tensor


class Denoiser(PartKind):
    """A family of denoisers."""

    is_doubled: ClassVar[bool] = True
    """Whether a guided step is one call of twice the batch; else it is two calls."""

    @abstractmethod
    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """What a step calls it with.

        Args:
            part: its configuration.
            latent: of one picture.
            tokens: of a prompt.
        """

    def fixed(self) -> dict[str, object]:
        """Arguments that are no tensors."""
        return {}


def denoiser_of(part: PipelinePart) -> Denoiser:
    """That of a part.

    Raises:
        ModelError: perfc knows none of its class.
    """
    return kind_of(part, __name__, Denoiser)
