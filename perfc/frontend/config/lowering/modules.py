"""Lower attention and positions as modules of transformers do: an operator for each kernel.

Releases of transformers differ in the copies around attention: `Builder.code` has a flag for each,
and is None where no release is assumed.

Source: transformers, models/llama/modeling_llama.py: `LlamaRotaryEmbedding`, `rotate_half`,
`apply_rotary_pos_emb`, `LlamaAttention`; integrations/sdpa_attention.py.
"""

from __future__ import annotations

from perfc.ir import DType, Value
from perfc.ir.ops import (
    Add,
    Cast,
    Concat,
    Contiguous,
    Cos,
    Expand,
    Gather,
    GatherElements,
    Gemm,
    MatMul,
    Mul,
    Neg,
    Sin,
    Softmax,
    Transpose,
)
from perfc.ir.ops import Attention as FusedAttention

from ..model import Attention, Norm, NormKind
from .builder import Builder
from .step import Running

# operators without operands, shared by all nodes
WIDE = Cast(to=DType.F32)
ADD, MUL, COPY, JOIN = Add(), Mul(), Contiguous(), Concat(axis=-1)
HEADS_FIRST, LAST_TWO = Transpose(perm=(0, 2, 1, 3)), Transpose(perm=(0, 1, 3, 2))
KEYS_LAST = Transpose(perm=(0, 2, 3, 1))
LINEAR, MATMUL, CHOOSE = Gemm(transB=1), MatMul(), GatherElements(axis=-1)


def is_plain(a: Attention) -> bool:
    """Return True for attention that ``scaled_dot_product_attention`` computes."""
    return not (a.is_cross or a.buckets or a.is_biased or a.has_sinks or a.has_softcap or a.chunk)


def widened(b: Builder, scores: Value, name: str) -> Value:
    """Return scores in f32 where the code of the modules casts them."""
    is_cast = b.code is not None and b.code.widens_scores and b.half is not DType.F32
    return b.node(WIDE, (scores,), f"{name}.f32") if is_cast else scores


