"""Denoisers, one family per file: their inputs at a step."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ..kinds import PartKind, kind_of
from ..pipeline import Latent, PipelinePart, Tensor


class Denoiser(PartKind):
    """A family of denoisers."""

    is_doubled: ClassVar[bool] = True
    """True if a guided step is one call of twice the batch, else two calls."""

    @abstractmethod
    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return the inputs of a step.

        Args:
            part: its configuration.
            latent: latent of one picture.
            tokens: number of tokens of a prompt.
        """

    def fixed(self) -> dict[str, object]:
        """Return the arguments that are no tensors."""
        return {}


def denoiser_of(part: PipelinePart) -> Denoiser:
    """Return the denoiser of a part.

    Raises:
        ModelError: an unknown class.
    """
    return kind_of(part, __name__, Denoiser)
