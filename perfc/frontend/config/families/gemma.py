"""Gemma 1 to 3."""

from __future__ import annotations

from dataclasses import replace

from ..keys import Keys
from ..model import QueryKeyNorm, Stack
from ._layers import FULL, SLIDING, kinds_of, pre_norm, rms, sandwich
from .llama import dense, gated, grouped, in_every_layer, windowed


def gemma(keys: Keys) -> tuple[Stack, ...]:
    """Gemma 1: Llama with a gate of GELU and tied embeddings."""
    mlp = gated(keys, "hidden_activation", "hidden_act", default="gelu_pytorch_tanh")
    norm = rms(keys.whole("hidden_size"))
    return dense(keys, in_every_layer(keys, grouped(keys)), mlp, norm, pre_norm, is_tied=True)


def gemma2(keys: Keys) -> tuple[Stack, ...]:
    """Gemma 2: every other layer with a window, scores capped, normalised before and behind."""
    attention = replace(
        grouped(keys), has_softcap=bool(keys.number("attn_logit_softcapping", 50.0))
    )
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), (SLIDING, FULL))
    mlp = gated(keys, "hidden_activation", default="gelu_pytorch_tanh")
    norm = rms(keys.whole("hidden_size"))
    (stack,) = dense(keys, windowed(keys, attention, kinds), mlp, norm, sandwich, is_tied=True)
    is_capped = bool(keys.number("final_logit_softcapping", 30.0))
    return (replace(stack, heads=tuple([replace(h, is_capped=is_capped) for h in stack.heads])),)


def gemma3(keys: Keys) -> tuple[Stack, ...]:
    """Gemma 3: five layers with a window to one without; queries and keys normalised by head."""
    every = keys.period("sliding_window_pattern", 6)
    attention = grouped(keys, norm=QueryKeyNorm.HEAD)
    default = (SLIDING,) * (every - 1) + (FULL,)
    kinds = kinds_of(keys, keys.layers("num_hidden_layers"), default)
    mlp = gated(keys, "hidden_activation", default="gelu_pytorch_tanh")
    norm = rms(keys.whole("hidden_size"))
    return dense(keys, windowed(keys, attention, kinds), mlp, norm, sandwich, is_tied=True)


READERS = {
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3_text": gemma3,
}
