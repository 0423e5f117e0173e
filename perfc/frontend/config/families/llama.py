"""Llama, and dense decoders of its plan: Mistral, Qwen, Phi-3, OLMo, Granite, Cohere and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..keys import Keys
from ..model import Attention, Layer, Mixer, Mlp, Norm, QueryKeyNorm, Stack
from ._layers import (
    FULL,
    SLIDING,
    activation,
    decoder,
    head_dim_of,
    kinds_of,
    layer_norm,
    parallel,
    pre_norm,
    rms,
    rotary_of,
    rotated_layers,
    sandwich,
)


def grouped(
    keys: Keys, *, is_biased: bool = False, is_output_biased: bool | None = None,
    norm: QueryKeyNorm = QueryKeyNorm.NONE, rotary: float = 1.0,
) -> Attention:  # fmt: skip
    """Grouped attention in the words of Llama's configuration."""
    hidden, heads = keys.whole("hidden_size"), keys.whole("num_attention_heads")
    kv_heads = keys.whole("num_key_value_heads", default=heads)
    keys.divided(heads, kv_heads, "groups of key heads")
    head_dim = head_dim_of(keys, hidden, heads)
    biased = keys.flag("attention_bias", default=is_biased)
    return Attention(
        heads, kv_heads, head_dim, rotary_dim=rotary_of(keys, head_dim, rotary), query_bias=biased,
        key_bias=biased, value_bias=biased,
        output_bias=biased if is_output_biased is None else is_output_biased, norm=norm,
    )  # fmt: skip


def gated(keys: Keys, *names: str, default: str = "silu") -> Mlp:
    """A gated MLP in the words of Llama's configuration."""
    is_biased = keys.flag("mlp_bias")
    inner = keys.whole("intermediate_size")
    return Mlp(
        inner, activation(keys, *(names or ("hidden_act",)), default=default), is_biased=is_biased
    )


def windowed(keys: Keys, attention: Attention, kinds: Sequence[str]) -> tuple[Attention, ...]:
    """The attention of each layer: full, or over a sliding window."""
    window = keys.whole("sliding_window", default=0, least=0)
    sliding = replace(attention, window=window)
    return tuple([sliding if kind == SLIDING and window else attention for kind in kinds])


Arrange = Callable[..., Layer]


def dense(
    keys: Keys, attentions: Sequence[Attention], mlp: Mixer, norm: Norm,
    arrange: Arrange = pre_norm, *, is_tied: bool = False, is_head_biased: bool = False,
) -> tuple[Stack, ...]:  # fmt: skip
    """A decoder whose layers differ in their attention alone."""
    made = {a: arrange(norm, a, mlp) for a in dict.fromkeys(attentions)}
    return decoder(
        keys, [made[a] for a in attentions], norm.width, norm, is_tied=is_tied,
        is_head_biased=is_head_biased,
    )  # fmt: skip


def in_every_layer(keys: Keys, attention: Attention) -> tuple[Attention, ...]:
    """Return the same attention for every layer."""
    return (attention,) * keys.layers("num_hidden_layers")


def llama(keys: Keys) -> tuple[Stack, ...]:
    """Llama 1 to 3, Granite."""
    return dense(
        keys, in_every_layer(keys, grouped(keys)), gated(keys), rms(keys.whole("hidden_size"))
    )


def mistral(keys: Keys) -> tuple[Stack, ...]:
    """Llama with a sliding window in every layer, if the configuration has one."""
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), (SLIDING,))
    attentions = windowed(keys, grouped(keys), kinds)
    return dense(keys, attentions, gated(keys), rms(keys.whole("hidden_size")))


def qwen_kinds(keys: Keys) -> tuple[str, ...]:
    """Windows of Qwen's layers: none unless asked for, then in the last layers."""
    count, first = keys.layers("num_hidden_layers"), keys.whole(
        "max_window_layers", default=28, least=0
    )  # fmt: skip
    is_sliding = keys.flag("use_sliding_window")
    kinds = [SLIDING if is_sliding and i >= first else FULL for i in range(count)]
    return kinds_of(keys, count, kinds or [FULL])


def qwen2(keys: Keys) -> tuple[Stack, ...]:
    """Qwen 1.5, 2 and 2.5: Llama with biases of queries, keys and values."""
    attention = grouped(keys, is_biased=True, is_output_biased=False)
    attentions = windowed(keys, attention, qwen_kinds(keys))
    return dense(keys, attentions, gated(keys), rms(keys.whole("hidden_size")))


def qwen3(keys: Keys) -> tuple[Stack, ...]:
    """Qwen 3: queries and keys are normalised by head."""
    attention = grouped(keys, norm=QueryKeyNorm.HEAD)
    attentions = windowed(keys, attention, qwen_kinds(keys))
    return dense(keys, attentions, gated(keys), rms(keys.whole("hidden_size")))


def seed_oss(keys: Keys) -> tuple[Stack, ...]:
    """Seed-OSS: as Qwen 2, with a flag for the bias behind attention."""
    is_output_biased = keys.flag("attention_out_bias")
    attention = grouped(keys, is_biased=True, is_output_biased=is_output_biased)
    return dense(keys, in_every_layer(keys, attention), gated(keys), rms(keys.whole("hidden_size")))


def smollm3(keys: Keys) -> tuple[Stack, ...]:
    """SmolLM 3: every fourth layer without rotation."""
    count, attention = keys.layers("num_hidden_layers"), grouped(keys)
    plain = replace(attention, rotary_dim=0)
    attentions = [attention if rotated else plain for rotated in rotated_layers(keys, count)]
    return dense(keys, attentions, gated(keys), rms(keys.whole("hidden_size")), is_tied=True)


