"""Decoders of Llama's plan with experts: Mixtral, Qwen, OLMoE, Phi, Granite, gpt-oss, Llama 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..keys import Keys
from ..model import DeltaNet, Experts, Mixer, Mlp, QueryKeyNorm, Stack
from ._layers import (
    CHUNKED,
    FULL,
    LINEAR,
    SLIDING,
    activation,
    decoder,
    kinds_of,
    layer_norm,
    pre_norm,
    rms,
    rotated_layers,
)
from .llama import dense, gated, grouped, in_every_layer, qwen_kinds, windowed


def mixed(keys: Keys, attentions: Sequence[Mixer], mlps: Sequence[Mixer]) -> tuple[Stack, ...]:
    """A decoder of layers with dense MLPs and with experts."""
    norm = rms(keys.whole("hidden_size"))
    pairs = list(zip(attentions, mlps, strict=True))
    made = {pair: pre_norm(norm, *pair) for pair in dict.fromkeys(pairs)}
    return decoder(keys, [made[pair] for pair in pairs], norm.width, norm)


def local_experts(keys: Keys, default: int = 8) -> Experts:
    """Experts in the words of Mixtral's configuration."""
    return Experts(
        keys.whole("num_local_experts", default=default),
        keys.whole("num_experts_per_tok", default=2), keys.whole("intermediate_size"),
        activation(keys, "hidden_act", default="silu"),
    )  # fmt: skip


def mixtral(keys: Keys) -> tuple[Stack, ...]:
    """Mixtral: Mistral with experts in every layer."""
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), (SLIDING,))
    norm = rms(keys.whole("hidden_size"))
    return dense(keys, windowed(keys, grouped(keys), kinds), local_experts(keys), norm)


def minimax_m2(keys: Keys) -> tuple[Stack, ...]:
    """MiniMax M2: queries and keys normalised over all heads, many small experts."""
    norm = QueryKeyNorm.ALL if keys.flag("use_qk_norm", default=True) else QueryKeyNorm.NONE
    head_dim = keys.whole("head_dim", default=128)
    rotated = keys.whole("rotary_dim", default=head_dim // 2, least=0)
    attention = replace(grouped(keys, norm=norm), rotary_dim=min(rotated, head_dim) // 2 * 2)
    is_biased = keys.flag("use_routing_bias", default=True)
    experts = replace(local_experts(keys, 256), is_choice_biased=is_biased)
    return dense(keys, in_every_layer(keys, attention), experts, rms(keys.whole("hidden_size")))


def granitemoe(keys: Keys) -> tuple[Stack, ...]:
    """Granite with experts."""
    norm = rms(keys.whole("hidden_size"))
    return dense(keys, in_every_layer(keys, grouped(keys)), local_experts(keys), norm)


def phimoe(keys: Keys) -> tuple[Stack, ...]:
    """Phi 3.5 MoE: layer normalisation and biases."""
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), (SLIDING,))
    norm = layer_norm(keys.whole("hidden_size"))
    is_biased = keys.flag("lm_head_bias")
    attentions = windowed(keys, grouped(keys), kinds)
    return dense(keys, attentions, local_experts(keys, 16), norm, is_head_biased=is_biased)


def olmoe(keys: Keys) -> tuple[Stack, ...]:
    """OLMoE: queries and keys normalised over all heads."""
    experts = Experts(
        keys.whole("num_experts", default=64), keys.whole("num_experts_per_tok", default=8),
        keys.whole("intermediate_size"), activation(keys, "hidden_act", default="silu"),
    )  # fmt: skip
    norm = rms(keys.whole("hidden_size"))
    return dense(keys, in_every_layer(keys, grouped(keys, norm=QueryKeyNorm.ALL)), experts, norm)


def qwen_experts(keys: Keys) -> Experts:
    """Experts in the words of Qwen's configuration."""
    function = activation(keys, "hidden_act", default="silu")
    shared = keys.whole("shared_expert_intermediate_size", default=0, least=0)
    return Experts(
        keys.whole("num_experts"), keys.whole("num_experts_per_tok"),
        keys.whole("moe_intermediate_size"), function,
        shared=Mlp(shared, function) if shared else None, is_shared_gated=bool(shared),
    )  # fmt: skip


