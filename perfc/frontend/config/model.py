"""What a language model is, whatever its family calls it: layers, their extents, heads."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from perfc.ir.record import record


class Activation(Enum):
    """Of the inner layer of an MLP, as `perfc.ir.ops.epilogue` names them."""

    RELU = "relu"
    SQUARED_RELU = "relu2"
    GELU = "gelu"
    FAST_GELU = "fastgelu"
    QUICK_GELU = "quickgelu"
    SILU = "silu"
    TANH = "tanh"

    __hash__ = object.__hash__


class NormKind(Enum):
    """How a normalisation centres and scales."""

    RMS = "rms"
    LAYER = "layer"

    __hash__ = object.__hash__


class QueryKeyNorm(Enum):
    """Over what queries and keys are normalised."""

    NONE = "none"
    HEAD = "each head, one scale for all"
    EACH = "each head, a scale for each"
    ALL = "all heads together"

    __hash__ = object.__hash__


@record
class Norm:
    """A normalisation over the last axis.

    Args:
        kind: with a mean or without.
        width: elements of a row.
        is_scaled: whether it has a stored scale.
        is_biased: whether it has a stored bias.
    """

    kind: NormKind
    width: int
    is_scaled: bool = True
    is_biased: bool = False


@record
class Attention:
    """Attention with heads of keys and values that several heads of queries may share.

    Args:
        heads: of queries.
        kv_heads: of keys and values.
        head_dim: extent of a query and of a key.
        value_dim: extent of a value; 0 for that of a key.
        rotary_dim: elements of a head that are rotated, 0 for none.
        window: latest tokens that a query sees, its own included; 0 for all.
        chunk: tokens of a chunk that only see each other; 0 for one chunk.
        query_bias: whether queries have a bias.
        key_bias: whether keys have one.
        value_bias: whether values have one.
        output_bias: whether the product behind has one.
        norm: over what queries and keys are normalised.
        norm_kind: how they are.
        is_norm_scaled: whether that normalisation has stored scales.
        is_causal: whether queries see only what is before them.
        is_gated: whether the output is multiplied by the sigmoid of a further projection.
        has_sinks: whether each head has a score that no token has.
        has_softcap: whether scores are capped by a tanh.
        buckets: of a learned bias of relative positions that this layer stores; 0 for none.
        is_biased: whether such a bias, its own or another layer's, or ALiBi, is added to scores.
        is_cross: whether keys and values are those of an encoder's output.
        width: of what it reads and writes; 0 for the model's.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0
    rotary_dim: int = 0
    window: int = 0
    chunk: int = 0
    query_bias: bool = False
    key_bias: bool = False
    value_bias: bool = False
    output_bias: bool = False
    norm: QueryKeyNorm = QueryKeyNorm.NONE
    norm_kind: NormKind = NormKind.RMS
    is_norm_scaled: bool = True
    is_causal: bool = True
    is_gated: bool = False
    has_sinks: bool = False
    has_softcap: bool = False
    buckets: int = 0
    is_biased: bool = False
    is_cross: bool = False

    @property
    def values(self) -> int:
        """Extent of a value."""
        return self.value_dim or self.head_dim


@record
class LatentAttention:
    """Attention whose keys and values are expanded from a short latent, which is what is cached.

    Args:
        heads: of queries, keys and values.
        query_rank: width of the latent of queries; 0 where they are projected directly.
        kv_rank: width of the latent of keys and values.
        nope_dim: elements of a head that are not rotated.
        rope_dim: elements of a head that are; keys share them.
        value_dim: extent of a value.
        is_biased: whether the projections to latents and the output have biases.

    Source: arXiv:2405.04434 section 2.1.
    """

    heads: int
    query_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    is_biased: bool = False

    @property
    def head_dim(self) -> int:
        """Extent of an expanded query and key."""
        return self.nope_dim + self.rope_dim

    @property
    def cached_dim(self) -> int:
        """Elements that a token leaves in the cache."""
        return self.kv_rank + self.rope_dim


@record
class Mamba:
    """A selective state space with a state for each channel.

    Args:
        inner: channels.
        state: extent of a channel's state.
        taps: of the causal convolution before it.
        rank: of the projection to time steps.
        is_conv_biased: whether the convolution has a bias.
        is_biased: whether the projections in and out have.
        norms: whether time steps and both projections of the state are normalised.

    Source: arXiv:2312.00752.
    """

    inner: int
    state: int
    taps: int
    rank: int
    is_conv_biased: bool = True
    is_biased: bool = False
    has_norms: bool = False
    is_norm_scaled: bool = True


@record
class Mamba2:
    """A state space with one decay a head.

    Args:
        heads: of the state.
        head_dim: channels of a head.
        groups: of heads that share both projections of the state.
        state: extent of a channel's state.
        taps: of the causal convolution before it.
        is_conv_biased: whether the convolution has a bias.
        is_biased: whether the projections in and out have.
        is_normed: whether the gated result is normalised before it is projected out.

    Source: arXiv:2405.21060.
    """

    heads: int
    head_dim: int
    groups: int
    state: int
    taps: int
    is_conv_biased: bool = True
    is_biased: bool = False
    is_normed: bool = True

    @property
    def inner(self) -> int:
        """Channels."""
        return self.heads * self.head_dim

    @property
    def convolved(self) -> int:
        """Channels that the convolution passes over."""
        return self.inner + 2 * self.groups * self.state


@record
class DeltaNet:
    """A linear attention with a gate and a delta rule.

    Args:
        key_heads: of queries and keys.
        value_heads: of values and of the state.
        key_dim: extent of a query and a key.
        value_dim: extent of a value.
        taps: of the causal convolution before it.

    Source: arXiv:2412.06464.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    taps: int

    @property
    def convolved(self) -> int:
        """Channels that the convolution passes over."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


