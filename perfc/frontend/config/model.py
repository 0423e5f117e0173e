"""Describe a language model independent of its family: layers, embeddings, heads.

`read_config` returns a `LanguageModel`, and `lower` takes one.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TypeAlias

from perfc.ir import record

from .embeddings import (
    Embedding,
    PatchEmbedding,
    PerLayerEmbedding,
    ResidualStreams,
    SoundEmbedding,
    TokenEmbedding,
)
from .mixers import (
    Activation,
    Attention,
    DeltaNet,
    Experts,
    Indexer,
    LatentAttention,
    Mamba,
    Mamba2,
    Mixer,
    Mlp,
    Norm,
    NormKind,
    PerLayerInput,
    QueryKeyNorm,
    ShortConvolution,
)
from .precision import Quantization

__all__ = [
    "OF_IMAGES",
    "OF_SOUNDS",
    "Activation",
    "Adapters",
    "Attention",
    "Branch",
    "DeltaNet",
    "Embedding",
    "Experts",
    "ImageScaling",
    "Indexer",
    "LanguageModel",
    "LatentAttention",
    "Layer",
    "Mamba",
    "Mamba2",
    "Mixer",
    "Mlp",
    "Norm",
    "NormKind",
    "OutputHead",
    "PatchEmbedding",
    "PerLayerEmbedding",
    "PerLayerInput",
    "Projection",
    "Projector",
    "QueryKeyNorm",
    "Residual",
    "ResidualStreams",
    "Sampling",
    "ShortConvolution",
    "SoundEmbedding",
    "Stack",
    "TokenEmbedding",
    "Tower",
    "mixers",
]


@record
class Branch:
    """A mixer with its norms: ``after(mixer(before(x)))``."""

    mixer: Mixer
    before: Norm | None = None
    after: Norm | None = None


@record
class Residual:
    """A residual connection: ``last(x + after(sum of branches(before(x))))``.

    Args:
        branches: mixers whose results are added to x; several read the same value in parallel.
        before: a normalisation of x, whose result all branches read.
        last: a normalisation of the sum with x.
        after: a normalisation of the sum of branches, before x is added.
    """

    branches: tuple[Branch, ...]
    before: Norm | None = None
    last: Norm | None = None
    after: Norm | None = None


Layer: TypeAlias = "tuple[Residual, ...]"
"""Residuals one after the other, as attention and then an MLP."""


@record
class OutputHead:
    """A projection after the last layer, as to logits.

    Args:
        width: columns of the result, as the vocabulary.
        is_tied: whether its weight is the table of token embeddings.
        is_biased: whether it has a bias.
        inner: columns of a further projection before it, with an activation and a norm; 0 for none.
        is_inner_biased: whether the inner projection has a bias.
        activation: activation of the inner projection.
        norm: norm of the inner projection.
        before: a normalisation of the rows that the head reads.
        is_capped: whether a tanh caps its scores; engines do so in the kernel that samples.
        is_first_token: whether the head reads only the first token of a sequence, as classifiers
            do; else it reads the last token of a sequence in a decoder, and all tokens elsewhere.
    """

    width: int
    is_tied: bool = False
    is_biased: bool = False
    inner: int = 0
    is_inner_biased: bool = True
    activation: Activation | None = None
    norm: Norm | None = None
    is_first_token: bool = False
    before: Norm | None = None
    is_capped: bool = False


@record
class Stack:
    """An embedding and layers.

    Args:
        name: prefix of the names of its values.
        hidden: width of a token.
        embedding: embedding of tokens, patches of images, or sound.
        layers: layers in order; equal ones are one object as a rule.
        norm: norm after the last layer.
        heads: projections of the result, as to logits.
        is_decoder: whether tokens are generated one after the other.
        per_layer: embedding with a row per token for each layer (Gemma 3n); None for none.
        streams: copies of the residual stream (AltUp); None for a single stream.
    """

    name: str
    hidden: int
    embedding: Embedding
    layers: tuple[Layer, ...]
    norm: Norm | None = None
    heads: tuple[OutputHead, ...] = ()
    is_decoder: bool = False
    per_layer: PerLayerEmbedding | None = None
    streams: ResidualStreams | None = None

    @property
    def width(self) -> int:
        """Return the elements of a token between layers."""
        return self.hidden * (1 if self.streams is None else self.streams.count)


class ImageScaling(Enum):
    """Scaling of images before a vision tower reads them."""

    FIXED = "one size"
    # the image is cut into tiles, and a small copy of the whole image is one more tile
    TILES = "tiles of one size, and all of it in one more"
    NATIVE = "its own size"

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


@record
class Projection:
    """A projection of a tower's tokens to another width."""

    width: int
    is_biased: bool = False
    activation: Activation | None = None


@record
class Projector:
    """Projector that turns patches of an image into tokens of a language model.

    Args:
        merge: patches along an edge that become one token.
        products: linear layers that a merged token passes, in order.
        is_mean: whether the merged patches are averaged; else their elements are concatenated.
        before: a normalisation of patches.
        after: a normalisation of the merged tokens.
    """

    merge: int
    products: tuple[Projection, ...]
    is_mean: bool = False
    before: Norm | None = None
    after: Norm | None = None


