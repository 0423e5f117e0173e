"""Describe embeddings, the inputs of a first layer: tables, patches of images, spectrograms."""

from __future__ import annotations

from typing import TypeAlias

from perfc.ir import record

from .mixers import Norm


@record
class TokenEmbedding:
    """Rows of stored tables, summed.

    Args:
        vocab: rows of the table of tokens.
        width: width of a row; a row of another width than the model's is projected to the model's.
        positions: rows of a stored table of positions, 0 for none.
        types: rows of a table of token types, 0 for none.
        norm: norm of the sum of these rows.
        is_projection_biased: whether the projection to the model's width has a bias.
        is_projected_first: whether rows are projected before positions are added, which are then as
            wide as the model.
    """

    vocab: int
    width: int
    positions: int = 0
    types: int = 0
    norm: Norm | None = None
    is_projection_biased: bool = False
    is_projected_first: bool = False


@record
class PatchEmbedding:
    """Patches of an image, each projected to a token.

    Args:
        image: edge of the square image in pixels.
        patch: edge of a patch in pixels.
        channels: number of channels of the image.
        extra: learned tokens in front of the patches, such as a class token.
        is_biased: whether the projection has a bias.
        has_positions: whether a stored table of positions, a row per token, is added.
        norm: norm of the sum.
    """

    image: int
    patch: int
    channels: int
    extra: int = 1
    is_biased: bool = True
    has_positions: bool = False
    norm: Norm | None = None

    @property
    def tokens(self) -> int:
        """Return the number of tokens of one image."""
        return (self.image // self.patch) ** 2 + self.extra


@record
class SoundEmbedding:
    """Two convolutions over a spectrogram, the second of stride two.

    Args:
        bins: number of bins of the spectrogram.
        tokens: tokens of a full window, each with a row of a stored table of positions.
    """

    bins: int
    tokens: int


Embedding: TypeAlias = "TokenEmbedding | PatchEmbedding | SoundEmbedding"


@record
class PerLayerEmbedding:
    """A row per token and layer: of a stored table, plus a normalised product of the embedding.

    Args:
        vocab: rows of the table.
        width: elements of the row of one layer.
    """

    vocab: int
    width: int


@record
class ResidualStreams:
    """Copies of the residual stream (AltUp): each layer mixes all, and computes on one of them.

    Args:
        count: number of copies.

    Source: arXiv:2301.13310; transformers, ``Gemma3nTextAltUp``.
    """

    count: int
