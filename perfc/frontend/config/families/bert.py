"""Read encoders of text: BERT, RoBERTa, DistilBERT, ELECTRA, MPNet, DeBERTa, ModernBERT.

Defaults of keys are those of the configuration classes of transformers.
"""

from __future__ import annotations

from dataclasses import replace

from ..keys import Keys
from ..model import (
    Activation,
    Attention,
    Layer,
    Mlp,
    Norm,
    OutputHead,
    Stack,
    TokenEmbedding,
)
from ._layers import activation, biased_mlp, layer_norm, plain, post_norm, pre_norm


def encoder(
    layers: tuple[Layer, ...],
    embedding: TokenEmbedding,
    hidden: int,
    heads: tuple[OutputHead, ...],
    norm: Norm | None = None,
) -> tuple[Stack, ...]:
    """Return the only stack of a model that reads text."""
    return (Stack("layers", hidden, embedding, layers, norm, heads),)


def own_attention(keys: Keys, hidden: int, *, is_biased: bool = True) -> Attention:
    """Return attention to all tokens, with biases or without."""
    heads = keys.whole("num_attention_heads", "n_heads")
    head_dim = keys.divided(hidden, heads, "heads")
    return replace(plain(heads, head_dim, is_biased=is_biased), is_causal=False)


def task(keys: Keys) -> str:
    """Return the task of the class in the configuration: ``MaskedLM``, or "" for the plain one."""
    name = (keys.texts("architectures") or ("",))[0]
    return name.partition("For")[2]


def text_heads(
    keys: Keys, hidden: int, *, has_pooler: bool, width: int = 0
) -> tuple[OutputHead, ...]:
    """Return the output heads, by the class in the configuration.

    Args:
        keys: keys of the model.
        hidden: width of the layers.
        has_pooler: whether the plain model has a pooler; a class of a task that is not listed
            here counts as the plain model.
        width: width of the head of masked tokens before its last product; 0 for ``hidden``.
    """
    width = width or hidden
    vocab = keys.whole("vocab_size")
    function = activation(keys, "hidden_act", "activation", default="gelu")
    tied = keys.flag("tie_word_embeddings", default=True)
    # the product of a pooler is the inner one; a head of width 0 has no other
    pooler = OutputHead(0, inner=hidden, activation=Activation.TANH, is_first_token=True)
    match task(keys):
        case "MaskedLM" | "PreTraining":
            head = OutputHead(vocab, is_tied=tied, is_biased=True, inner=width)
            return (replace(head, activation=function, norm=layer_norm(width)),)
        case "SequenceClassification":
            # transformers writes a name per label, or its default of two labels
            labels = len(keys.get("id2label") or {}) or keys.whole("num_labels", default=2)
            return (replace(pooler, width=labels, is_biased=True),)
        case _:
            return (pooler,) if has_pooler else ()


def bert(keys: Keys) -> tuple[Stack, ...]:
    """Return BERT, RoBERTa or ELECTRA: norms behind, tables of positions and of token types."""
    hidden = keys.whole("hidden_size")
    if keys.text("position_embedding_type", "absolute") != "absolute":
        raise keys.unsupported("BERT with relative positions is not modeled")
    attention = own_attention(keys, hidden)
    mlp = biased_mlp(keys)
    width = keys.whole("embedding_size", default=hidden)
    embedding = TokenEmbedding(
        keys.whole("vocab_size"),
        width,
        positions=keys.whole("max_position_embeddings", default=512),
        types=keys.whole("type_vocab_size", default=2, least=0),
        norm=layer_norm(width),
        is_projection_biased=True,  # ELECTRA's, from a narrower embedding to the layers
    )
    layers = (post_norm(layer_norm(hidden), attention, mlp),) * keys.layers("num_hidden_layers")
    has_pooler = keys.text("model_type") != "electra"
    heads = text_heads(keys, hidden, has_pooler=has_pooler, width=width)
    return encoder(layers, embedding, hidden, heads)


def distilbert(keys: Keys) -> tuple[Stack, ...]:
    """Return DistilBERT: BERT without token types."""
    hidden = keys.whole("dim")
    attention = own_attention(keys, hidden)
    mlp = biased_mlp(keys)
    positions = keys.whole("max_position_embeddings", default=512)
    embedding = TokenEmbedding(keys.whole("vocab_size"), hidden, positions, norm=layer_norm(hidden))
    layers = (post_norm(layer_norm(hidden), attention, mlp),) * keys.layers("n_layers")
    heads = text_heads(keys, hidden, has_pooler=False)
    return encoder(layers, embedding, hidden, heads)


