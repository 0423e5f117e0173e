"""CogVideoX: prompt and frames in one sequence (arXiv:2408.06072)."""

from __future__ import annotations

from ..pipeline import Latent, PipelinePart, Tensor
from . import Denoiser


class CogVideoX(Denoiser):
    """Denoiser of CogVideoX, whose latent has frames before channels."""

    classes = ("CogVideoXTransformer3DModel",)

    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return the latent, prompt and time step."""
        picture = (latent.frames, latent.channels, latent.height, latent.width)
        return (
            Tensor("hidden_states", picture),
            Tensor("encoder_hidden_states", (tokens, part.number("text_embed_dim"))),
            Tensor("timestep", (), "int64"),
        )
