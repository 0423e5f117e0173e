"""Describe layers of language models: attention, state spaces, MLPs, experts.

Readers of families build these, `lowering` turns them into operators. Sizes are those of the whole
model, not of one rank.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from perfc.ir import record


class Activation(Enum):
    """Activation of an MLP, named as in `perfc.ir.ops.contraction.epilogue`."""

    RELU = "relu"
    SQUARED_RELU = "relu2"
    GELU = "gelu"
    FAST_GELU = "fastgelu"
    NEW_GELU = "gelu_new"
    """`FAST_GELU` whose module has elementary operators instead of one."""
    QUICK_GELU = "quickgelu"
    SILU = "silu"
    TANH = "tanh"
    XIELU = "xielu"
    """xIELU: a square where positive, an exponential elsewhere, each with a learned factor."""
    IDENTITY = "identity"

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python

    @property
    def kernel(self) -> str:
        """Return the name of the activation in fused kernels."""
        return Activation.FAST_GELU.value if self is Activation.NEW_GELU else self.value


class NormKind(Enum):
    """Kind of a normalization: whether it subtracts the mean."""

    RMS = "rms"
    LAYER = "layer"

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


class QueryKeyNorm(Enum):
    """Extent over which queries and keys are normalized."""

    NONE = "none"
    HEAD = "each head, one scale for all"
    EACH = "each head, a scale for each"
    ALL = "all heads together"

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


@record
class Norm:
    """A normalisation over the last axis.

    Args:
        kind: layer norm, which subtracts the mean, or RMS norm, which does not.
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
        heads: number of heads of queries.
        kv_heads: number of heads of keys and values.
        head_dim: extent of a query and of a key.
        value_dim: extent of a value; 0 for that of a key.
        rotary_dim: elements of a head that are rotated, 0 for none.
        window: latest tokens that a query sees, its own included; 0 for all.
        chunk: tokens of a chunk, outside of which a query sees nothing; 0 for one chunk.
        query_bias: whether queries have a bias.
        key_bias: whether keys have a bias.
        value_bias: whether values have a bias.
        output_bias: whether the output projection has a bias.
        norm: elements over which queries and keys are normalised: a head, all heads, or not at all.
        norm_kind: kind of that normalisation.
        is_norm_scaled: whether that normalisation has stored scales.
        is_causal: whether a query sees only tokens up to its position.
        is_gated: whether the output is multiplied by the sigmoid of a further projection.
        has_sinks: whether each head has a learned score that belongs to no token.
        has_softcap: whether scores are capped by a tanh.
        buckets: number of buckets of a learned bias of relative positions that this layer stores; 0
            for none.
        is_biased: whether a bias of positions is added to scores: from the buckets of this layer or
            of another one, or ALiBi.
        is_cross: whether keys and values are projected from the output of an encoder.
        is_gate_per_head: whether the projection of ``is_gated`` has one column per head.
        is_value_key: whether values are the projected keys, before their norm and rotation.
        is_value_normed: whether values are normalised too, without a stored scale.
        is_cache_shared: whether the layer stores no keys and values, but reads those of the last
            layer of its ``kind`` that does.
        distances: rows of a table of relative positions that all layers share: projected as queries
            and keys, they are scored with keys and queries, too (arXiv:2006.03654); 0 for none.
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
    is_gate_per_head: bool = False
    is_value_key: bool = False
    is_value_normed: bool = False
    is_cache_shared: bool = False
    distances: int = 0

    @property
    def values(self) -> int:
        """Return the extent of a value."""
        return self.value_dim or self.head_dim

    @property
    def kind(self) -> tuple[bool, int]:
        """Return what layers that share a cache have in common: a window or none, and a width."""
        return self.window > 0, self.head_dim


@record
class Indexer:
    """Scores of every earlier token for each query, of which attention reads the largest.

    Args:
        heads: number of heads of its queries; they share one key.
        head_dim: extent of a query and of the key.
        chosen: tokens with the largest scores, which attention reads for a query.
        is_shared: whether the choice is that of an earlier layer, without weights or cache.

    Source: DeepSeek-V3.2, arXiv:2512.02556 section 2.1.
    """

    heads: int
    head_dim: int
    chosen: int
    is_shared: bool = False


