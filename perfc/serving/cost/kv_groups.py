"""Compute what vLLM prints as its KV cache size, the padding of 4-bit experts, and block checks.

vLLM puts layers with several kinds of caches (full attention, windows, states) into groups of as
many layers each, which share the blocks of one pool.

Source: vLLM, v1/core/kv_cache_utils.py: ``_get_kv_cache_groups_uniform_page_size``,
``get_kv_cache_config_from_groups`` and ``_report_kv_cache_config``; in its
model_executor/models/config.py ``HybridAttentionMambaModelConfig``, which makes blocks of
attention as large as those of states.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfc.errors import ModelError
from perfc.frontend.config.facts import layers_of, state_bytes, token_bits
from perfc.frontend.config.mixers import Experts, Mixer, Mlp
from perfc.frontend.config.model import Attention, LanguageModel, LatentAttention, mixers
from perfc.frontend.config.precision import ServingPrecision, WeightFormat
from perfc.machine.parallel import Parallel

from .memory import BLOCK_TOKENS

if TYPE_CHECKING:
    from ..engine import Engine

PADDED = frozenset({WeightFormat.MXFP4, WeightFormat.MXFP4_F8, WeightFormat.MXFP4_A4})
"""Formats of 4-bit experts whose kernels need multiples of columns, to which vLLM pads them."""
STATE = ("state", 0)
"""Kind of a recurrent layer, whose state does not grow with tokens."""
Kind = tuple[str, int]
"""Kind of a layer's cache, and its window in tokens; 0 for all tokens."""


def kind_of(mixer: Mixer) -> Kind | None:
    """Return the kind of cache of a mixer; None for one that stores nothing itself."""
    match mixer:
        case Attention() if mixer.is_cross or mixer.is_cache_shared:
            return None
        case Attention():
            return ("chunk", mixer.chunk) if mixer.chunk else ("attention", mixer.window)
        case LatentAttention():
            return "attention", 0
        case _:
            # mixers with a convolution, of `taps` taps, are recurrent: they have states
            return STATE if hasattr(mixer, "taps") else None


def groups_of(counts: list[int], similar: float = 1.25) -> int:
    """Return the number of layers per group; the last group of a kind may be padded.

    Args:
        counts: layers of each kind of cache.
        similar: largest kind over smallest below which one group has all layers of a kind.

    >>> groups_of([10, 52]), groups_of([12, 36]), groups_of([12, 14]), groups_of([12, 17], 1.5)
    (10, 12, 14, 17)
    """
    # nearly equal kinds waste less by padding the smaller than by an extra group of the larger
    smallest, largest = min(counts), max(counts)
    return largest if largest < smallest * similar else smallest


