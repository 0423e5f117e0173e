"""PixArt: a diffusion transformer whose prompt is attended to (arXiv:2403.04692)."""

from __future__ import annotations

from ..pipeline import Latent, PipelinePart, Tensor
from . import Denoiser


class PixArt(Denoiser):
    """Denoiser of PixArt, which takes a mask of padded tokens of the prompt."""

    classes = ("PixArtTransformer2DModel",)

    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return the latent, prompt, time step and mask of the prompt."""
        return (
            Tensor("hidden_states", (latent.channels, latent.height, latent.width)),
            Tensor("encoder_hidden_states", (tokens, part.number("caption_channels"))),
            Tensor("timestep", (), "int64"),
            Tensor("encoder_attention_mask", (tokens,), "int64"),
        )

    def fixed(self) -> dict[str, object]:
        """Return no inputs of the resolution, on which Sigma has no conditions."""
        return {"added_cond_kwargs": {"resolution": None, "aspect_ratio": None}}