def qwen_mlps(keys: Keys) -> tuple[Mixer, ...]:
    """Experts, but for the layers that are stated to be dense."""
    step = keys.whole("decoder_sparse_step", default=1)
    plain = set(keys.wholes("mlp_only_layers") or ())
    experts, mlp = qwen_experts(keys), gated(keys)
    return tuple([
        mlp if i in plain or (i + 1) % step else experts
        for i in range(keys.layers("num_hidden_layers"))
    ])  # fmt: skip


def qwen2_moe(keys: Keys) -> tuple[Stack, ...]:
    """Qwen 1.5 and 2 with experts."""
    is_biased = keys.flag("qkv_bias", default=True)
    attention = grouped(keys, is_biased=is_biased, is_output_biased=False)
    return mixed(keys, windowed(keys, attention, qwen_kinds(keys)), qwen_mlps(keys))


def qwen3_moe(keys: Keys) -> tuple[Stack, ...]:
    """Qwen 3 with experts."""
    attention = grouped(keys, norm=QueryKeyNorm.HEAD)
    return mixed(keys, windowed(keys, attention, qwen_kinds(keys)), qwen_mlps(keys))


def qwen3_next(keys: Keys) -> tuple[Stack, ...]:
    """Qwen 3 Next: three gated delta nets to one gated attention."""
    attention = replace(grouped(keys, norm=QueryKeyNorm.HEAD, rotary=0.25), is_gated=True)
    delta = DeltaNet(
        keys.whole("linear_num_key_heads", default=16),
        keys.whole("linear_num_value_heads", default=32),
        keys.whole("linear_key_head_dim", default=128),
        keys.whole("linear_value_head_dim", default=128),
        keys.whole("linear_conv_kernel_dim", default=4),
    )
    every = keys.period("full_attention_interval", 4)
    default = (LINEAR,) * (every - 1) + (FULL,)
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), default)
    mixers = [delta if kind == LINEAR else attention for kind in kinds]
    return mixed(keys, mixers, qwen_mlps(keys))


def gpt_oss(keys: Keys) -> tuple[Stack, ...]:
    """gpt-oss: biases, a score without a token for each head, every other layer with a window."""
    attention = replace(grouped(keys, is_biased=True), has_sinks=True)
    experts = replace(local_experts(keys, 128), is_biased=True, is_router_biased=True)
    keys.whole("experts_per_token", default=4)
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), (SLIDING, FULL))
    norm = rms(keys.whole("hidden_size"))
    return dense(keys, windowed(keys, attention, kinds), experts, norm)


def llama4(keys: Keys) -> tuple[Stack, ...]:
    """Llama 4: chunks where it rotates, experts in every layer or every other one."""
    count = keys.layers("num_hidden_layers")
    plain = replace(grouped(keys), rotary_dim=0)
    is_normed = keys.flag("use_qk_norm", default=True)
    norm = QueryKeyNorm.HEAD if is_normed else QueryKeyNorm.NONE
    rotated = replace(grouped(keys), norm=norm, is_norm_scaled=False)
    is_rotated_layer = rotated_layers(keys, count)
    chunk = keys.whole("attention_chunk_size", default=8192, least=0)
    default = [CHUNKED if is_rotated else FULL for is_rotated in is_rotated_layer]
    kinds = kinds_of(keys, count, default or [FULL])
    attentions = [
        replace(rotated if is_rotated else plain, chunk=chunk if kind == CHUNKED else 0)
        for is_rotated, kind in zip(is_rotated_layer, kinds, strict=True)
    ]
    function, inner = (
        activation(keys, "hidden_act", default="silu"),
        keys.whole("intermediate_size"),
    )
    experts = Experts(
        keys.whole("num_local_experts", default=16), keys.whole("num_experts_per_tok", default=1),
        inner, function, shared=Mlp(inner, function),
    )  # fmt: skip
    mlp = Mlp(keys.whole("intermediate_size_mlp", default=inner), function)
    step = keys.whole("interleave_moe_layer_step", default=1)
    routed = set(keys.wholes("moe_layers") or range(step - 1, count, step))
    mlps = [experts if i in routed else mlp for i in range(count)]
    return mixed(keys, attentions, mlps)


READERS = {
    "mixtral": mixtral,
    "minimax_m2": minimax_m2,
    "granitemoe": granitemoe,
    "phimoe": phimoe,
    "olmoe": olmoe,
    "qwen2_moe": qwen2_moe,
    "qwen3_moe": qwen3_moe,
    "qwen3_next": qwen3_next,
    "gpt_oss": gpt_oss,
    "llama4_text": llama4,
}
