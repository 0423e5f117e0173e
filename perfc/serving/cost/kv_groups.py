"""Size of the KV cache as vLLM prints it: all layers in groups of one size.

Source: vLLM, v1/core/kv_cache_utils.py: ``_get_kv_cache_groups_uniform_page_size``,
``get_kv_cache_config_from_groups`` and ``_report_kv_cache_config``; in its
model_executor/models/config.py ``HybridAttentionMambaModelConfig``, which makes blocks of
attention as large as those of states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfc.frontend.config.facts import layers_of, state_bytes, token_elements
from perfc.frontend.config.mixers import Mixer
from perfc.frontend.config.model import Attention, LatentAttention, mixers
from perfc.passes.runtimes import runtime

from .memory import BLOCK_TOKENS

if TYPE_CHECKING:
    from ..engine import Engine

SIMILAR = 1.25
"""Largest ratio of layers of two kinds whose groups are as large as the larger kind."""
Kind = tuple[str, int]


def kind_of(mixer: Mixer) -> Kind | None:
    """Return the kind of cache of a layer; None for a mixer without one."""
    match mixer:
        case Attention() if mixer.is_cross or mixer.is_cache_shared:
            return None
        case Attention():
            return ("chunk", mixer.chunk) if mixer.chunk else ("attention", mixer.window)
        case LatentAttention():
            return "attention", 0
        case _:
            return ("state", 0) if hasattr(mixer, "taps") else None


def groups_of(counts: list[int]) -> tuple[int, int]:
    """Return the layers of a group and the number of groups, from the layers of each kind.

    >>> groups_of([10, 52]), groups_of([12, 36])
    ((10, 7), (12, 4))
    """
    size, most = min(counts), max(counts)
    size = most if most < size * SIMILAR else size
    return size, sum(-(-count // size) for count in counts)


def vllm_kv_tokens(engine: Engine, pool_bytes: float) -> int | None:
    """Return vLLM's "GPU KV cache size" in tokens for a model with several kinds of caches.

    Args:
        engine: engine of one rank.
        pool_bytes: memory for caches and states.

    Returns:
        The number of tokens; None for another runtime, or where all layers have one kind.
    """
    model, parallel, precision = engine.model, engine.parallel, engine.precision
    kind = runtime(engine.runtime).engine
    if kind is None or not kind.groups_caches:
        return None
    counts: dict[Kind, int] = {}
    widest = 0.0
    for layer in layers_of(model, parallel):
        for mixer in mixers(layer):
            cached = kind_of(mixer)
            if cached is None:
                continue
            counts[cached] = counts.get(cached, 0) + 1
            elements = token_elements(mixer, parallel, model.name)
            widest = max(widest, elements * precision.cached.bits / 8)
    if len(counts) < 2 or not widest:
        return None
    size, groups = groups_of(list(counts.values()))
    states = counts.get(("state", 0), 0)
    each = state_bytes(model, precision, parallel) / states if states else 0.0
    block = max(1, -(-int(each) // int(widest * BLOCK_TOKENS))) * BLOCK_TOKENS
    blocks = max(0.0, pool_bytes) // (widest * block * size)
    return int(blocks) // groups * block
