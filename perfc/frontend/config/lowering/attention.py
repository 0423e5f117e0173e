"""Lower attention with grouped heads, as serving engines run it: one merged product, one kernel.

Modules of transformers, and attention that a merged product cannot express, have separate products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.ir import Dim, DType, Value, dim_min
from perfc.ir.ops import (
    LayerNormalization,
    Mul,
    RaggedAttention,
    ReduceSumSquare,
    RotaryEmbedding,
    Sigmoid,
)

from ..model import Attention, NormKind, QueryKeyNorm
from ..precision import WeightFormat
from .builder import Builder
from .modules import by_heads, disentangled, is_plain
from .quantised import trimmed
from .step import Pair, Running
from .written_out import MERGED


def attention(b: Builder, x: Value, a: Attention, run: Running, name: str, hidden: int) -> Value:
    """Return ``x`` after an attention and the product behind it, summed over ranks.

    Args:
        b: builder that collects the nodes.
        x: [tokens, hidden].
        a: description of the attention.
        run: tokens of the pass, and values that all layers read.
        name: prefix of the names of nodes and weights.
        hidden: width of ``x`` and of the result.
    """
    mixed = _cross(b, x, a, run, name, hidden) if a.is_cross else _own(b, x, a, run, name, hidden)
    heads = b.share(a.heads, "heads")
    out = b.product(mixed, (heads * a.values, hidden), f"{name}.output", is_biased=a.output_bias)
    return b.all_reduce(out, f"{name}.sum")


def widths_of(b: Builder, a: Attention) -> tuple[int, int, int, int, int]:
    """Return a rank's heads of queries and of keys, and its columns of queries, keys and values."""
    heads, kv_heads = b.share(a.heads, "heads"), b.share_at_least(a.kv_heads, "key heads")
    return heads, kv_heads, heads * a.head_dim, kv_heads * a.head_dim, kv_heads * a.values


def _own(b: Builder, x: Value, a: Attention, run: Running, name: str, hidden: int) -> Value:
    """Return self-attention: of the new tokens to each other and to the cached tokens."""
    heads, kv_heads, q, k, v = widths_of(b, a)
    if a.distances:
        return disentangled(b, x, a, run, name, hidden)
    if is_varied(a):
        varied = varied_operands(b, x, a, run, name, hidden)
        mixed = _scores(b, varied, a, run, name, (heads, kv_heads))
        is_gated = a.is_gated and a.is_gate_per_head
        return gated_heads(b, x, mixed, a, name, hidden) if is_gated else mixed
    gate_width = heads * a.values if a.is_gated else 0
    # one merged product has a bias for all columns or for none
    if a.query_bias != a.key_bias:
        if gate_width or a.rotary_dim or a.norm is not QueryKeyNorm.NONE:
            b.refuse("attention whose keys alone have no bias is neither rotated nor normalised")
        return _separate(b, x, a, run, name, hidden)
    # modules have separate products; families that merge them are lowered there only with `code`,
    # whose attention takes separate queries, keys and values
    if b.writes_out and not (b.family.startswith(MERGED) and b.code is None):
        return _separate(b, x, a, run, name, hidden)
    columns = q + gate_width + k + v
    merged = b.product(x, (hidden, columns), f"{name}.qkv", is_biased=a.query_bias, slices=3)
    gate: Value | None = None
    if a.is_gated:
        merged, gate = b.cut(merged, (q + k + v, gate_width), f"{name}.gated")
    if a.norm is not QueryKeyNorm.NONE:
        # a norm over all heads needs the sum of squares of every rank; training steps and modules
        # (`keeps_rows`) leave this exchange out
        if a.norm is QueryKeyNorm.ALL and b.parallel.tensor > 1 and not b.keeps_rows:
            query_key, value = b.cut(merged, (q + k, v), f"{name}.heads")
            query, key = b.cut(_over_ranks(b, query_key, name), (q, k), f"{name}.pair")
        else:
            query, key, value = b.cut(merged, (q, k, v), f"{name}.heads")
        query = normed(b, query, a, heads, f"{name}.q_norm")
        key = normed(b, key, a, kv_heads, f"{name}.k_norm")
        query = rotated(b, query, heads, a, run, f"{name}.q_rotary")
        key = rotated(b, key, kv_heads, a, run, f"{name}.k_rotary")
        operands: Sequence[Value | None] = (query, key, value)
    elif a.rotary_dim:
        # without norms, one kernel rotates queries and keys, which stay one operand: no key
        query_key, value = b.cut(merged, (q + k, v), f"{name}.heads")
        query_key = rotated(b, query_key, heads + kv_heads, a, run, f"{name}.rotary")
        operands = (query_key, None, value)
    else:
        operands = (merged, None, None)
    mixed = _scores(b, operands, a, run, name, (heads, kv_heads))
    return _gated(b, mixed, gate, name)


