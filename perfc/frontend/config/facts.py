"""Compute parameter counts, and sizes of caches and states, from a model's description."""

from __future__ import annotations

import math
from functools import lru_cache

from perfc.ir import Module, TensorType, record, walk
from perfc.ir.ops import MoE
from perfc.machine.parallel import ALONE, Parallel

from .lowering import lower, lower_images
from .lowering.latent import index_bits
from .lowering.step import ForwardStep
from .model import (
    Attention,
    DeltaNet,
    LanguageModel,
    LatentAttention,
    Layer,
    Mamba,
    Mamba2,
    ShortConvolution,
    mixers,
)
from .precision import ServingPrecision


@record
class ParameterCounts:
    """Number of learned parameters of a model.

    Args:
        resident: all of them.
        active: parameters that one token is multiplied by: of experts only the chosen ones.
    """

    resident: int
    active: int


@lru_cache(maxsize=64)
def parameters(model: LanguageModel) -> ParameterCounts:
    """Return the number of parameters of the whole model, counted in its lowered module."""
    # unquantised and on one rank: each stored element is then one parameter
    module = lower(model, ForwardStep.PREFILL, ServingPrecision())
    resident = _held(module)
    of_tower = 0 if model.tower is None else _held(lower_images(model, ServingPrecision()))
    return ParameterCounts(resident + of_tower, resident + of_tower - _idle(module))


def _held(module: Module) -> int:
    """Return the elements of its parameters."""
    return sum(_elements(v.type) for v in module.graph.weights if v.is_parameter)


def _elements(type_: object) -> int:
    """Return the elements of a tensor, whose extents are numbers; 0 for another type."""
    numel = type_.numel if isinstance(type_, TensorType) else 0
    assert isinstance(numel, int)
    return numel


def _idle(module: Module) -> int:
    """Return the elements of experts that one token does not choose."""
    idle = 0
    for node in walk(module.graph):
        if isinstance(node.op, MoE):
            # the first inputs are tokens and scores of the router; weights have experts first
            for v in node.inputs[2:]:
                shape = None if v is None else v.shape
                if v is not None and v.is_parameter and shape and isinstance(shape[0], int):
                    used_experts = min(node.op.k, shape[0])
                    idle += _elements(v.type) // shape[0] * (shape[0] - used_experts)
    return idle


def weight_bytes(
    model: LanguageModel, precision: ServingPrecision, parallel: Parallel = ALONE, stage: int = 0
) -> int:
    """Return the bytes of stored weights on one machine: scales and tables of angles included.

    With a model's file (GGUF), only its tensors count: llama.cpp loads no others.
    """
    module = lower(model, ForwardStep.PREFILL, precision, parallel, stage=stage)
    # a table with 0 bytes is computed where it is used: no memory holds it
    weights = module.graph.weights
    sizes = (v.nbytes for v in weights if v.weight is None or v.weight.nbytes != 0)
    return sum(n for n in sizes if isinstance(n, int))


def cache_bytes(
    model: LanguageModel,
    tokens: int,
    precision: ServingPrecision,
    parallel: Parallel = ALONE,
    stage: int = 0,
) -> int:
    """Return the bytes that one sequence of ``tokens`` holds in the caches of one machine.

    A layer with a window holds the earlier tokens that the next token will see; a layer with chunks
    holds at most one chunk. Keys of an encoder's output are not counted.
    """
    bits = sum(
        token_bits(m, precision, parallel, model.name) * _kept(m, tokens)
        for layer in layers_of(model, parallel, stage)
        for m in mixers(layer)
    )
    return int(bits) // 8


