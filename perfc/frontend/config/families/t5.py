"""Encoder–decoder models: the T5 family, BART, Whisper."""

from __future__ import annotations

from dataclasses import replace

from ..keys import Keys
from ..model import Attention, Layer, Mlp, Norm, OutputHead, SoundEmbedding, Stack, TokenEmbedding
from ._layers import activation, layer_norm, plain, post_norm, pre_norm, rms


def t5(keys: Keys) -> tuple[Stack, ...]:
    """T5, mT5 and UMT5, which has a separate relative bias in every layer."""
    hidden, heads = keys.whole("d_model"), keys.whole("num_heads")
    buckets = keys.whole("relative_attention_num_buckets", default=32)
    keys.whole("relative_attention_max_distance", default=128)
    is_each = keys.text("model_type") == "umt5"
    bidirectional = Attention(heads, heads, keys.whole("d_kv"), is_causal=False, is_biased=True)
    feed_forward = keys.text("feed_forward_proj", "relu")
    keys.text("dense_act_fn")
    keys.flag("is_gated_act")
    is_gated = feed_forward.startswith("gated-")
    name = "gelu_new" if feed_forward == "gated-gelu" else feed_forward.removeprefix("gated-")
    function = activation(Keys({"act": name}, keys.where), "act", default="relu")
    mlp, norm, vocab = (
        Mlp(keys.whole("d_ff"), function, is_gated),
        rms(hidden),
        keys.whole("vocab_size"),
    )

    def layers(attention: Attention, count: int, *, is_crossed: bool) -> tuple[Layer, ...]:
        first = replace(attention, buckets=buckets)
        cross = replace(attention, is_cross=True, is_biased=False)
        return tuple(
            [
                pre_norm(
                    norm,
                    first if i == 0 or is_each else attention,
                    *((cross,) if is_crossed else ()),
                    mlp,
                )
                for i in range(count)
            ]
        )

    count = keys.layers("num_layers")
    later = keys.layers("num_decoder_layers", default=count)
    embedding = TokenEmbedding(vocab, hidden)
    tied = keys.flag("tie_word_embeddings", default=True)
    encoder = Stack(
        "encoder", hidden, embedding, layers(bidirectional, count, is_crossed=False), norm
    )
    causal = replace(bidirectional, is_causal=True)
    decoder = Stack(
        "decoder",
        hidden,
        embedding,
        layers(causal, later, is_crossed=True),
        norm,
        (OutputHead(vocab, tied),),
        is_decoder=True,
    )
    return encoder, decoder


def bart(keys: Keys) -> tuple[Stack, ...]:
    """BART: normalised behind, learned positions."""
    hidden, vocab = keys.whole("d_model"), keys.whole("vocab_size")
    function = activation(keys, "activation_function", default="gelu")
    norm = layer_norm(hidden)
    # the first two rows of the table of positions stand for padding
    positions = keys.whole("max_position_embeddings", default=1024) + 2
    embedding = TokenEmbedding(vocab, hidden, positions, norm=norm)
    stacks: list[Stack] = []
    for name in ("encoder", "decoder"):
        heads = keys.whole(f"{name}_attention_heads")
        attention = plain(heads, keys.divided(hidden, heads, "heads"), is_biased=True)
        mlp = Mlp(keys.whole(f"{name}_ffn_dim"), function, False, True)
        is_last = name == "decoder"
        mixers = (
            (attention, replace(attention, is_cross=True))
            if is_last
            else (replace(attention, is_causal=False),)
        )
        layer = post_norm(norm, *mixers, mlp)
        tied = keys.flag("tie_word_embeddings", default=True)
        stacks.append(
            Stack(
                name,
                hidden,
                embedding,
                (layer,) * keys.layers(f"{name}_layers"),
                None,
                (OutputHead(vocab, tied),) if is_last else (),
                is_decoder=is_last,
            )
        )
    return tuple(stacks)


def whisper(keys: Keys) -> tuple[Stack, ...]:
    """Whisper: a window of sound through two convolutions, then as a translator."""
    hidden, vocab = keys.whole("d_model"), keys.whole("vocab_size")
    function = activation(keys, "activation_function", default="gelu")
    norm: Norm = layer_norm(hidden)
    sound = SoundEmbedding(
        keys.whole("num_mel_bins", default=80), keys.whole("max_source_positions", default=1500)
    )
    words = TokenEmbedding(vocab, hidden, keys.whole("max_target_positions", default=448))
    stacks: list[Stack] = []
    for name in ("encoder", "decoder"):
        heads = keys.whole(f"{name}_attention_heads")
        attention = replace(
            plain(heads, keys.divided(hidden, heads, "heads"), is_biased=True), key_bias=False
        )
        mlp = Mlp(keys.whole(f"{name}_ffn_dim"), function, False, True)
        is_last = name == "decoder"
        mixers = (
            (attention, replace(attention, is_cross=True))
            if is_last
            else (replace(attention, is_causal=False),)
        )
        layers = (pre_norm(norm, *mixers, mlp),) * keys.layers(f"{name}_layers")
        head = (
            (OutputHead(vocab, keys.flag("tie_word_embeddings", default=True)),) if is_last else ()
        )
        embedding = words if is_last else sound
        stacks.append(Stack(name, hidden, embedding, layers, norm, head, is_decoder=is_last))
    return tuple(stacks)


READERS = {
    "t5": t5,
    "mt5": t5,
    "umt5": t5,
    "bart": bart,
    "whisper": whisper,
}
