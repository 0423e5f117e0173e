"""GPT-2 and decoders of its time: GPT-Neo, GPT-J, NeoX, OPT, Falcon, BLOOM, MPT, Phi, BigCode."""

from __future__ import annotations

from dataclasses import replace

from ..keys import Keys
from ..model import Attention, Mlp, OutputHead, Stack, TokenEmbedding
from ._layers import (
    activation,
    decoder,
    head_dim_of,
    layer_norm,
    parallel,
    parallel_apart,
    post_norm,
    pre_norm,
    rotary_of,
)


def plain(heads: int, head_dim: int, *, is_biased: bool, kv_heads: int = 0) -> Attention:
    """Attention whose four projections have biases, or have none."""
    return Attention(
        heads, kv_heads or heads, head_dim, query_bias=is_biased, key_bias=is_biased,
        value_bias=is_biased, output_bias=is_biased,
    )  # fmt: skip


def gpt2(keys: Keys) -> tuple[Stack, ...]:
    """GPT-2, and with one head of keys StarCoder."""
    hidden, heads = keys.whole("n_embd", "hidden_size"), keys.whole("n_head", "num_attention_heads")
    head_dim = keys.divided(hidden, heads, "heads")
    is_single = keys.text("model_type") == "gpt_bigcode" and keys.flag("multi_query", default=True)
    attention = plain(heads, head_dim, is_biased=True, kv_heads=1 if is_single else heads)
    inner = keys.whole("n_inner", "intermediate_size", default=4 * hidden)
    mlp = Mlp(inner, activation(keys, "activation_function", default="gelu_new"), False, True)
    layer = pre_norm(layer_norm(hidden), attention, mlp)
    positions = keys.whole("n_positions", "max_position_embeddings", "n_ctx", default=1024)
    embedding = TokenEmbedding(keys.whole("vocab_size"), hidden, positions)
    layers = (layer,) * keys.layers("n_layer", "num_hidden_layers")
    return decoder(keys, layers, hidden, layer_norm(hidden), is_tied=True, embedding=embedding)


def gpt_neo(keys: Keys) -> tuple[Stack, ...]:
    """GPT-Neo: every other layer with a window."""
    hidden, heads = keys.whole("hidden_size"), keys.whole("num_heads")
    attention = replace(
        plain(heads, keys.divided(hidden, heads, "heads"), is_biased=False), output_bias=True
    )
    inner = keys.whole("intermediate_size", default=4 * hidden)
    mlp = Mlp(inner, activation(keys, "activation_function", default="gelu_new"), False, True)
    window = keys.whole("window_size", default=256)
    kinds: list[str] = []
    for item in keys.sequence("attention_types") or [[["global", "local"], 12]]:
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], list)):
            raise keys.wrong("attention_types", item, "a list of kinds and their repeats")
        repeats = item[1] if isinstance(item[1], int) and 0 <= item[1] <= 10_000 else 0
        kinds += [str(kind) for kind in item[0][:16]] * repeats
    count = keys.layers("num_layers")
    if len(kinds) < count:
        raise keys.wrong("attention_types", f"{len(kinds)} layers", f"of {count}")
    layers = [
        pre_norm(
            layer_norm(hidden), replace(attention, window=window if kind == "local" else 0), mlp
        )
        for kind in kinds[:count]
    ]
    embedding = TokenEmbedding(
        keys.whole("vocab_size"), hidden, keys.whole("max_position_embeddings", default=2048)
    )
    return decoder(keys, layers, hidden, layer_norm(hidden), is_tied=True, embedding=embedding)


