"""Lower attention over latents (MLA): expanded for prompts, absorbed into queries for decodes.

Sparse attention is absorbed for prompts too: an indexer scores all tokens, and each query reads
those with the largest scores.
"""

from __future__ import annotations

from perfc.ir import Dim, DType, Inputs, Value, dim_min
from perfc.ir.ops import MatMul, Mul, RaggedAttention, Split, Transpose

from ..model import Indexer, LatentAttention, Norm, NormKind
from ..precision import WeightFormat
from .attention import rotated_heads
from .builder import JOIN, ROW_JOIN, Builder
from .quantised import trimmed
from .step import Running

MATMUL = MatMul()
TURN = Transpose(perm=(1, 0, 2))
ROWS = Split(axis=0)
MUL = Mul()
INDEX_BLOCK = 128
"""Elements of a cached key of the indexer that share a scale of 32 bits."""


def latent_attention(
    b: Builder, x: Value, a: LatentAttention, run: Running, name: str, hidden: int
) -> Value:
    """Return ``x`` [tokens, hidden] after attention and the product behind it, summed over ranks.

    Source: arXiv:2405.04434 section 2.1 and appendix C; vLLM, ``mla/common.py``.
    """
    heads = b.share(a.heads, "heads")
    query, latent = _latents(b, x, a, run, name, (hidden, heads))
    tokens = run.tokens
    if a.indexer is not None:
        flat = _wide(b, query, a, heads, name)
        mixed = _restored(b, sparse_scores(b, flat, latent, a, run, name), a, heads, name)
    elif tokens.has_prompts and tokens.has_decodes:
        # a mixed step has both forms, each for its tokens
        parts = b.numbers((tokens.prompts * tokens.length, tokens.decodes * tokens.new_tokens))
        groups = ("prompts", "decodes")
        queries = b.several(ROWS, (query, parts), f"{name}.queries", groups)
        latents = b.several(ROWS, (latent, parts), f"{name}.latents", groups)
        (prompt_query, decode_query), (prompt_latent, decode_latent) = queries, latents
        prompts = _expanded(b, prompt_query, prompt_latent, a, run, f"{name}.prompts")
        decodes = _absorbed(b, decode_query, decode_latent, a, run, f"{name}.decodes")
        mixed = b.node(ROW_JOIN, (prompts, decodes), f"{name}.joined")
    elif tokens.has_prompts:
        mixed = _expanded(b, query, latent, a, run, name)
    else:
        mixed = _absorbed(b, query, latent, a, run, name)
    out = b.product(mixed, (heads * a.value_dim, hidden), f"{name}.output", is_biased=a.is_biased)
    return b.all_reduce(out, f"{name}.sum")


def _latents(
    b: Builder, x: Value, a: LatentAttention, run: Running, name: str, extents: tuple[int, int]
) -> tuple[Value, Value]:
    """Return queries [tokens, heads*head_dim], and latents with rotated part [tokens, cached]."""
    hidden, heads = extents
    width = heads * a.head_dim
    if a.query_rank:
        columns = (a.query_rank, a.kv_rank, a.rope_dim)
        # one product for both latents, whole on every rank
        merged = b.product(
            x, (hidden, sum(columns)), f"{name}.latents", is_biased=a.is_biased, slices=2
        )
        low, latent, rope = b.cut(merged, columns, f"{name}.cut")
        low = b.norm(low, Norm(NormKind.RMS, a.query_rank), f"{name}.q_norm")
        query = b.product(low, (a.query_rank, width), f"{name}.query")
        score_tokens(b, x, low, a, run, f"{name}.index", hidden)
    else:
        query = b.product(x, (hidden, width), f"{name}.query")
        merged = b.product(x, (hidden, a.cached_dim), f"{name}.latents", is_biased=a.is_biased)
        latent, rope = b.cut(merged, (a.kv_rank, a.rope_dim), f"{name}.cut")
    latent = b.norm(latent, Norm(NormKind.RMS, a.kv_rank), f"{name}.kv_norm")
    if a.rope_dim and a.is_rotated:
        dims = (a.rope_dim, a.head_dim)
        query = rotated_heads(b, query, heads, dims, run, f"{name}.q_rotary")
        # one rotated key for all heads
        rope = rotated_heads(b, rope, 1, (a.rope_dim, a.rope_dim), run, f"{name}.k_rotary")
    if a.rope_dim:
        latent = b.node(JOIN, (latent, rope), f"{name}.cached")
    b.cached.append(latent)
    return query, latent


