"""What most families share: activations, normalisations, layers, the stack of a decoder."""

from __future__ import annotations

from collections.abc import Iterable

from ..keys import Keys
from ..model import (
    Activation,
    Branch,
    Head,
    Layer,
    Mixer,
    Norm,
    NormKind,
    Residual,
    Stack,
    TokenEmbedding,
)

ACTIVATIONS = {
    "relu": Activation.RELU, "relu2": Activation.SQUARED_RELU, "gelu": Activation.GELU,
    "gelu_python": Activation.GELU, "gelu_new": Activation.FAST_GELU,
    "gelu_fast": Activation.FAST_GELU, "gelu_pytorch_tanh": Activation.FAST_GELU,
    "quick_gelu": Activation.QUICK_GELU, "silu": Activation.SILU, "swish": Activation.SILU,
    "tanh": Activation.TANH,
}  # fmt: skip


def activation(keys: Keys, *names: str, default: str) -> Activation:
    """The activation under the first of these names that is there."""
    stated = next((keys.text(n) for n in names if keys.text(n)), default)
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


def decoder(
    keys: Keys, layers: Iterable[Layer], hidden: int, norm: Norm | None, *,
    is_tied: bool = False, positions: int = 0, embedding_norm: Norm | None = None,
    is_head_biased: bool = False,
) -> tuple[Stack, ...]:  # fmt: skip
    """The only stack of a model that generates text."""
    vocab = keys.whole("vocab_size")
    tied = keys.flag("tie_word_embeddings", default=is_tied)
    return (
        Stack(
            "layers",
            hidden,
            TokenEmbedding(vocab, hidden, positions, 0, embedding_norm),
            tuple(layers),
            norm,
            (Head(vocab, tied, is_head_biased),),
            is_decoder=True,
        ),
    )