def _over_ranks(b: Builder, query_key: Value, name: str) -> Value:
    """Return queries and keys scaled by their squares in the heads of all ranks.

    Source: vLLM, ``MiniMaxText01RMSNormTP.forward_qk``: one sum over ranks a layer.
    """
    squares = b.node(SQUARES, (query_key, b.numbers((-1,))), f"{name}.squares")
    squares = b.all_reduce(squares, f"{name}.squares.sum")
    return b.node(MUL, (query_key, squares), f"{name}.scaled")


def _separate(b: Builder, x: Value, a: Attention, run: Running, name: str, hidden: int) -> Value:
    """Return attention whose queries, keys and values are separate products."""
    heads, kv_heads, q, k, v = widths_of(b, a)
    gate: Value | None = None
    gate_width = heads * a.values if a.is_gated else 0
    if b.family.startswith(MERGED) and not gate_width:
        merged = b.product(x, (hidden, q + k + v), f"{name}.qkv", is_biased=a.query_bias)
        query, key, value = b.cut(merged, (q, k, v), f"{name}.heads")
    else:
        query = b.product(x, (hidden, q + gate_width), f"{name}.query", is_biased=a.query_bias)
        key = b.product(x, (hidden, k), f"{name}.key", is_biased=a.key_bias)
        value = b.product(x, (hidden, v), f"{name}.value", is_biased=a.value_bias)
    if gate_width:
        query, gate = b.cut(query, (q, gate_width), f"{name}.gated")
    if a.norm is not QueryKeyNorm.NONE:
        query = normed(b, query, a, heads, f"{name}.q_norm")
        key = normed(b, key, a, kv_heads, f"{name}.k_norm")
    if b.code is not None and is_plain(a):
        of_heads = (query, key, value)
        return _gated(b, by_heads(b, of_heads, a, run, name, (heads, kv_heads)), gate, name)
    query = rotated(b, query, heads, a, run, f"{name}.q_rotary")
    key = rotated(b, key, kv_heads, a, run, f"{name}.k_rotary")
    mixed = _scores(b, (query, key, value), a, run, name, (heads, kv_heads))
    return _gated(b, mixed, gate, name)


def _gated(b: Builder, mixed: Value, gate: Value | None, name: str) -> Value:
    """Return the result of an attention times the sigmoid of its gate, where it has one."""
    if gate is None:
        return mixed
    return b.node(MUL, (mixed, b.node(SIGMOID, (gate,), f"{name}.sigmoid")), f"{name}.gate")


def _cross(b: Builder, x: Value, a: Attention, run: Running, name: str, hidden: int) -> Value:
    """Return the attention to an encoder's output, whose keys and values are computed once."""
    heads, kv_heads = b.share(a.heads, "heads"), b.share_at_least(a.kv_heads, "key heads")
    query = b.product(x, (hidden, heads * a.head_dim), f"{name}.query", is_biased=a.query_bias)
    key: Value | None = None
    value: Value | None = None
    if run.encoded is not None:
        k, v = kv_heads * a.head_dim, kv_heads * a.values
        # one merged product has a bias for both or for none
        if a.key_bias != a.value_bias:
            key = b.product(run.encoded, (hidden, k), f"{name}.key", is_biased=a.key_bias)
            value = b.product(run.encoded, (hidden, v), f"{name}.value", is_biased=a.value_bias)
        else:
            key_value = b.product(
                run.encoded, (hidden, k + v), f"{name}.kv", is_biased=a.value_bias, slices=2
            )
            key, value = b.cut(key_value, (k, v), f"{name}.keys")
    return _scores(b, (query, key, value), a, run, name, (heads, kv_heads))