def vllm_kv_tokens(engine: Engine, pool_bytes: float, longest: int = 0) -> int | None:
    """Return vLLM's "GPU KV cache size" in tokens for a model with several kinds of caches.

    Args:
        engine: engine of one rank.
        pool_bytes: memory for caches and states.
        longest: tokens of the longest sequence; 0 for the positions of the model.

    Returns:
        The number of tokens; None for another runtime, or where all layers have one kind.
    """
    model, parallel, precision, rules = engine.model, engine.parallel, engine.precision, engine.kind
    counts: dict[Kind, int] = {}
    token_bytes: dict[Kind, float] = {}
    for layer in layers_of(model, parallel):
        for mixer in mixers(layer):
            cached = kind_of(mixer)
            if cached is None:
                continue
            counts[cached] = counts.get(cached, 0) + 1
            token_bytes[cached] = token_bits(mixer, precision, parallel, model.name) / 8
    widest = max(token_bytes.values(), default=0.0)
    if not rules.groups_caches or len(counts) < 2 or not widest:
        return None
    group_layers = groups_of(list(counts.values()), rules.similar)
    group_counts = {kind: -(-count // group_layers) for kind, count in counts.items()}
    states = counts.get(STATE, 0)
    # blocks of attention hold as many tokens as make them as large as one layer's states
    state_nbytes = state_bytes(model, precision, parallel) / states if states else 0.0
    block_tokens = max(1, -(-int(state_nbytes) // int(widest * BLOCK_TOKENS))) * BLOCK_TOKENS
    block_bytes = widest * block_tokens
    blocks = int(max(0.0, pool_bytes) // (block_bytes * group_layers))
    if not rules.prints_concurrency:
        return blocks // sum(group_counts.values()) * block_tokens
    # vLLM prints how many of the longest sequences fit, from which the tokens follow
    longest = longest or model.context or block_tokens
    ahead = rules.steps_ahead * rules.token_budget
    request_blocks = 0
    for kind, count in group_counts.items():
        _, window = kind
        # tokens in one block; a state has none, and its blocks are counted below
        tokens = int(block_bytes // token_bytes[kind]) if token_bytes[kind] else 1
        # within a step the window slides over its tokens: all of them are stored until its end
        stored = min(window - 1 + ahead, longest) if window else longest
        # one block more: a window may begin inside a block
        needed = -(-stored // tokens) + bool(window)
        if kind == STATE:
            # a state takes one block for any length, and one more per drafted token
            needed = 1 + engine.speculation.tokens + rules.extra_states
        request_blocks += count * needed
    return int(blocks / request_blocks * longest)


def padding_bytes(engine: Engine) -> float:
    """Return the bytes that 4-bit experts of a rank take beyond their columns, when loaded.

    Source: vLLM, model_executor/layers/quantization/mxfp4.py, by backend.
    """
    padding, form, parallel = engine.kind.padding, engine.precision.of_experts, engine.parallel
    if not padding or form not in PADDED or engine.model.decoder is None:
        return 0.0
    hidden, machine = engine.model.decoder.hidden, engine.machine
    # multiples of inner and hidden columns: by architecture, else by vendor, "" for all others
    names = f"sm{machine.capability // 10}", machine.vendor
    multiples = padding[next((name for name in names if name in padding), "")]
    elements = 0
    for layer in layers_of(engine.model, parallel):
        for e in mixers(layer):
            if isinstance(e, Experts):
                # expert parallelism leaves experts whole; tensor parallelism cuts their columns
                inner = e.inner if parallel.expert > 1 else -(-e.inner // parallel.tensor)
                sizes = zip((inner, hidden), multiples, strict=True)
                padded = math.prod([-(-n // m) * m for n, m in sizes]) - inner * hidden
                # an up and a down matrix, and a gate if there is one
                elements += -(-e.count // parallel.expert) * (2 + e.is_gated) * padded
    # each element and its part of a scale of one byte per block
    return elements * (form.bits / 8 + 1 / form.block)


def is_sparse(model: LanguageModel) -> bool:
    """Return True if a layer attends to tokens that an indexer chooses."""
    all_mixers = [m for layer in layers_of(model) for m in mixers(layer)]
    return any(isinstance(m, LatentAttention) and m.indexer is not None for m in all_mixers)


def check_blocks(model: LanguageModel, precision: ServingPrecision, parallel: Parallel) -> None:
    """Refuse ranks that cut the blocks of 8-bit floats.

    Source: vLLM, fp8_utils.py ``validate_fp8_block_shape``; SGLang, fp8.py.

    Raises:
        ModelError: the inner columns of a rank are no multiple of a block.
    """
    for layer in layers_of(model, parallel):
        for m in mixers(layer):
            is_whole = isinstance(m, Experts) and parallel.expert > 1
            if not isinstance(m, (Experts, Mlp)) or is_whole:
                continue
            form = precision.of_experts if isinstance(m, Experts) else precision.weights
            if form is WeightFormat.F8_BLOCK and m.inner / parallel.tensor % form.block:
                message = (
                    f"{m.inner:,} columns on {parallel.tensor} ranks cut blocks of {form.block}"
                )
                raise ModelError(message, where=model.name, hint="--ep keeps experts whole")