@record
class LatentAttention:
    """Attention whose keys and values are expanded from a short latent; the latent is cached.

    Args:
        heads: number of heads of queries, keys and values.
        query_rank: width of the latent of queries; 0 where they are projected directly.
        kv_rank: width of the latent of keys and values.
        nope_dim: elements of a head that are not rotated.
        rope_dim: elements of a head that are rotated; all heads share those of the key.
        value_dim: extent of a value.
        is_biased: whether the projections to latents and the output have biases.
        is_rotated: whether ``rope_dim`` elements are in fact rotated.
        indexer: scores that choose the tokens which a query reads; None where it reads all tokens.

    Source: arXiv:2405.04434 section 2.1.
    """

    heads: int
    query_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    is_biased: bool = False
    is_rotated: bool = True
    indexer: Indexer | None = None

    @property
    def head_dim(self) -> int:
        """Return the extent of an expanded query and key."""
        return self.nope_dim + self.rope_dim

    @property
    def cached_dim(self) -> int:
        """Return the elements that a token leaves in the cache."""
        return self.kv_rank + self.rope_dim


@record
class Mamba:
    """A selective state space with a state for each channel.

    Args:
        inner: number of channels.
        state: extent of a channel's state.
        taps: number of taps of the causal convolution before it.
        rank: inner width of the low-rank projection to time steps.
        is_conv_biased: whether the convolution has a bias.
        is_biased: whether the input and output projections have biases.
        has_norms: whether time steps, B and C are normalised.
        is_norm_scaled: whether these normalisations have stored scales.

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
        heads: number of heads of the state.
        head_dim: channels of a head.
        groups: number of groups of heads that share both projections of the state.
        state: extent of a channel's state.
        taps: number of taps of the causal convolution before it.
        is_conv_biased: whether the convolution has a bias.
        is_biased: whether the input and output projections have biases.
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


@record
class DeltaNet:
    """A linear attention with a gate and a delta rule.

    Args:
        key_heads: number of heads of queries and keys.
        value_heads: number of heads of values and of the state.
        key_dim: extent of a query and a key.
        value_dim: extent of a value.
        taps: number of taps of the causal convolution before it.
        gate_rank: width between the two products of the output's gate, and of a decay for each
            channel of a key (Kimi delta attention); 0 where each head has one decay.

    Source: arXiv:2412.06464, arXiv:2510.26692.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    taps: int
    gate_rank: int = 0


@record
class ShortConvolution:
    """A gated causal convolution: ``out(c * conv(b * x))`` with ``b, c, x`` projected from a token.

    Args:
        taps: number of taps.
        is_biased: whether the convolution and both projections have biases.

    Source: LFM2, arXiv:2511.23404 section 2.
    """

    taps: int
    is_biased: bool = False


@record
class PerLayerInput:
    """``up(act(down(x)) * e)`` with a row ``e`` that the token has for this layer alone.

    Args:
        width: elements of the row ``e``.
        activation: activation of the narrow product.

    Source: transformers, ``Gemma3nTextDecoderLayer``.
    """

    width: int
    activation: Activation


@record
class Mlp:
    """A feed-forward network: up projection, activation and down projection, optionally gated.

    Args:
        inner: width between the projections.
        activation: activation of the inner layer, or of the gate if there is one.
        is_gated: whether a gate projection multiplies the up projection.
        is_biased: whether the projections have biases.
    """

    inner: int
    activation: Activation
    is_gated: bool = True
    is_biased: bool = False


@record
class Experts:
    """A mixture of experts: a router chooses some of several MLPs for each token.

    Args:
        count: number of experts.
        chosen: number of experts per token.
        inner: width between the projections of one expert.
        activation: activation of the gate.
        is_gated: whether a gate projection multiplies the up projection.
        is_biased: whether the products have biases.
        shared: an MLP that every token passes besides its experts, None without.
        is_shared_gated: whether a sigmoid of the token weighs the result of that MLP.
        is_router_biased: whether the router's product has a bias.
        is_choice_biased: whether a stored correction is added to scores for the choice only.
        is_router_scaled: whether the router normalises its operand, times a stored scale, and
            scales the result of each expert (Gemma 4).
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
    is_router_scaled: bool = False


Mixer: TypeAlias = (
    "Attention | LatentAttention | Mamba | Mamba2 | DeltaNet | ShortConvolution | PerLayerInput"
    " | Mlp | Experts"
)
