"""FLUX.1: streams that attend to each other, then one of both; 2 × 2 cells are a token."""

from __future__ import annotations

from ..pipeline import Latent, PipelinePart, Tensor
from . import Denoiser

PACKED = 2
"""Cells of the latent along an edge of a token."""
AXES = 3
"""Coordinates of a token: which stream, row, column."""


class Flux(Denoiser):
    """Denoiser of FLUX.1, whose guidance is an input, so that a step is one call."""

    classes = ("FluxTransformer2DModel",)

    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return packed latent, prompts, time step, guidance and both kinds of positions."""
        cells = (latent.height // PACKED) * (latent.width // PACKED)
        inputs = [
            Tensor("hidden_states", (cells, part.number("in_channels"))),
            Tensor("encoder_hidden_states", (tokens, part.number("joint_attention_dim"))),
            Tensor("pooled_projections", (part.number("pooled_projection_dim"),)),
            Tensor("timestep", ()),
            Tensor("img_ids", (cells, AXES), has_batch=False),
            Tensor("txt_ids", (tokens, AXES), has_batch=False),
        ]
        if part.config.get("guidance_embeds"):
            inputs.append(Tensor("guidance", (), "float32"))
        return tuple(inputs)