@record
class Mlp:
    """Two products with an activation between, of which the first may have a gate beside it.

    Args:
        inner: width between them.
        activation: of the inner layer, or of its gate.
        is_gated: whether a gate multiplies.
        is_biased: whether the products have biases.
    """

    inner: int
    activation: Activation
    is_gated: bool = True
    is_biased: bool = False


@record
class Experts:
    """Several MLPs of which a router chooses some for each token.

    Args:
        count: of them.
        chosen: for each token.
        inner: width between the products of one.
        activation: of the gate.
        is_gated: whether a gate multiplies.
        is_biased: whether the products have biases.
        shared: one MLP that every token passes, None without.
        is_shared_gated: whether a sigmoid of the token weighs it.
        is_router_biased: whether the router's product has a bias.
        is_choice_biased: whether a stored correction is added to scores for the choice only.
    """

    count: int
    chosen: int
    inner: int
    activation: Activation
    is_gated: bool = True
    is_biased: bool = False
    shared: Mlp | None = None
    is_shared_gated: bool = False
    is_router_biased: bool = False
    is_choice_biased: bool = False


Mixer: TypeAlias = "Attention | LatentAttention | Mamba | Mamba2 | DeltaNet | Mlp | Experts"


@record
class Branch:
    """``after(mixer(before(x)))``, by a stored vector where it ``is_scaled``."""

    mixer: Mixer
    before: Norm | None = None
    after: Norm | None = None
    is_scaled: bool = False


@record
class Residual:
    """``last(x + sum of branches(before(x)))``.

    Args:
        branches: what is added to x; several run side by side.
        before: one normalisation that all branches read.
        last: a normalisation of the sum.
    """

    branches: tuple[Branch, ...]
    before: Norm | None = None
    last: Norm | None = None


Layer: TypeAlias = "tuple[Residual, ...]"


@record
class TokenEmbedding:
    """Rows of stored tables, summed.

    Args:
        vocab: rows of the table of tokens.
        width: of a row; projected to the model's where it is another.
        positions: rows of a stored table of positions, 0 for none.
        types: rows of a table of token types, 0 for none.
        norm: of the sum.
        is_projection_biased: whether that projection has a bias.
        is_projected_first: whether it comes before positions are added, which are as wide as the
            model then.
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
        image: edge of the image.
        patch: edge of a patch.
        channels: of the image.
        extra: learned tokens in front.
        is_biased: whether the projection has a bias.
        positions: rows of a stored table of positions.
        norm: of the sum.
    """

    image: int
    patch: int
    channels: int
    extra: int = 1
    is_biased: bool = True
    positions: int = 0
    norm: Norm | None = None

    @property
    def tokens(self) -> int:
        """Of one image."""
        return (self.image // self.patch) ** 2 + self.extra


@record
class SoundEmbedding:
    """Two convolutions over a spectrogram, the second of stride two.

    Args:
        bins: of the spectrogram.
        positions: tokens of a full window, a stored table.
    """

    bins: int
    positions: int

    @property
    def tokens(self) -> int:
        """Of a full window."""
        return self.positions


Embedding: TypeAlias = "TokenEmbedding | PatchEmbedding | SoundEmbedding"


@record
class Head:
    """A product behind the last layer.

    Args:
        width: of its result, as the vocabulary.
        is_tied: whether it is the table of tokens again.
        is_biased: whether it has a bias.
        inner: width of a product, an activation and a normalisation before it; 0 for none.
        is_inner_biased: whether that product has a bias.
        activation: of that product.
        norm: of that product.
        before: a normalisation of the rows that pass.
        is_first_token: whether only the first token of a sequence passes; else the last of a
            sequence where tokens are decoded, and all elsewhere.
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


@record
class Stack:
    """An embedding and layers.

    Args:
        name: in front of the names of its values.
        hidden: width of a token.
        embedding: what gives the tokens.
        layers: in order; equal ones are one object as a rule.
        norm: behind the last layer.
        heads: what is computed of the result.
        is_decoder: whether tokens are generated one after the other.
    """

    name: str
    hidden: int
    embedding: Embedding
    layers: tuple[Layer, ...]
    norm: Norm | None = None
    heads: tuple[Head, ...] = ()
    is_decoder: bool = False


@record
class LanguageModel:
    """A model as its configuration describes it, family-independent.

    Args:
        name: of the file or folder it was read from.
        family: ``model_type`` of the configuration.
        architecture: class that the configuration names.
        dtype: element type that the weights are published in.
        stacks: one decoder; or an encoder, and then its decoder; or two encoders.
        next_tokens: layers that predict tokens beyond the next, behind the last stack.
        quantization: what the configuration says of the stored weights; "" where nothing.
        left_out: parts of the configuration that are not part of this description, in words.
    """

    name: str
    family: str
    architecture: str
    dtype: str
    stacks: tuple[Stack, ...]
    max_positions: int = 0
    quantization: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def decoder(self) -> Stack | None:
        """The stack whose tokens are generated one after the other; None where there is none."""
        return self.stacks[-1] if self.stacks[-1].is_decoder else None

    @property
    def encoders(self) -> tuple[Stack, ...]:
        """The stacks that read all of their input at once."""
        return tuple([s for s in self.stacks if not s.is_decoder])


def mixers(layer: Layer) -> tuple[Mixer, ...]:
    """What a layer computes, normalisations left out, in order."""
    return tuple([b.mixer for residual in layer for b in residual.branches])