def cache_rates(
    model: LanguageModel, precision: ServingPrecision, parallel: Parallel = ALONE, stage: int = 0
) -> tuple[tuple[float, float], ...]:
    """Return the bytes that a token leaves on one machine, by the most tokens that layers keep.

    Up to its limit, which is infinite for layers without a window, a cache grows with each token.
    Finished chunks stay cached. Sources: vLLM, config/vllm.py, where chunked attention turns the
    hybrid KV cache manager off; TensorRT-LLM, `modeling_llama.py`, which declares no window.
    """
    rates: dict[float, float] = {}
    for layer in layers_of(model, parallel, stage):
        for m in mixers(layer):
            limit = m.window - 1 if isinstance(m, Attention) and m.window else math.inf
            token_bytes = token_bits(m, precision, parallel, model.name) / 8
            rates[limit] = rates.get(limit, 0.0) + token_bytes
    return tuple(sorted(rates.items()))


def token_bits(m: object, precision: ServingPrecision, parallel: Parallel, where: str) -> float:
    """Return bits that a token leaves in the cache of a layer on one rank, scales included.

    In sparse attention, latents of 8 bits have an f32 scale per 128 elements, and their rotated
    parts have 16 bits. Sources: vLLM, mla_attention.py and deepseek_v2.py; SGLang 0.5.9.
    """
    cached_bits = precision.cached.bits
    bits = token_elements(m, parallel, where) * (cached_bits + precision.scale_bits)
    if isinstance(m, LatentAttention) and m.indexer is not None:
        bits += index_bits(m.indexer)
        # a quarter of a bit of scale per element, and 8 more bits per rotated element
        if cached_bits == 8:
            bits += m.kv_rank // 4 + 8 * m.rope_dim
    return bits


def layers_of(
    model: LanguageModel, parallel: Parallel = ALONE, stage: int = 0
) -> tuple[Layer, ...]:
    """Return the layers of the decoder that one stage of the pipeline has; of an encoder none."""
    if model.decoder is None:
        return ()
    return parallel.of_stage(model.decoder.layers, stage)


def token_elements(m: object, parallel: Parallel, where: str) -> int:
    """Return the elements that a token leaves in the cache of a layer on one rank."""
    match m:
        case Attention() if not m.is_cross and not m.is_cache_shared:
            heads = parallel.share_at_least(m.kv_heads, "key heads", where)
            return heads * (m.head_dim + m.values)
        case LatentAttention():
            return m.cached_dim
        case _:
            return 0


def _kept(m: object, tokens: int) -> int:
    """Return the tokens of a sequence that a layer keeps."""
    if isinstance(m, Attention) and m.window:
        # the window of the next token has the token itself, and the tokens before it
        return min(tokens, m.window - 1)
    if isinstance(m, Attention) and m.chunk:
        return min(tokens, m.chunk)
    return tokens


def state_bytes(
    model: LanguageModel, precision: ServingPrecision, parallel: Parallel = ALONE, stage: int = 0
) -> int:
    """Return the bytes that one sequence holds in states of state spaces, however long it is."""
    where, bits = model.name, 0
    for layer in layers_of(model, parallel, stage):
        for m in mixers(layer):
            match m:
                case Mamba():
                    inner = parallel.share(m.inner, "channels", where)
                    convolved, state = inner, inner * m.state
                case Mamba2():
                    heads = parallel.share(m.heads, "heads", where)
                    groups = parallel.share_at_least(m.groups, "groups", where)
                    convolved = heads * m.head_dim + 2 * groups * m.state
                    state = heads * m.head_dim * m.state
                case DeltaNet():
                    keys = parallel.share(m.key_heads, "key heads", where) * m.key_dim
                    values = parallel.share(m.value_heads, "value heads", where) * m.value_dim
                    convolved, state = 2 * keys + values, values * m.key_dim
                case ShortConvolution():
                    assert model.decoder is not None
                    convolved = parallel.share(model.decoder.hidden, "channels", where)
                    state = 0
                case _:
                    continue
            # a convolution stores the inputs of all taps but the newest
            bits += convolved * (m.taps - 1) * precision.half.bits + state * precision.state.bits
    return bits // 8