def mpnet(keys: Keys) -> tuple[Stack, ...]:
    """Return MPNet: BERT with a relative bias that all layers share."""
    hidden = keys.whole("hidden_size")
    attention = replace(own_attention(keys, hidden), is_biased=True)
    buckets = keys.whole("relative_attention_num_buckets", default=32)
    mlp = biased_mlp(keys)
    embedding = TokenEmbedding(
        keys.whole("vocab_size"),
        hidden,
        keys.whole("max_position_embeddings", default=512),
        norm=layer_norm(hidden),
    )
    # the first layer has the table of the bias
    first = replace(attention, buckets=buckets)
    norm = layer_norm(hidden)
    layers = tuple(
        post_norm(norm, attention if i else first, mlp)
        for i in range(keys.layers("num_hidden_layers"))
    )
    return encoder(layers, embedding, hidden, text_heads(keys, hidden, has_pooler=True))


def deberta(keys: Keys) -> tuple[Stack, ...]:
    """Return DeBERTa 2 or 3: scores of contents and of relative positions."""
    hidden = keys.whole("hidden_size")
    for name in ("relative_attention", "share_att_key"):
        if not keys.flag(name):
            raise keys.unsupported(f"DeBERTa without '{name}' is not modeled")
    # a list, or a text with bars between
    kinds = keys.get("pos_att_type") or ()
    if {*(kinds.split("|") if isinstance(kinds, str) else kinds)} != {"c2p", "p2c"}:
        raise keys.unsupported("DeBERTa without c2p and p2c in 'pos_att_type' is not modeled")
    if keys.whole("conv_kernel_size", default=0, least=0):
        raise keys.unsupported("DeBERTa with a convolution ('conv_kernel_size') is not modeled")
    positions = keys.whole("max_position_embeddings", default=512)
    buckets = keys.whole("position_buckets", default=-1, least=-1)
    max_distance = keys.whole("max_relative_positions", default=-1, least=-1)
    # -1 stands for a value that is not given; distances go both ways
    span = next((n for n in (buckets, max_distance) if n > 0), positions)
    attention = replace(own_attention(keys, hidden), distances=2 * span)
    mlp = biased_mlp(keys)
    width = keys.whole("embedding_size", default=hidden)
    has_positions = keys.flag("position_biased_input", default=True)
    embedding = TokenEmbedding(
        keys.whole("vocab_size"),
        width,
        positions=positions if has_positions else 0,
        types=keys.whole("type_vocab_size", default=0, least=0),
        norm=layer_norm(hidden),
    )
    layers = (post_norm(layer_norm(hidden), attention, mlp),) * keys.layers("num_hidden_layers")
    heads = text_heads(keys, hidden, has_pooler=False)
    return encoder(layers, embedding, hidden, heads)


def modernbert(keys: Keys) -> tuple[Stack, ...]:
    """Return ModernBERT: gated GELU, rotation, windows in two of three layers."""
    hidden, count = keys.whole("hidden_size"), keys.layers("num_hidden_layers")
    attention = own_attention(keys, hidden, is_biased=keys.flag("attention_bias"))
    attention = replace(attention, rotary_dim=attention.head_dim)
    # a token sees half of the window on each side and itself
    window = keys.whole("local_attention", default=128) // 2 * 2 + 1
    period = keys.whole("global_attn_every_n_layers", default=3)
    function = activation(keys, "hidden_activation", default="gelu")
    mlp = Mlp(keys.whole("intermediate_size"), function, is_biased=keys.flag("mlp_bias"))
    norm = layer_norm(hidden, is_biased=keys.flag("norm_bias"))
    layers: list[Layer] = []
    for i in range(count):
        layer = pre_norm(norm, replace(attention, window=0 if i % period == 0 else window), mlp)
        # the first layer reads the embedding, which is normalised already
        layers.append((replace(layer[0], before=None), *layer[1:]) if i == 0 else layer)
    vocab = keys.whole("vocab_size")
    # any other class counts as the plain model, which has no head
    heads = (
        (
            OutputHead(
                vocab,
                is_tied=keys.flag("tie_word_embeddings", default=True),
                is_biased=True,
                inner=hidden,
                is_inner_biased=keys.flag("classifier_bias"),
                activation=activation(keys, "classifier_activation", default="gelu"),
                norm=norm,
            ),
        )
        if task(keys) == "MaskedLM"
        else ()
    )
    embedding = TokenEmbedding(vocab, hidden, norm=norm)
    return encoder(tuple(layers), embedding, hidden, heads, norm)


READERS = {
    "bert": bert,
    "roberta": bert,
    "xlm-roberta": bert,
    "camembert": bert,
    "electra": bert,
    "deberta-v2": deberta,
    "distilbert": distilbert,
    "mpnet": mpnet,
    "modernbert": modernbert,
}
