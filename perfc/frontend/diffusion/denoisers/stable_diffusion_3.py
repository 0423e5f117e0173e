"""Stable Diffusion 3: two streams that attend to each other (arXiv:2403.03206)."""

from __future__ import annotations

from ..pipeline import Latent, PipelinePart, Tensor
from . import Denoiser


class StableDiffusion3(Denoiser):
    """Denoiser of Stable Diffusion 3, which takes prompts as a sequence and a pooled vector."""

    classes = ("SD3Transformer2DModel",)

    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return the latent, prompt, pooled prompt and time step."""
        return (
            Tensor("hidden_states", (latent.channels, latent.height, latent.width)),
            Tensor("encoder_hidden_states", (tokens, part.number("joint_attention_dim"))),
            Tensor("pooled_projections", (part.number("pooled_projection_dim"),)),
            Tensor("timestep", (), "int64"),
        )