def olmo(keys: Keys) -> tuple[Stack, ...]:
    """OLMo: normalisations without stored scales."""
    norm = layer_norm(keys.whole("hidden_size"), is_scaled=False, is_biased=False)
    return dense(keys, in_every_layer(keys, grouped(keys)), gated(keys), norm)


def behind(norm: Norm, *mixers: Mixer) -> Layer:
    """OLMo 2: only what is added is normalised."""
    return tuple([replace(r, before=None) for r in sandwich(norm, *mixers)])


def olmo2(keys: Keys) -> tuple[Stack, ...]:
    """OLMo 2 and 3: normalised behind attention and MLP, and queries and keys over all heads."""
    attention = grouped(keys, norm=QueryKeyNorm.ALL)
    count = keys.layers("num_hidden_layers")
    is_third = keys.text("model_type") == "olmo3"
    kinds = kinds_of(keys, count, (SLIDING, SLIDING, SLIDING, FULL) if is_third else (FULL,))
    attentions = windowed(keys, attention, kinds)
    return dense(keys, attentions, gated(keys), rms(keys.whole("hidden_size")), behind)


def exaone4(keys: Keys) -> tuple[Stack, ...]:
    """EXAONE 4: as OLMo 2, queries and keys normalised by head, windows in three of four layers."""
    attention = grouped(keys, norm=QueryKeyNorm.HEAD)
    count = keys.layers("num_hidden_layers")
    letters = keys.get("sliding_window_pattern")
    if isinstance(letters, str) and 0 < len(letters) <= count:
        pattern = tuple([SLIDING if letter == "L" else FULL for letter in letters])
    else:
        pattern = (SLIDING,) * (keys.period("sliding_window_pattern", 4) - 1) + (FULL,)
    attentions = windowed(keys, attention, kinds_of(keys, count, pattern))
    return dense(keys, attentions, gated(keys), rms(keys.whole("hidden_size")), behind)


def glm4(keys: Keys) -> tuple[Stack, ...]:
    """GLM 4: normalised before and behind, half of a head rotated."""
    attention = grouped(keys, is_biased=True, is_output_biased=False, rotary=0.5)
    norm = rms(keys.whole("hidden_size"))
    return dense(keys, in_every_layer(keys, attention), gated(keys), norm, sandwich)


def phi3(keys: Keys) -> tuple[Stack, ...]:
    """Phi 3 and 4: Llama with a window where one is stated."""
    keys.get("original_max_position_embeddings")
    return mistral(keys)


def starcoder2(keys: Keys) -> tuple[Stack, ...]:
    """StarCoder 2: layer normalisation, biases, an MLP without a gate."""
    is_biased = keys.flag("use_bias", default=True)
    attention = grouped(keys, is_biased=is_biased)
    mlp = Mlp(
        keys.whole("intermediate_size"),
        activation(keys, "hidden_act", default="gelu_pytorch_tanh"), False, is_biased,
    )  # fmt: skip
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), (SLIDING,))
    norm = layer_norm(keys.whole("hidden_size"))
    return dense(keys, windowed(keys, attention, kinds), mlp, norm, is_tied=True)


def stablelm(keys: Keys) -> tuple[Stack, ...]:
    """StableLM: layer normalisation, a quarter of a head rotated."""
    if keys.flag("qk_layernorm"):
        raise keys.unsupported("StableLM with 'qk_layernorm' is not modelled")
    is_biased = keys.flag("use_qkv_bias")
    attention = grouped(keys, is_biased=is_biased, is_output_biased=False, rotary=0.25)
    arrange = parallel if keys.flag("use_parallel_residual") else pre_norm
    norm = layer_norm(keys.whole("hidden_size"))
    return dense(keys, in_every_layer(keys, attention), gated(keys), norm, arrange)


def nemotron(keys: Keys) -> tuple[Stack, ...]:
    """Nemotron and Minitron: squared ReLU without a gate, half of a head rotated."""
    mlp = Mlp(
        keys.whole("intermediate_size"), activation(keys, "hidden_act", default="relu2"), False,
        keys.flag("mlp_bias"),
    )  # fmt: skip
    norm = layer_norm(keys.whole("hidden_size"))
    return dense(keys, in_every_layer(keys, grouped(keys, rotary=0.5)), mlp, norm)


def cohere(keys: Keys) -> tuple[Stack, ...]:
    """Command R: attention and MLP side by side behind one normalisation."""
    from ..model import NormKind

    has_norm = keys.flag("use_qk_norm")
    attention = grouped(keys, norm=QueryKeyNorm.EACH if has_norm else QueryKeyNorm.NONE)
    attention = replace(attention, norm_kind=NormKind.LAYER)
    count = keys.layers("num_hidden_layers")
    is_second = keys.text("model_type") == "cohere2"
    kinds = kinds_of(keys, count, (SLIDING, SLIDING, SLIDING, FULL) if is_second else (FULL,))
    attentions = tuple([
        replace(a, rotary_dim=0) if is_second and not a.window else a
        for a in windowed(keys, attention, kinds)
    ])  # fmt: skip
    norm = layer_norm(keys.whole("hidden_size"), is_biased=False)
    return dense(keys, attentions, gated(keys), norm, parallel, is_tied=True)


READERS = {
    "llama": llama,
    "granite": llama,
    "mistral": mistral,
    "ministral": mistral,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "seed_oss": seed_oss,
    "smollm3": smollm3,
    "olmo": olmo,
    "olmo2": olmo2,
    "olmo3": olmo2,
    "exaone4": exaone4,
    "glm4": glm4,
    "phi3": phi3,
    "starcoder2": starcoder2,
    "stablelm": stablelm,
    "nemotron": nemotron,
    "cohere": cohere,
    "cohere2": cohere,
}
