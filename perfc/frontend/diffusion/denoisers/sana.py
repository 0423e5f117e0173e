"""SANA: linear attention over few tokens of a deeply compressed latent (arXiv:2410.10629)."""

from __future__ import annotations

from ..pipeline import Latent, PipelinePart, Tensor
from . import Denoiser


class Sana(Denoiser):
    """Denoiser of SANA, which takes a mask of padded tokens of the prompt."""

    classes = ("SanaTransformer2DModel",)

    def inputs(self, part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
        """Return the latent, prompt, time step and mask of the prompt."""
        return (
            Tensor("hidden_states", (latent.channels, latent.height, latent.width)),
            Tensor("encoder_hidden_states", (tokens, part.number("caption_channels"))),
            Tensor("timestep", ()),
            Tensor("encoder_attention_mask", (tokens,), "int64"),
        )