def _expanded(
    b: Builder, query: Value, latent: Value, a: LatentAttention, run: Running, name: str
) -> Value:
    """Return attention to keys and values of every head, which are expanded from the latents.

    Latents of cached tokens are expanded, too.
    """
    heads, tokens = b.share(a.heads, "heads"), run.tokens
    whole = latent
    if tokens.past != 0:
        shape = (tokens.prompts, 1, tokens.past, a.cached_dim)
        past = b.input(f"{name}.past_latent", b.precision.cached, shape)
        rows = b.shaped(past, (-1, a.cached_dim), f"{name}.past")
        whole = b.node(ROW_JOIN, (rows, latent), f"{name}.whole")
    short, rope = b.cut(whole, (a.kv_rank, a.rope_dim), f"{name}.parts")
    columns = heads * (a.nope_dim + a.value_dim)
    # decodes absorb this weight into queries, so engines serve no adapters for it: 0 slices
    expanded = b.product(short, (a.kv_rank, columns), f"{name}.expansion", slices=0)
    nope, value = b.cut(expanded, (heads * a.nope_dim, heads * a.value_dim), f"{name}.expanded")
    # the rotated part is the same for every head: each head gets a copy
    key = b.node(JOIN, (nope, *(rope,) * (heads if a.rope_dim else 0)), f"{name}.key")
    op = RaggedAttention(
        num_heads=heads, kv_heads=heads, head_dim=a.head_dim, value_dim=a.value_dim
    )
    return b.node(op, (query, key, value, run.lengths), f"{name}.scores")


def _absorbed(
    b: Builder, query: Value, latent: Value, a: LatentAttention, run: Running, name: str
) -> Value:
    """Return attention in the space of latents, which are keys and values of all heads at once."""
    heads, tokens = b.share(a.heads, "heads"), run.tokens
    flat = _wide(b, query, a, heads, name)
    cache = b.input(
        f"{name}.latent_cache",
        b.precision.cached,
        (tokens.decodes, 1, tokens.context, a.cached_dim),
    )
    op = RaggedAttention(
        num_heads=heads,
        kv_heads=1,
        head_dim=a.cached_dim,
        value_dim=a.kv_rank,
        decode_tokens=tokens.new_tokens,
        shares_value=1,
    )
    # no value, no lengths and no past: latents are both keys and values, and nothing is prefilled
    mixed = b.node(op, trimmed(flat, latent, None, None, None, None, cache), f"{name}.scores")
    return _restored(b, mixed, a, heads, name)


def _wide(b: Builder, query: Value, a: LatentAttention, heads: int, name: str) -> Value:
    """Return the queries of all heads in the space of latents, side by side."""
    split = b.shaped(query, (-1, heads, a.head_dim), f"{name}.split")
    nope, rope = b.cut(split, (a.nope_dim, a.rope_dim), f"{name}.nope")
    low = _per_head(b, nope, (heads, a.nope_dim, a.kv_rank), f"{name}.absorb")
    wide = b.node(JOIN, (low, rope), f"{name}.wide") if a.rope_dim else low
    return b.shaped(wide, (-1, heads * a.cached_dim), f"{name}.flat")


def _restored(b: Builder, mixed: Value, a: LatentAttention, heads: int, name: str) -> Value:
    """Return the values of all heads from results in the space of latents."""
    by_head = b.shaped(mixed, (-1, heads, a.kv_rank), f"{name}.by_head")
    out = _per_head(b, by_head, (heads, a.kv_rank, a.value_dim), f"{name}.restore")
    return b.shaped(out, (-1, heads * a.value_dim), f"{name}.restored")