def normed(b: Builder, x: Value, a: Attention, heads: int, name: str) -> Value:
    """Return queries or keys normalised, by head or over all heads; unchanged without a norm."""
    if a.norm is QueryKeyNorm.NONE:
        return x
    width = heads * a.head_dim
    if a.norm is QueryKeyNorm.ALL:
        shape: tuple[int, ...] = (width,)
    else:
        x = b.shaped(x, (-1, heads, a.head_dim), f"{name}.split")
        shape = (a.head_dim,) if a.norm is QueryKeyNorm.HEAD else (heads, a.head_dim)
    scale = b.weight(f"{name}.weight", shape) if a.is_norm_scaled else None
    if a.norm_kind is NormKind.RMS:
        result = b.rms(x, scale, shape, name)
    else:
        # the operator needs a scale: ones where none is stored
        ones = f"ones.{'x'.join(map(str, shape))}"
        result = b.node(LAYER, (x, scale or b.buffer(ones, shape, b.half)), name)
    return result if a.norm is QueryKeyNorm.ALL else b.shaped(result, (-1, width), f"{name}.join")


def rotated(b: Builder, x: Value, heads: int, a: Attention, run: Running, name: str) -> Value:
    """Return the heads side by side, rotated by their positions."""
    if not a.rotary_dim:
        return x
    return rotated_heads(b, x, heads, (a.rotary_dim, a.head_dim), run, name)


