"""Llama and models of its plan."""

from __future__ import annotations

from ..keys import Keys
from ..model import Attention, Mlp, Stack
from ._common import activation, decoder, pre_norm, rms


def llama(keys: Keys) -> tuple[Stack, ...]:
    """Llama 1 to 3."""
    hidden = keys.whole("hidden_size")
    heads = keys.whole("num_attention_heads")
    kv_heads = keys.whole("num_key_value_heads", default=heads)
    head_dim = keys.whole("head_dim", default=hidden // heads)
    is_biased = keys.flag("attention_bias")
    attention = Attention(
        heads, kv_heads, head_dim, rotary_dim=head_dim, query_bias=is_biased, key_bias=is_biased,
        value_bias=is_biased, output_bias=is_biased,
    )  # fmt: skip
    mlp = Mlp(
        keys.whole("intermediate_size"), activation(keys, "hidden_act", default="silu"),
        is_biased=keys.flag("mlp_bias"),
    )  # fmt: skip
    layer = pre_norm(rms(hidden), attention, mlp)
    count = keys.layers("num_hidden_layers")
    return decoder(keys, (layer,) * count, hidden, rms(hidden))


READERS = {
    "llama": llama,
}
