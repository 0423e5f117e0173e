"""Helpers shared by most families: activations, normalisations, windows by layer, decoders."""

from __future__ import annotations

from perfc.errors import suggestion

from ..keys import Keys
from ..model import (
    Activation,
    Attention,
    Branch,
    Layer,
    Mixer,
    Mlp,
    Norm,
    NormKind,
    Residual,
)

# names of activations in transformers (``ACT2FN``)
ACTIVATIONS = {
    "relu": Activation.RELU,
    "relu2": Activation.SQUARED_RELU,
    "gelu": Activation.GELU,
    "gelu_python": Activation.GELU,
    "gelu_new": Activation.NEW_GELU,
    "gelu_fast": Activation.NEW_GELU,
    "gelu_pytorch_tanh": Activation.FAST_GELU,
    "quick_gelu": Activation.QUICK_GELU,
    "silu": Activation.SILU,
    "swish": Activation.SILU,
    "tanh": Activation.TANH,
    "xielu": Activation.XIELU,
    "identity": Activation.IDENTITY,
}
KINDS = frozenset(
    {
        "full_attention",
        "sliding_attention",
        "chunked_attention",
        "linear_attention",
        "conv",
        "indexed_attention",
    }
)
"""Kinds of layers, as transformers names them."""


def activation(keys: Keys, *names: str, default: str) -> Activation:
    """Return the activation under the first of these names that is present."""
    given = next(filter(None, [keys.text(n) for n in names]), default)
    if given not in ACTIVATIONS:
        raise keys.unsupported(f"no activation {given[:40]!r}", suggestion(given, ACTIVATIONS))
    return ACTIVATIONS[given]


def biased_mlp(keys: Keys, *, width: int | None = None, usual: str = "gelu") -> Mlp:
    """Return an MLP with biases, without a gate; ``width`` and ``usual`` are defaults of keys."""
    function = activation(keys, "hidden_act", "activation", default=usual)
    inner = keys.whole("intermediate_size", "hidden_dim", default=width)
    return Mlp(inner, function, is_gated=False, is_biased=True)


def rms(width: int, *, is_scaled: bool = True) -> Norm:
    """Return an RMS norm."""
    return Norm(NormKind.RMS, width, is_scaled)


def layer_norm(width: int, *, is_scaled: bool = True, is_biased: bool = True) -> Norm:
    """Return a layer norm."""
    return Norm(NormKind.LAYER, width, is_scaled, is_biased)


def pre_norm(norm: Norm, *mixers: Mixer) -> Layer:
    """Return a pre-norm layer: one residual per mixer, ``x + mixer(norm(x))``."""
    return tuple(Residual((Branch(m),), before=norm) for m in mixers)


def post_norm(norm: Norm, *mixers: Mixer) -> Layer:
    """Return a post-norm layer: one residual per mixer, ``norm(x + mixer(x))``."""
    return tuple(Residual((Branch(m),), last=norm) for m in mixers)


def kinds_of(
    keys: Keys, count: int, known: frozenset[str], *, has_spare: bool = False
) -> tuple[str, ...]:
    """Return the kind of attention that the configuration gives each layer.

    Args:
        keys: keys of the model.
        count: number of layers.
        known: kinds that the family has.
        has_spare: whether further items may follow, of layers that predict tokens beyond the next.
    """
    given = keys.texts("layer_types") or ()
    if len(given) != count and not (has_spare and len(given) > count):
        raise keys.wrong("layer_types", f"{len(given)} items", f"one for each of {count} layers")
    unknown = sorted(set(given) - known)
    if unknown:
        raise keys.unsupported(f"no kind of layer {unknown[0][:40]!r}")
    return given[:count]  # without the layers that predict further tokens


def plain(heads: int, head_dim: int, *, is_biased: bool, kv_heads: int = 0) -> Attention:
    """Return attention whose four projections have biases, or have none."""
    return Attention(
        heads,
        kv_heads or heads,
        head_dim,
        query_bias=is_biased,
        key_bias=is_biased,
        value_bias=is_biased,
        output_bias=is_biased,
    )
