"""Sparse attention over latents: an indexer scores all tokens, attention reads the best of them."""

from __future__ import annotations

from perfc.ir.graph import Value
from perfc.ir.ops.attention.ragged_attention import RaggedAttention
from perfc.ir.ops.elementwise.elementwise import Mul
from perfc.ir.symbolic.dim import Dim, dim_min
from perfc.ir.tensors.types import DType

from ..model import Indexer, LatentAttention, Norm, NormKind
from ..precision import WeightFormat
from .attention import rotated_heads
from .builder import Builder
from .quantised import trimmed
from .step import Running

MUL = Mul()
INDEX_BLOCK = 128
"""Elements of a cached key of the indexer that share a scale of 32 bits."""


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
    both = b.product(x, (hidden, ix.head_dim + ix.heads), f"{name}.key", weights=WeightFormat.HALF)
    key, weights = b.cut(both, (ix.head_dim, ix.heads), f"{name}.cut")
    key = b.norm(key, Norm(NormKind.LAYER, ix.head_dim, is_biased=True), f"{name}.norm")
    if a.rope_dim and a.is_rotated:
        dims = (a.rope_dim, ix.head_dim)
        query = rotated_heads(b, query, ix.heads, dims, run, f"{name}.q_rotary")
        key = rotated_heads(b, key, 1, dims, run, f"{name}.k_rotary")
    op = RaggedAttention(
        num_heads=ix.heads, kv_heads=1, head_dim=ix.head_dim, value_dim=1,
        decode_tokens=run.tokens.new_tokens, shares_value=1,
    )  # fmt: skip
    extents = (run.tokens.past, run.tokens.context)
    caches = _caches(b, run, f"{name}.key", ix.head_dim, extents, DType.F8E4M3FN)
    scores = b.node(op, trimmed(query, key, None, *caches), f"{name}.scores")
    b.kept += [key, b.node(MUL, (scores, weights), f"{name}.choice")]


def sparse_scores(
    b: Builder, query: Value, latent: Value, a: LatentAttention, run: Running, name: str
) -> Value:
    """Return attention of absorbed queries [tokens, heads*cached] to the tokens that were chosen.

    Every query reads as many as are chosen, like a window of that length.
    """
    assert a.indexer is not None
    tokens, most = run.tokens, a.indexer.chosen
    extents = (dim_min(tokens.past, most - 1), dim_min(tokens.context, most - 1))
    caches = _caches(b, run, f"{name}.latent", a.cached_dim, extents, b.precision.cached)
    op = RaggedAttention(
        num_heads=b.share(a.heads, "heads"), kv_heads=1, head_dim=a.cached_dim, value_dim=a.kv_rank,
        decode_tokens=tokens.new_tokens, window=most, shares_value=1,
    )  # fmt: skip
    return b.node(op, trimmed(query, latent, None, *caches), f"{name}.scores")


def _caches(
    b: Builder, run: Running, name: str, width: int, extents: tuple[Dim, Dim], dtype: DType
) -> tuple[Value | None, ...]:
    """Return lengths and caches of prompts and of decoded sequences, in the order of operands."""
    tokens = run.tokens
    past = decode = None
    if tokens.past != 0:
        past = b.input(f"{name}_past", dtype, (tokens.prompts, 1, extents[0], width))
    if tokens.has_decodes:
        decode = b.input(f"{name}_cache", dtype, (tokens.decodes, 1, extents[1], width))
    return run.lengths if tokens.has_prompts else None, past, None, decode