def by_heads(
    b: Builder,
    operands: tuple[Value, Value, Value],
    a: Attention,
    run: Running,
    name: str,
    heads: tuple[int, int],
) -> Value:
    """Return attention [tokens, heads * values] of queries, keys and values [tokens, ...].

    Args:
        b: builder of the graph, to which the nodes are added.
        operands: results of the three products.
        a: the attention; `is_plain`.
        run: tokens of the pass and their positions.
        name: prefix of the names of nodes.
        heads: heads of queries, and of keys and values.
    """
    code = b.code
    assert code is not None
    # h heads of queries in g groups, which share keys and values
    tokens, (h, g) = run.tokens, heads
    widths = ((h, a.head_dim), (g, a.head_dim), (g, a.values))
    parts: list[Value] = []
    for x, (count, width), what in zip(operands, widths, ("q", "k", "v"), strict=True):
        shape = (tokens.prompts, tokens.length, count, width)
        x = b.node(HEADS_FIRST, (b.shaped(x, shape, f"{name}.{what}_split"),), f"{name}.{what}")
        if a.rotary_dim and what != "v":
            x = _rotated(b, x, (a.rotary_dim, a.head_dim), run, f"{name}.{what}_rotary")
        parts.append(x)
    query, key, value = parts
    # the first pass fills the cache: its keys and values are results of the module
    if run.is_cached:
        if code.joins_cache:
            key, value = (b.node(COPY, (v,), f"{v.name}.cached") for v in (key, value))
        b.cached += [key, value]
    if code.repeats_keys and g < h:
        key = _repeated(b, key, h // g, run, (g, a.head_dim))
        value = _repeated(b, value, h // g, run, (g, a.values))
    elif code.copies_operands:
        key, value = (b.node(COPY, (v,), f"{v.name}.copied") for v in (key, value))
    if code.copies_operands:
        query = b.node(COPY, (query,), f"{query.name}.copied")
    # the window of the model includes the token itself, the window of the operator does not
    op = FusedAttention(
        is_causal=int(a.is_causal), left_window_size=a.window - 1 if a.window else -1
    )
    mixed = b.node(op, (query, key, value), name)
    mixed = b.node(HEADS_FIRST, (mixed,), f"{name}.turned")
    if code.copies_operands:
        # copied operands have heads before positions in memory, and so has the result
        mixed = b.node(COPY, (mixed,), f"{name}.joined")
    return b.shaped(mixed, (-1, h * a.values), f"{name}.rows")


def disentangled(b: Builder, x: Value, a: Attention, run: Running, name: str, hidden: int) -> Value:
    """Return attention [tokens, heads * values] of contents and relative positions.

    A score is the sum of three products: query and key; query and the row of the table for their
    distance; and key and that row. Products with all rows are computed, then rows are gathered.

    Source: transformers, models/deberta_v2/modeling_deberta_v2.py: `DisentangledSelfAttention`.
    """
    tokens, heads, size = run.tokens, b.share(a.heads, "heads"), a.head_dim
    shape = (tokens.prompts, tokens.length, heads, size)
    table = _distances(b, a.distances, hidden)
    parts: dict[str, Value] = {}
    rows: dict[str, Value] = {}
    for what in ("query", "key", "value"):
        weight = b.weight(f"{name}.{what}.weight", (heads * size, hidden))
        bias = b.weight(f"{name}.{what}.bias", (heads * size,))
        flat = b.node(LINEAR, (x, weight, bias), f"{name}.{what}")
        split = b.shaped(flat, shape, f"{name}.{what}_split")
        parts[what] = b.node(HEADS_FIRST, (split,), f"{name}.{what}_heads")
        if what != "value":
            of_distances = b.node(LINEAR, (table, weight, bias), f"{name}.{what}_distances")
            split = b.shaped(of_distances, (1, a.distances, heads, size), f"{name}.{what}_rows")
            rows[what] = b.node(KEYS_LAST, (split,), f"{name}.{what}_table")
    keys = b.node(LAST_TWO, (parts["key"],), f"{name}.key_turned")
    scores = b.node(MATMUL, (parts["query"], keys), f"{name}.content")
    index = _distance_index(b, run, heads)
    for content, position in (("query", "key"), ("key", "query")):
        all_rows = b.node(MATMUL, (parts[content], rows[position]), f"{name}.{content}_scores")
        chosen = b.node(CHOOSE, (all_rows, index), f"{name}.{content}_chosen")
        # products of keys are [keys, queries]: transposed to [queries, keys]
        if content == "key":
            chosen = b.node(LAST_TWO, (chosen,), f"{name}.key_chosen_turned")
        scores = b.node(ADD, (scores, chosen), f"{name}.{content}_added")
    scores = b.node(Softmax(axis=-1), (scores,), f"{name}.softmax")
    mixed = b.node(MATMUL, (scores, parts["value"]), name)
    turned = b.node(COPY, (b.node(HEADS_FIRST, (mixed,), f"{name}.turned"),), f"{name}.joined")
    return b.shaped(turned, (-1, heads * size), f"{name}.rows")


def _distances(b: Builder, count: int, hidden: int) -> Value:
    """Return the normalized table of relative positions [distances, hidden], one for all layers."""
    key = ("distances", count)
    if key not in b.tables:
        table = b.weight("distances.weight", (count, hidden))
        # modules normalise the table in every pass; the gather of all rows by an input keeps the
        # norm from being folded into the stored table
        rows = b.input("distances.rows", DType.I64, (count,))
        table = b.node(Gather(), (table, rows), "distances.chosen")
        norm = Norm(NormKind.LAYER, hidden, is_biased=True)
        b.tables[key] = b.norm(table, norm, "distances.norm")
    return b.tables[key]


def _distance_index(b: Builder, run: Running, heads: int) -> Value:
    """Return the row of the table by sequence, head, query and key."""
    key = ("distances", "index")
    if key not in b.tables:
        length = run.tokens.length
        index = b.input("distances.index", DType.I64, (1, 1, length, length))
        shape = b.numbers((run.tokens.prompts, heads, length, length))
        b.tables[key] = b.node(Expand(), (index, shape), "distances.by_head")
    return b.tables[key]


def _repeated(b: Builder, x: Value, times: int, run: Running, width: tuple[int, int]) -> Value:
    """Return keys or values with each head repeated ``times`` times, one copy after another."""
    heads, size = width
    prompts, length = run.tokens.prompts, run.tokens.length
    # as in PyTorch, the expansion copies nothing, and the reshape behind it copies every head
    single = b.shaped(x, (prompts, heads, 1, length, size), f"{x.name}.grouped")
    shape = b.numbers((prompts, heads, times, length, size))
    expanded = b.node(Expand(), (single, shape), f"{x.name}.expanded")
    copied = b.node(COPY, (expanded,), f"{x.name}.repeated")
    return b.shaped(copied, (prompts, heads * times, length, size), f"{x.name}.heads")


def _rotated(b: Builder, x: Value, dims: tuple[int, int], run: Running, name: str) -> Value:
    """Return heads [batch, heads, length, size] rotated by their positions, as ``rotate_half``."""
    rotary, size = dims
    unrotated: list[Value] = []
    if rotary < size:
        x, *unrotated = b.cut(x, (rotary, size - rotary), f"{name}.parts")
    cos, sin = _angles(b, rotary, run)
    first, second = b.cut(x, (rotary // 2, rotary - rotary // 2), f"{name}.halves")
    turned = b.node(JOIN, (b.node(Neg(), (second,), f"{name}.negative"), first), f"{name}.turned")
    by_cos = b.node(MUL, (x, cos), f"{name}.cos")
    by_sin = b.node(MUL, (turned, sin), f"{name}.sin")
    result = b.node(ADD, (by_cos, by_sin), name)
    return b.node(JOIN, (result, *unrotated), f"{name}.whole") if unrotated else result


def _angles(b: Builder, width: int, run: Running) -> tuple[Value, Value]:
    """Return cosines and sines [1, 1, length, width] of the positions, computed once."""
    cos, sin = ("cos", width), ("sin", width)
    if cos not in b.tables:
        length, name = run.tokens.length, f"rotary.{width}"
        places = b.input(f"{name}.positions", DType.I64, (1, 1, length))
        places = b.node(WIDE, (places,), f"{name}.f32")
        inverse = b.buffer(f"{name}.inverse_frequencies", (1, width // 2, 1), DType.F32)
        angles = b.node(MatMul(), (inverse, places), f"{name}.angles")
        turned = b.node(Transpose(perm=(0, 2, 1)), (angles,), f"{name}.turned")
        # both halves of a head have the same angles
        doubled = b.node(JOIN, (turned, turned), f"{name}.both")
        for key, op in ((cos, Cos()), (sin, Sin())):
            what, _ = key
            part = f"{name}.{what}"
            x = b.node(op, (doubled,), part)
            x = b.node(MUL, (x, b.buffer(f"{name}.scaling", (), DType.F32)), f"{part}.scaled")
            if b.half is not DType.F32:
                x = b.node(Cast(to=b.half), (x,), f"{part}.narrow")
            b.tables[key] = b.shaped(x, (1, 1, length, width), f"{part}.table")
    return b.tables[cos], b.tables[sin]