def _per_head(b: Builder, x: Value, extents: tuple[int, int, int], name: str) -> Value:
    """Return each head's rows times its weight: [tokens, heads, in] to [tokens, heads, out]."""
    weight = b.weight(f"{name}.weight", extents)
    # a batched product needs the heads in front
    turned = b.node(TURN, (x,), f"{name}.heads_first")
    product = b.node(MATMUL, (turned, weight), name)
    return b.node(TURN, (product,), f"{name}.tokens_first")


def index_bits(indexer: Indexer | None) -> int:
    """Return the bits that a token leaves in the indexer's cache of one layer.

    Keys are 8-bit floats with a scale of 32 bits per block, whatever the type of the other cache.
    Source: vLLM, ``DeepseekV32IndexerCache``.
    """
    if indexer is None or indexer.is_shared:
        return 0
    return indexer.head_dim * 8 + -(-indexer.head_dim // INDEX_BLOCK) * 32


def score_tokens(
    b: Builder, x: Value, low: Value, a: LatentAttention, run: Running, name: str, hidden: int
) -> None:
    """Add the indexer of a layer, whole on every rank: scores of every query with every token.

    A score is the sum over heads of weighted products, which is what an attention with values of
    one element computes. Source: arXiv:2512.02556 section 2.1.
    """
    ix = a.indexer
    if ix is None or ix.is_shared:
        return
    query = b.product(low, (a.query_rank, ix.heads * ix.head_dim), f"{name}.query", slices=0)
    columns = (ix.head_dim, ix.heads)
    merged = b.product(x, (hidden, sum(columns)), f"{name}.key", weights=WeightFormat.HALF)
    key, weights = b.cut(merged, columns, f"{name}.cut")
    key = b.norm(key, Norm(NormKind.LAYER, ix.head_dim, is_biased=True), f"{name}.norm")
    if a.rope_dim and a.is_rotated:
        dims = (a.rope_dim, ix.head_dim)
        query = rotated_heads(b, query, ix.heads, dims, run, f"{name}.q_rotary")
        key = rotated_heads(b, key, 1, dims, run, f"{name}.k_rotary")
    op = RaggedAttention(
        num_heads=ix.heads,
        kv_heads=1,
        head_dim=ix.head_dim,
        value_dim=1,
        decode_tokens=run.tokens.new_tokens,
        shares_value=1,
    )
    extents = (run.tokens.past, run.tokens.context)
    caches = _caches(b, run, f"{name}.key", ix.head_dim, extents, DType.F8E4M3FN)
    scores = b.node(op, trimmed(query, key, None, *caches), f"{name}.scores")
    # as results of the module, since scores that no operator reads would be removed
    b.cached += [key, b.node(MUL, (scores, weights), f"{name}.choice")]


def sparse_scores(
    b: Builder, query: Value, latent: Value, a: LatentAttention, run: Running, name: str
) -> Value:
    """Return attention of absorbed queries [tokens, heads*cached] to the tokens that were chosen.

    Every query reads as many as are chosen, like a window of that length.
    """
    assert a.indexer is not None
    tokens, most = run.tokens, a.indexer.chosen
    # the token itself is among the chosen ones, and is not cached yet
    extents = (dim_min(tokens.past, most - 1), dim_min(tokens.context, most - 1))
    caches = _caches(b, run, f"{name}.latent", a.cached_dim, extents, b.precision.cached)
    op = RaggedAttention(
        num_heads=b.share(a.heads, "heads"),
        kv_heads=1,
        head_dim=a.cached_dim,
        value_dim=a.kv_rank,
        decode_tokens=tokens.new_tokens,
        window=most,
        shares_value=1,
    )
    return b.node(op, trimmed(query, latent, None, *caches), f"{name}.scores")


def _caches(
    b: Builder, run: Running, name: str, width: int, extents: tuple[Dim, Dim], dtype: DType
) -> Inputs:
    """Return lengths and caches of prompts and of decoded sequences, in the order of operands."""
    tokens = run.tokens
    past = decode = None
    past_extent, decode_extent = extents
    if tokens.past != 0:
        past = b.input(f"{name}_past", dtype, (tokens.prompts, 1, past_extent, width))
    if tokens.has_decodes:
        decode = b.input(f"{name}_cache", dtype, (tokens.decodes, 1, decode_extent, width))
    return run.lengths if tokens.has_prompts else None, past, None, decode
