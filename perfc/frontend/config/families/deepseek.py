"""DeepSeek and models of its plan: latent attention, many small experts."""

from __future__ import annotations

from ..keys import Keys
from ..model import Experts, LatentAttention, Mixer, Mlp, QueryKeyNorm, Stack
from ._layers import activation
from .llama import grouped, in_every_layer
from .moe import mixed


def latent(keys: Keys) -> LatentAttention:
    """Latent attention in the words of DeepSeek's configuration."""
    return LatentAttention(
        keys.whole("num_attention_heads"),
        keys.whole("q_lora_rank", default=0, least=0),
        keys.whole("kv_lora_rank"),
        keys.whole("qk_nope_head_dim"),
        keys.whole("qk_rope_head_dim"),
        keys.whole("v_head_dim"),
        keys.flag("attention_bias"),
    )


def routed(keys: Keys) -> Experts:
    """Routed and shared experts in the words of DeepSeek's configuration."""
    function, inner = activation(keys, "hidden_act", default="silu"), keys.whole(
        "moe_intermediate_size"
    )  # fmt: skip
    shared = keys.whole("n_shared_experts", default=0, least=0)
    is_corrected = keys.text("topk_method", "noaux_tc") == "noaux_tc"
    return Experts(
        keys.whole("n_routed_experts"), keys.whole("num_experts_per_tok"), inner, function,
        shared=Mlp(inner * shared, function) if shared else None, is_choice_biased=is_corrected,
    )  # fmt: skip


def mlps(keys: Keys) -> tuple[Mixer, ...]:
    """Dense in the first layers, experts behind them."""
    experts = routed(keys)
    mlp = Mlp(keys.whole("intermediate_size"), experts.activation)
    first = keys.whole("first_k_dense_replace", default=0, least=0)
    every = keys.whole("moe_layer_freq", default=1)
    return tuple([
        experts if i >= first and i % every == 0 else mlp
        for i in range(keys.layers("num_hidden_layers"))
    ])  # fmt: skip


def deepseek(keys: Keys) -> tuple[Stack, ...]:
    """DeepSeek V2 and V3, Kimi K2."""
    keys.whole("num_key_value_heads", default=1)
    attention = latent(keys)
    return mixed(keys, (attention,) * keys.layers("num_hidden_layers"), mlps(keys))


def glm4_moe(keys: Keys) -> tuple[Stack, ...]:
    """GLM 4.5: grouped attention, half of a head rotated, with experts as DeepSeek V3."""
    norm = QueryKeyNorm.HEAD if keys.flag("use_qk_norm") else QueryKeyNorm.NONE
    attention = grouped(keys, is_output_biased=False, norm=norm, rotary=0.5)
    return mixed(keys, in_every_layer(keys, attention), mlps(keys))


READERS = {
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "kimi_k2": deepseek,
    "glm4_moe": glm4_moe,
}
