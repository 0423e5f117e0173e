"""Read encoder–decoder models: the T5 family, BART, Whisper.

Defaults of keys are those of the configuration classes of transformers.
"""

from __future__ import annotations

from dataclasses import replace

from ..keys import Keys
from ..model import Attention, Layer, Mixer, Mlp, OutputHead, SoundEmbedding, Stack, TokenEmbedding
from ._layers import activation, layer_norm, plain, post_norm, pre_norm, rms


def t5(keys: Keys) -> tuple[Stack, ...]:
    """Return T5, mT5 or UMT5, which has a separate relative bias in every layer."""
    hidden, heads = keys.whole("d_model"), keys.whole("num_heads")
    buckets = keys.whole("relative_attention_num_buckets", default=32)
    # read only so that the key counts as known: it changes the contents of the bias, not its size
    keys.whole("relative_attention_max_distance", default=128)
    is_stored_per_layer = keys.text("model_type") == "umt5"
    bidirectional = Attention(heads, heads, keys.whole("d_kv"), is_causal=False, is_biased=True)
    feed_forward = keys.text("feed_forward_proj", "relu")
    # two more keys that count as known: transformers derives both from feed_forward_proj
    keys.text("dense_act_fn")
    keys.flag("is_gated_act")
    is_gated = feed_forward.startswith("gated-")
    # transformers reads "gated-gelu" as the tanh form, for the checkpoints of T5 1.1
    name = "gelu_new" if feed_forward == "gated-gelu" else feed_forward.removeprefix("gated-")
    function = activation(Keys({"act": name}, keys.where), "act", default="relu")
    mlp = Mlp(keys.whole("d_ff"), function, is_gated)
    norm, vocab = rms(hidden), keys.whole("vocab_size")

    def layers(attention: Attention, count: int, *, is_crossed: bool) -> tuple[Layer, ...]:
        # the table of the bias is stored in the first layer, or in each
        first = replace(attention, buckets=buckets)
        cross = replace(attention, is_cross=True, is_biased=False)
        return tuple(
            pre_norm(
                norm,
                first if i == 0 or is_stored_per_layer else attention,
                *((cross,) if is_crossed else ()),
                mlp,
            )
            for i in range(count)
        )

    count = keys.layers("num_layers")
    decoder_count = keys.layers("num_decoder_layers", default=count)
    embedding = TokenEmbedding(vocab, hidden)
    encoder = Stack(
        "encoder", hidden, embedding, layers(bidirectional, count, is_crossed=False), norm
    )
    causal = replace(bidirectional, is_causal=True)
    decoder = Stack(
        "decoder",
        hidden,
        embedding,
        layers(causal, decoder_count, is_crossed=True),
        norm,
        (OutputHead(vocab, is_tied=keys.flag("tie_word_embeddings", default=True)),),
        is_decoder=True,
    )
    return encoder, decoder


def bart(keys: Keys) -> tuple[Stack, ...]:
    """Return BART: norms behind, learned positions."""
    hidden, vocab = keys.whole("d_model"), keys.whole("vocab_size")
    # the first two rows of the table of positions stand for padding
    positions = keys.whole("max_position_embeddings", default=1024) + 2
    embedding = TokenEmbedding(vocab, hidden, positions, norm=layer_norm(hidden))
    return translator(keys, embedding, embedding, is_before=False)


def whisper(keys: Keys) -> tuple[Stack, ...]:
    """Return Whisper: a window of sound through two convolutions, then as a translator."""
    sound = SoundEmbedding(
        keys.whole("num_mel_bins", default=80), keys.whole("max_source_positions", default=1500)
    )
    positions = keys.whole("max_target_positions", default=448)
    words = TokenEmbedding(keys.whole("vocab_size"), keys.whole("d_model"), positions)
    return translator(keys, sound, words, is_before=True)


def translator(
    keys: Keys,
    source: TokenEmbedding | SoundEmbedding,
    target: TokenEmbedding,
    *,
    is_before: bool,
) -> tuple[Stack, Stack]:
    """Return an encoder and a decoder.

    Args:
        keys: keys of the model.
        source: input of the encoder.
        target: input of the decoder.
        is_before: True for norms before the mixers and keys without a bias (Whisper), False for
            norms behind them and keys with a bias (BART).
    """
    hidden = keys.whole("d_model")
    function = activation(keys, "activation_function", default="gelu")
    norm = layer_norm(hidden)

    def stack(name: str, embedding: TokenEmbedding | SoundEmbedding, *, is_last: bool) -> Stack:
        heads = keys.whole(f"{name}_attention_heads")
        attention = replace(
            plain(heads, keys.divided(hidden, heads, "heads"), is_biased=True),
            key_bias=not is_before,
            is_causal=is_last,
        )
        mixers: tuple[Mixer, ...] = (attention,)
        if is_last:
            mixers = (attention, replace(attention, is_cross=True))
        mlp = Mlp(keys.whole(f"{name}_ffn_dim"), function, is_gated=False, is_biased=True)
        layer = (pre_norm if is_before else post_norm)(norm, *mixers, mlp)
        is_tied = keys.flag("tie_word_embeddings", default=True)
        head = OutputHead(keys.whole("vocab_size"), is_tied)
        return Stack(
            name,
            hidden,
            embedding,
            (layer,) * keys.layers(f"{name}_layers"),
            norm if is_before else None,
            (head,) if is_last else (),
            is_decoder=is_last,
        )

    return stack("encoder", source, is_last=False), stack("decoder", target, is_last=True)


READERS = {
    "t5": t5,
    "mt5": t5,
    "umt5": t5,
    "bart": bart,
    "whisper": whisper,
}
