"""Wan: a transformer over all frames, the prompt attended to (arXiv:2503.20314)."""

from __future__ import annotations

from ..pipeline import Latent, PipelinePart, Tensor
from . import Denoiser


class Wan(Denoiser):
    """Denoiser of Wan, called twice in a guided step: with the prompt and without."""

    classes = ("WanTransformer3DModel",)
    is_doubled = False

    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return the latent, time step and prompt."""
        picture = (latent.channels, latent.frames, latent.height, latent.width)
        return (
            Tensor("hidden_states", picture),
            Tensor("timestep", (), "int64"),
            Tensor("encoder_hidden_states", (tokens, part.number("text_dim"))),
        )