OF_IMAGES = "the tower of images"
"""Words for the images that steps of text leave out, among the parts of ``left_out``."""
OF_SOUNDS = "the tower of sounds"
"""Like ``OF_IMAGES``, for the encoder of sounds."""
NEAREST_FAMILY = "which has no reader here, is read like"
"""Words in the entry of ``left_out`` that names the family like which an unknown one is read."""


@record
class Tower:
    """An encoder of images whose tokens a language model reads together with tokens of text.

    Args:
        stack: patches and layers, of an image or of a tile.
        projector: projector of the stack's output to tokens of the language model.
        scaling: scaling of images before the stack reads them.
        most: maximum tiles of an image, or patches along an edge at native size; 0 for any number.
        tiles: number of tiles that the stack reads per image.
    """

    stack: Stack
    projector: Projector
    scaling: ImageScaling
    most: int = 0
    tiles: int = 1

    @property
    def patches(self) -> PatchEmbedding:
        """Return the patch embedding."""
        assert isinstance(self.stack.embedding, PatchEmbedding)
        return self.stack.embedding

    @property
    def tokens(self) -> int:
        """Return the number of the language model's tokens per image."""
        edge = self.patches.image // self.patches.patch // self.projector.merge
        return self.tiles * edge * edge


class Sampling(Enum):
    """Method of sampling the next token from scores."""

    GREEDY = "greedy"
    """The token with the largest score."""
    RANDOM = "random"
    """Drawn, with a temperature."""
    TOP_P = "top-p"
    """Drawn from the likeliest tokens: a limited number of them, or a share of probability."""

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


@record
class Adapters:
    """Low-rank adapters of linear layers, arXiv:2106.09685, that a batch reads at once.

    Args:
        rank: rank of each adapter; engines reserve memory for the largest.
        count: number of adapters in memory; the tokens of a step are spread evenly over them.
    """

    rank: int
    count: int


@record
class LanguageModel:
    """A model as its configuration describes it, family-independent.

    Args:
        name: name of the file or folder it was read from.
        family: ``model_type`` of the configuration.
        architecture: class that the configuration names.
        dtype: element type in which the weights are published.
        stacks: one decoder; an encoder, and then its decoder; or two encoders whose results are
            compared.
        max_positions: longest sequence, 0 if not given.
        quantization: quantization of the stored weights; None where they have 16 bits or more.
        left_out: parts of the configuration that are not part of this description, in words.
        predictors: separate layers that predict tokens beyond the next; not part of ``stacks``.
        drafted: draft tokens that a decode step verifies per sequence, in addition to the next
            token.
        adapters: LoRA adapters that are served with its decoder; None for none.
        tower: encoder of images; None for none, or for one that is not read.
        sampling: sampling at the end of a step; None where a step ends with scores.
        context: tokens of the longest sequence for which it has positions, those of scaled rotary
            embeddings included; 0 for any length.
        expert_skew: exponent of the power law by which tokens choose experts, 0 for a uniform
            choice; None if unknown.
        cached_bytes: bytes that a token leaves in the caches of all layers, set by
            --kv-bytes-per-token; 0 for those of its layers.
        state_type: element type of its states that the configuration names; "" for none.
        source: tokens that its encoder reads for each served request, which servers set; 0 for any
            number.
    """

    name: str
    family: str
    architecture: str
    dtype: str
    stacks: tuple[Stack, ...]
    max_positions: int = 0
    quantization: Quantization | None = None
    left_out: tuple[str, ...] = ()
    predictors: int = 0
    drafted: int = 0
    adapters: Adapters | None = None
    tower: Tower | None = None
    sampling: Sampling | None = None
    expert_skew: float | None = None
    context: int = 0
    cached_bytes: int = 0
    state_type: str = ""
    source: int = field(default=0, repr=False)  # in no configuration

    @property
    def assumption(self) -> str:
        """Return how a model of an unknown family was read; "" for a known family."""
        return next((part for part in self.left_out if NEAREST_FAMILY in part), "")

    @property
    def decoder(self) -> Stack | None:
        """Return the stack whose tokens are generated one after the other; None if none exists."""
        return self.stacks[-1] if self.stacks[-1].is_decoder else None

    @property
    def encoders(self) -> tuple[Stack, ...]:
        """Return the stacks that read all of their input at once."""
        return tuple(s for s in self.stacks if not s.is_decoder)

    @property
    def has_experts(self) -> bool:
        """Return True if a layer routes tokens to experts."""
        layers = [layer for stack in self.stacks for layer in stack.layers]
        return any(isinstance(m, Experts) for layer in layers for m in mixers(layer))


def mixers(layer: Layer) -> tuple[Mixer, ...]:
    """Return the mixers of a layer in order, without normalizations."""
    return tuple(b.mixer for residual in layer for b in residual.branches)