def gptj(keys: Keys) -> tuple[Stack, ...]:
    """GPT-J and CodeGen: attention and MLP side by side."""
    hidden, heads = keys.whole("n_embd", "hidden_size"), keys.whole("n_head", "num_attention_heads")
    attention = replace(
        plain(heads, keys.divided(hidden, heads, "heads"), is_biased=False),
        rotary_dim=keys.whole("rotary_dim", default=64, least=0),
    )
    inner = keys.whole("n_inner", "intermediate_size", default=4 * hidden)
    mlp = Mlp(inner, activation(keys, "activation_function", default="gelu_new"), False, True)
    layers = (parallel(layer_norm(hidden), attention, mlp),) * keys.layers("n_layer")
    return decoder(keys, layers, hidden, layer_norm(hidden), is_head_biased=True)


def gpt_neox(keys: Keys) -> tuple[Stack, ...]:
    """GPT-NeoX and Pythia: both parts side by side, each with a normalisation."""
    hidden, heads = keys.whole("hidden_size"), keys.whole("num_attention_heads")
    head_dim = keys.divided(hidden, heads, "heads")
    attention = replace(
        plain(heads, head_dim, is_biased=keys.flag("attention_bias", default=True)),
        rotary_dim=rotary_of(keys, head_dim, keys.number("rotary_pct", 0.25)),
    )
    function = activation(keys, "hidden_act", default="gelu")
    mlp = Mlp(keys.whole("intermediate_size"), function, False, True)
    is_parallel = keys.flag("use_parallel_residual", default=True)
    arrange = parallel_apart if is_parallel else pre_norm
    norm = layer_norm(hidden)
    layers = (arrange(norm, attention, mlp),) * keys.layers("num_hidden_layers")
    return decoder(keys, layers, hidden, norm)


def opt(keys: Keys) -> tuple[Stack, ...]:
    """OPT; the 350M one normalises behind and has narrower embeddings."""
    hidden, heads = keys.whole("hidden_size"), keys.whole("num_attention_heads")
    is_biased = keys.flag("enable_bias", default=True)
    attention = plain(heads, keys.divided(hidden, heads, "heads"), is_biased=is_biased)
    function = activation(keys, "activation_function", default="relu")
    mlp = Mlp(keys.whole("ffn_dim"), function, False, is_biased)
    is_before = keys.flag("do_layer_norm_before", default=True)
    is_scaled = keys.flag("layer_norm_elementwise_affine", default=True)
    norm = layer_norm(hidden, is_scaled=is_scaled, is_biased=is_scaled)
    layer = pre_norm(norm, attention, mlp) if is_before else post_norm(norm, attention, mlp)
    width = keys.whole("word_embed_proj_dim", default=hidden)
    vocab = keys.whole("vocab_size")
    # the first two rows of the table of positions stand for padding
    positions = keys.whole("max_position_embeddings", default=2048) + 2
    embedding = TokenEmbedding(vocab, width, positions, is_projected_first=True)
    is_normed = is_before and not keys.flag("_remove_final_layer_norm")
    stack = decoder(
        keys, (layer,) * keys.layers("num_hidden_layers"), hidden, norm if is_normed else None,
        is_tied=True, embedding=embedding,
    )[0]  # fmt: skip
    if width == hidden:
        return (stack,)
    narrowed = OutputHead(vocab, stack.heads[0].is_tied, inner=width, is_inner_biased=False)
    return (replace(stack, heads=(narrowed,)),)


def falcon(keys: Keys) -> tuple[Stack, ...]:
    """Falcon: side by side with one normalisation or two; the first ones with ALiBi."""
    hidden = keys.whole("hidden_size", "n_embed")
    heads = keys.whole("num_attention_heads", "n_head")
    is_new = keys.flag("new_decoder_architecture")
    is_alibi = keys.flag("alibi")
    is_single = keys.flag("multi_query", default=True)
    grouped = keys.whole("num_kv_heads", "n_head_kv", default=heads)
    kv_heads = grouped if is_new else 1 if is_single else heads
    is_biased = keys.flag("bias")
    head_dim = keys.divided(hidden, heads, "heads")
    attention = replace(
        plain(heads, head_dim, is_biased=is_biased, kv_heads=kv_heads), is_biased=is_alibi,
        rotary_dim=0 if is_alibi else head_dim,
    )  # fmt: skip
    inner = keys.whole("ffn_hidden_size", default=4 * hidden)
    mlp = Mlp(inner, activation(keys, "activation", default="gelu"), False, is_biased)
    norms = keys.whole("num_ln_in_parallel_attn", default=2 if is_new else 1, least=0)
    arrange = pre_norm
    if keys.flag("parallel_attn", default=True) or is_new:
        arrange = parallel_apart if is_new and norms == 2 else parallel
    norm = layer_norm(hidden)
    layers = (arrange(norm, attention, mlp),) * keys.layers("num_hidden_layers", "n_layer")
    return decoder(keys, layers, hidden, norm, is_tied=True)


