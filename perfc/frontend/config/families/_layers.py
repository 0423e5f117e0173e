"""Helpers shared by most families: activations, normalisations, windows by layer, decoders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..keys import Keys
from ..model import (
    Activation,
    Branch,
    Layer,
    Mixer,
    Norm,
    NormKind,
    OutputHead,
    Residual,
    Stack,
    TokenEmbedding,
)

ACTIVATIONS = {
    "relu": Activation.RELU, "relu2": Activation.SQUARED_RELU, "gelu": Activation.GELU,
    "gelu_python": Activation.GELU, "gelu_new": Activation.NEW_GELU,
    "gelu_fast": Activation.NEW_GELU, "gelu_pytorch_tanh": Activation.FAST_GELU,
    "quick_gelu": Activation.QUICK_GELU, "silu": Activation.SILU, "swish": Activation.SILU,
    "tanh": Activation.TANH,
}  # fmt: skip
FULL, SLIDING, CHUNKED, LINEAR = (
    "full_attention", "sliding_attention", "chunked_attention", "linear_attention",
)  # fmt: skip


def activation(keys: Keys, *names: str, default: str) -> Activation:
    """The activation under the first of these names that is there."""
    stated = next(filter(None, [keys.text(n) for n in names]), default)
    if stated not in ACTIVATIONS:
        from difflib import get_close_matches

        close = get_close_matches(stated, ACTIVATIONS, 1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(ACTIVATIONS)}"
        raise keys.unsupported(f"no activation {stated[:40]!r}", hint)
    return ACTIVATIONS[stated]


def rms(width: int, *, is_scaled: bool = True) -> Norm:
    """A normalisation without a mean."""
    return Norm(NormKind.RMS, width, is_scaled)


def layer_norm(width: int, *, is_scaled: bool = True, is_biased: bool = True) -> Norm:
    """A normalisation with a mean."""
    return Norm(NormKind.LAYER, width, is_scaled, is_biased)


def pre_norm(norm: Norm, *mixers: Mixer) -> Layer:
    """One residual for each mixer, which reads what is normalised."""
    return tuple([Residual((Branch(m),), before=norm) for m in mixers])


def post_norm(norm: Norm, *mixers: Mixer) -> Layer:
    """One residual for each mixer, whose sum is normalised."""
    return tuple([Residual((Branch(m),), last=norm) for m in mixers])


def sandwich(norm: Norm, *mixers: Mixer) -> Layer:
    """One residual for each mixer, normalised before it and behind it."""
    return tuple([Residual((Branch(m, after=norm),), before=norm) for m in mixers])


def parallel(norm: Norm, *mixers: Mixer) -> Layer:
    """One residual of all mixers, which read the same."""
    return (Residual(tuple([Branch(m) for m in mixers]), before=norm),)


def parallel_apart(norm: Norm, *mixers: Mixer) -> Layer:
    """One residual of all mixers, each with a normalisation of its own."""
    return (Residual(tuple([Branch(m, before=norm) for m in mixers])),)


def head_dim_of(keys: Keys, hidden: int, heads: int) -> int:
    """Extent of a head, by default what the width gives each."""
    stated = keys.whole("head_dim", default=0, least=0)
    return stated or keys.divided(hidden, heads, "heads")


def rotary_of(keys: Keys, head_dim: int, default: float = 1.0) -> int:
    """Elements of a head that are rotated."""
    inner = keys.inner("rope_parameters")
    stated = 0.0 if inner is None else inner.number("partial_rotary_factor", 0.0)
    share = keys.number("partial_rotary_factor", stated or default)
    if not 0 <= share <= 1:
        raise keys.wrong("partial_rotary_factor", share, "a share of a head")
    return int(head_dim * share) // 2 * 2


def rotated_layers(keys: Keys, count: int) -> tuple[bool, ...]:
    """Whether each layer rotates queries and keys; where nothing is said, all but every fourth."""
    every = keys.period("no_rope_layer_interval", 4)
    stated = keys.wholes("no_rope_layers") or [int((i + 1) % every != 0) for i in range(count)]
    if len(stated) != count:
        raise keys.wrong(
            "no_rope_layers", f"{len(stated)} items", f"one for each of {count} layers"
        )
    return tuple([bool(is_rotated) for is_rotated in stated])


def kinds_of(keys: Keys, count: int, default: Sequence[str]) -> tuple[str, ...]:
    """What each layer attends to, in the words of transformers.

    Args:
        keys: of the model.
        count: layers.
        default: the kinds of the first layers, which repeat.
    """
    stated = keys.texts("layer_types")
    if stated is None:
        return tuple([default[i % len(default)] for i in range(count)])
    if len(stated) != count:
        raise keys.wrong("layer_types", f"{len(stated)} items", f"one for each of {count} layers")
    strange = sorted(set(stated) - {FULL, SLIDING, CHUNKED, LINEAR})
    if strange:
        raise keys.unsupported(f"no kind of layer {strange[0][:40]!r}")
    return stated


def decoder(
    keys: Keys, layers: Iterable[Layer], hidden: int, norm: Norm | None, *,
    is_tied: bool = False, embedding: TokenEmbedding | None = None, is_head_biased: bool = False,
) -> tuple[Stack, ...]:  # fmt: skip
    """The only stack of a model that generates text."""
    vocab = keys.whole("vocab_size")
    tied = keys.flag("tie_word_embeddings", default=is_tied)
    return (
        Stack(
            "layers",
            hidden,
            embedding or TokenEmbedding(vocab, hidden),
            tuple(layers),
            norm,
            (OutputHead(vocab, tied, is_head_biased),),
            is_decoder=True,
        ),
    )