def rotated_heads(
    b: Builder, x: Value, heads: int, dims: tuple[int, int], run: Running, name: str
) -> Value:
    """Return heads whose first elements are rotated by their positions.

    Args:
        b: builder that collects the nodes.
        x: [tokens, heads * elements].
        heads: number of heads.
        dims: rotated elements of a head, and all of them.
        run: positions of the tokens.
        name: name of the node.
    """
    rotary_dim, _ = dims
    cos, sin = (angles(b, what, rotary_dim // 2, run) for what in ("cos", "sin"))
    op = RotaryEmbedding(num_heads=heads, rotary_embedding_dim=rotary_dim)
    return b.node(op, (x, cos, sin, run.positions), name)


def angles(b: Builder, what: str, width: int, run: Running) -> Value:
    """Return a table of cosines or sines: stored for all positions, or an input in training.

    Modules compute the angles of a training step once, before the layers.
    """
    name = f"{what}.{2 * width}"
    if not b.writes_out or run.is_cached:
        return b.buffer(name, (max(run.max_positions, 1), width), b.half)
    if (name,) not in b.tables:
        b.tables[(name,)] = b.input(name, b.half, (run.tokens.length, width))
    return b.tables[(name,)]


def is_varied(a: Attention) -> bool:
    """Return True if caches are shared, values are keys or normalised, or heads have gates."""
    return a.is_cache_shared or a.is_value_key or a.is_value_normed or a.is_gate_per_head


def varied_operands(
    b: Builder, x: Value, a: Attention, run: Running, name: str, hidden: int
) -> tuple[Value, Value, Value]:
    """Return queries, keys and values, normalised and rotated; a shared cache is so already.

    Source: transformers, ``Gemma3nTextAttention``, ``Gemma4TextAttention``.
    """
    heads, kv_heads, q, k, v = widths_of(b, a)
    # a shared cache has keys and values of another layer; values may equal the keys
    widths = (q,) if a.is_cache_shared else (q, k) if a.is_value_key else (q, k, v)
    if b.writes_out or len(widths) == 1:
        parts = [
            b.product(x, (hidden, width), f"{name}.{what}", is_biased=a.query_bias)
            for width, what in zip(widths, ("query", "key", "value"), strict=False)
        ]
    else:
        merged = b.product(
            x, (hidden, sum(widths)), f"{name}.qkv", is_biased=a.query_bias, slices=len(widths)
        )
        parts = b.cut(merged, widths, f"{name}.heads")
    query = normed(b, parts[0], a, heads, f"{name}.q_norm")
    query = rotated(b, query, heads, a, run, f"{name}.q_rotary")
    if a.is_cache_shared:
        rows = run.tokens.rows
        if run.keys.get(a.kind) is None:
            # a single layer was lowered (`parts`): the layer that stores them is outside
            key, value = (
                b.input(f"{name}.shared_{w}", b.half, (rows, k)) for w in ("key", "value")
            )
            run.keys[a.kind] = (key, value)
        return query, *run.keys[a.kind]
    value = parts[-1]
    key = normed(b, parts[1], a, kv_heads, f"{name}.k_norm")
    key = rotated(b, key, kv_heads, a, run, f"{name}.k_rotary")
    if a.is_value_normed:
        plain = replace(a, is_norm_scaled=False, norm=QueryKeyNorm.HEAD)
        value = normed(b, value, plain, kv_heads, f"{name}.v_norm")
    run.keys[a.kind] = (key, value)
    return query, key, value


def gated_heads(b: Builder, x: Value, mixed: Value, a: Attention, name: str, hidden: int) -> Value:
    """Return the result of each head times the sigmoid of one further column."""
    heads = b.share(a.heads, "heads")
    # so few columns that engines do not quantise them
    gate = b.product(x, (hidden, heads), f"{name}.head_gate", weights=WeightFormat.HALF)
    gates = b.shaped(b.node(SIGMOID, (gate,), f"{name}.sigmoid"), (-1, heads, 1), f"{name}.gates")
    by_head = b.shaped(mixed, (-1, heads, a.values), f"{name}.by_head")
    return b.shaped(
        b.node(MUL, (by_head, gates), f"{name}.gate"), (-1, heads * a.values), f"{name}.flat"
    )


def _scores(
    b: Builder,
    operands: Sequence[Value | None],
    a: Attention,
    run: Running,
    name: str,
    heads: tuple[int, int],
) -> Value:
    """Return the attention itself, with the caches of prompts and of decoded sequences.

    Args:
        b: builder that collects the nodes.
        operands: queries, keys and values; the first may hold all, and the others are then None.
        a: description of the attention.
        run: tokens of the pass.
        name: name of the node.
        heads: this rank's heads of queries, and of keys.
    """
    tokens, (query_heads, kv_heads) = run.tokens, heads
    past, decode = _cached(b, a, run, name, kv_heads)
    if a.buckets:
        bias: Value | None = b.weight(f"{name}.position_bias", (a.buckets, query_heads))
    else:
        # a slope per head (ALiBi), which also stands for a bias that another layer stores
        bias = b.buffer("position_bias", (query_heads,), DType.F32) if a.is_biased else None
    # a sink is one more score per head, in the operand of a bias
    if a.has_sinks:
        bias = b.weight(f"{name}.sinks", (query_heads,))
    op = RaggedAttention(
        num_heads=query_heads,
        kv_heads=kv_heads,
        head_dim=a.head_dim,
        value_dim=a.values,
        decode_tokens=tokens.new_tokens,
        window=a.window,
        chunk=a.chunk,
        is_causal=int(a.is_causal and not a.is_cross),
        softcap=int(a.has_softcap),
    )
    lengths = run.lengths if tokens.has_prompts else None
    inputs = trimmed(*operands, lengths, *past, *decode, bias)
    # new rows of the cache are results, unless another layer or the encoder's pass has stored them
    is_added = any(v is not None for v in operands[1:]) or not a.is_cross
    if a.is_cache_shared or not is_added or (past[0] is None and decode[0] is None):
        return b.node(op, inputs, name)
    mixed, *new_rows = b.several(op, inputs, name, ("result", "new_key", "new_value"))
    b.cached += new_rows
    return mixed


def _cached(b: Builder, a: Attention, run: Running, name: str, kv_heads: int) -> tuple[Pair, Pair]:
    """Return the caches of prompts and of decoded sequences, which may be another layer's."""
    tokens = run.tokens
    if a.is_cache_shared and a.kind in run.caches:
        return run.caches[a.kind]
    past: Pair = (None, None)
    decode: Pair = (None, None)
    sizes = (kv_heads, a.head_dim, a.values)
    if tokens.has_prompts and run.is_cached:
        length = reach(a, tokens.past)
        # keys of an encoder are cached once its pass has run
        if a.is_cross:
            length = run.source if run.encoded is None else 0
        past = caches(b, f"{name}.past", tokens.prompts, length, sizes)
    if tokens.has_decodes:
        length = run.source if a.is_cross else reach(a, tokens.context)
        decode = caches(b, f"{name}.cache", tokens.decodes, length, sizes)
    run.caches[a.kind] = (past, decode)
    return past, decode


def reach(a: Attention, cached: Dim) -> Dim:
    """Return the part of a cache that queries can see."""
    if a.window:
        return dim_min(cached, a.window - 1)  # a window has the token itself
    # tokens of finished chunks are not seen
    return cached % a.chunk if a.chunk else cached


def caches(
    b: Builder, name: str, sequences: Dim, length: Dim, sizes: tuple[int, int, int]
) -> tuple[Value, Value]:
    """Return the cached keys and values of some sequences, as inputs of the module."""
    kv_heads, head_dim, value_dim = sizes
    cached = b.precision.cached
    return (
        b.input(f"{name}_key", cached, (sequences, kv_heads, length, head_dim)),
        b.input(f"{name}_value", cached, (sequences, kv_heads, length, value_dim)),
    )


LAYER = LayerNormalization()
MUL, SIGMOID = Mul(), Sigmoid()
SQUARES = ReduceSumSquare()
