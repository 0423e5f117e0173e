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
    """Return the activation under the first of these names that is present."""
    given = next(filter(None, [keys.text(n) for n in names]), default)
    if given not in ACTIVATIONS:
        from difflib import get_close_matches

        close = get_close_matches(given, ACTIVATIONS, 1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(ACTIVATIONS)}"
        raise keys.unsupported(f"no activation {given[:40]!r}", hint)
    return ACTIVATIONS[given]


def rms(width: int, *, is_scaled: bool = True) -> Norm:
    """Return a normalization without a mean."""
    return Norm(NormKind.RMS, width, is_scaled)


def layer_norm(width: int, *, is_scaled: bool = True, is_biased: bool = True) -> Norm:
    """Return a normalization with a mean."""
    return Norm(NormKind.LAYER, width, is_scaled, is_biased)


def pre_norm(norm: Norm, *mixers: Mixer) -> Layer:
    """Return one residual per mixer, which reads normalized values."""
    return tuple([Residual((Branch(m),), before=norm) for m in mixers])


def post_norm(norm: Norm, *mixers: Mixer) -> Layer:
    """Return one residual per mixer, whose sum is normalized."""
    return tuple([Residual((Branch(m),), last=norm) for m in mixers])


def sandwich(norm: Norm, *mixers: Mixer) -> Layer:
    """Return one residual per mixer, normalized before and after it."""
    return tuple([Residual((Branch(m, after=norm),), before=norm) for m in mixers])


def parallel(norm: Norm, *mixers: Mixer) -> Layer:
    """Return one residual of all mixers, which read the same values."""
    return (Residual(tuple([Branch(m) for m in mixers]), before=norm),)


def parallel_apart(norm: Norm, *mixers: Mixer) -> Layer:
    """Return one residual of all mixers, each with a separate normalization."""
    return (Residual(tuple([Branch(m, before=norm) for m in mixers])),)


def head_dim_of(keys: Keys, hidden: int, heads: int) -> int:
    """Return the extent of a head, by default the width over the heads."""
    given = keys.whole("head_dim", default=0, least=0)
    return given or keys.divided(hidden, heads, "heads")


def rotary_of(keys: Keys, head_dim: int, default: float = 1.0) -> int:
    """Return the number of elements of a head that are rotated."""
    inner = keys.inner("rope_parameters")
    given = 0.0 if inner is None else inner.number("partial_rotary_factor", 0.0)
    share = keys.number("partial_rotary_factor", given or default)
    if not 0 <= share <= 1:
        raise keys.wrong("partial_rotary_factor", share, "a share of a head")
    return int(head_dim * share) // 2 * 2


def rotated_layers(keys: Keys, count: int) -> tuple[bool, ...]:
    """Return whether each layer rotates queries and keys; by default all but every fourth."""
    every = keys.period("no_rope_layer_interval", 4)
    given = keys.wholes("no_rope_layers") or [int((i + 1) % every != 0) for i in range(count)]
    if len(given) != count:
        raise keys.wrong("no_rope_layers", f"{len(given)} items", f"one for each of {count} layers")
    return tuple([bool(is_rotated) for is_rotated in given])


def kinds_of(keys: Keys, count: int, default: Sequence[str]) -> tuple[str, ...]:
    """Return the kind of attention of each layer, as transformers names it.

    Args:
        keys: keys of the model.
        count: number of layers.
        default: the kinds of the first layers, which repeat.
    """
    given = keys.texts("layer_types")
    if given is None:
        return tuple([default[i % len(default)] for i in range(count)])
    if len(given) != count:
        raise keys.wrong("layer_types", f"{len(given)} items", f"one for each of {count} layers")
    strange = sorted(set(given) - {FULL, SLIDING, CHUNKED, LINEAR})
    if strange:
        raise keys.unsupported(f"no kind of layer {strange[0][:40]!r}")
    return given


def decoder(
    keys: Keys, layers: Iterable[Layer], hidden: int, norm: Norm | None, *,
    is_tied: bool = False, embedding: TokenEmbedding | None = None, is_head_biased: bool = False,
) -> tuple[Stack, ...]:  # fmt: skip
    """Return the only stack of a model that generates text."""
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
