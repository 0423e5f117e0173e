"""Problem size of attention: matrix products with a softmax between them."""

from __future__ import annotations

from typing import NamedTuple

from ..symbolic.dim import Dim
from .product import Product


class Attention(NamedTuple):
    """``softmax(Q @ K^T) @ V`` of every head.

    Args:
        batch: number of sequences.
        heads: query heads per sequence.
        kv_heads: key/value heads per sequence.
        query_len: queries per head.
        kv_len: keys per head, including those in the KV cache.
        head_dim: size of a query and a key.
        value_dim: size of a value.
        is_causal: queries attend only to earlier positions.
        window: latest tokens that a query attends to, 0 for all.
        cache_bits: bits of an element of the KV cache, 0 without a cache.
    """

    batch: Dim
    heads: Dim
    kv_heads: Dim
    query_len: Dim
    kv_len: Dim
    head_dim: Dim
    value_dim: Dim
    is_causal: bool = False
    window: int = 0
    cache_bits: int = 0

    @classmethod
    def of_products(cls, first: Product, second: Product, scores: tuple[Dim, ...]) -> Attention:
        """Return the problem of two matrix products: queries with keys, probabilities with values.

        An added mask is data: all pairs count. Heads that were repeated before the
        products count as key/value heads.

        Args:
            first: the product of queries and keys.
            second: the product of probabilities and values.
            scores: shape of the scores; with four axes or more the first is the batch.
        """
        batch: Dim = scores[0] if len(scores) > 3 else 1
        heads: Dim = 1
        for d in scores[1:-2] if len(scores) > 3 else scores[:-2]:
            heads = heads * d
        return cls(batch, heads, heads, first.m, first.n, first.k, second.n)