def bloom(keys: Keys) -> tuple[Stack, ...]:
    """BLOOM: ALiBi, embeddings normalised."""
    hidden = keys.whole("hidden_size", "n_embed")
    heads = keys.whole("n_head", "num_attention_heads")
    head_dim = keys.divided(hidden, heads, "heads")
    attention = replace(plain(heads, head_dim, is_biased=True), is_biased=True)
    # transformers, modeling_bloom.py: an autograd function of its own, which keeps the operand
    mlp = Mlp(4 * hidden, activation(keys, default="gelu_pytorch_tanh"), False, True)
    norm = layer_norm(hidden)
    embedding = TokenEmbedding(keys.whole("vocab_size"), hidden, norm=norm)
    layers = (pre_norm(norm, attention, mlp),) * keys.layers("n_layer", "num_hidden_layers")
    return decoder(keys, layers, hidden, norm, is_tied=True, embedding=embedding)


def mpt(keys: Keys) -> tuple[Stack, ...]:
    """MPT: ALiBi, no biases."""
    hidden, heads = keys.whole("d_model", "hidden_size"), keys.whole("n_heads")
    inner = keys.inner("attn_config")
    kv_heads = heads if inner is None else inner.whole("kv_n_heads", default=heads)
    if kv_heads != heads:
        raise keys.unsupported("MPT with fewer heads of keys is not modelled")
    is_biased = not keys.flag("no_bias", default=True)
    attention = replace(
        plain(heads, keys.divided(hidden, heads, "heads"), is_biased=False), is_biased=True
    )
    ratio = keys.whole("expansion_ratio", default=4)
    mlp = Mlp(ratio * hidden, activation(keys, default="gelu"), False, is_biased)
    norm = layer_norm(hidden, is_biased=is_biased)
    layers = (pre_norm(norm, attention, mlp),) * keys.layers("n_layers")
    return decoder(keys, layers, hidden, norm, is_tied=True)


def phi(keys: Keys) -> tuple[Stack, ...]:
    """Phi 1 to 2: side by side, biases everywhere, part of a head rotated."""
    if keys.flag("qk_layernorm"):
        raise keys.unsupported("Phi with 'qk_layernorm' is not modelled")
    hidden, heads = keys.whole("hidden_size"), keys.whole("num_attention_heads")
    head_dim = head_dim_of(keys, hidden, heads)
    kv_heads = keys.whole("num_key_value_heads", default=heads)
    attention = replace(
        plain(heads, head_dim, is_biased=True, kv_heads=kv_heads),
        rotary_dim=rotary_of(keys, head_dim, 0.5),
    )
    function = activation(keys, "hidden_act", default="gelu_new")
    mlp = Mlp(keys.whole("intermediate_size"), function, False, True)
    norm = layer_norm(hidden)
    layers = (parallel(norm, attention, mlp),) * keys.layers("num_hidden_layers")
    return decoder(keys, layers, hidden, norm, is_head_biased=True)


READERS = {
    "gpt2": gpt2,
    "gpt_bigcode": gpt2,
    "gpt_neo": gpt_neo,
    "gptj": gptj,
    "codegen": gptj,
    "gpt_neox": gpt_neox,
    "opt": opt,
    "falcon": falcon,
    "bloom": bloom,
    "mpt": mpt,
    "phi": phi,
}
