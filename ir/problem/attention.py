"""Attention: products with a softmax between."""

from __future__ import annotations

from typing import NamedTuple

from ..dim import Dim
from .product import Product


class Attention(NamedTuple):
    """``softmax(Q @ K^T) @ V`` of every head.

    Args:
        batch: sequences.
        heads: of queries, in each sequence.
        kv_heads: of keys and values.
        query_len: queries of a head.
        kv_len: keys that they meet, those in a cache included.
        head_dim: extent of a query and a key.
        value_dim: extent of a value.
        is_causal: queries see only what is before them.
        window: latest tokens that a query sees, 0 for all.
        cache_bits: of an element of a cache of keys, 0 where there is none.
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
        """Of queries with keys, then of probabilities with values.

        A mask that is added is content: all pairs count. Heads that were repeated before the
        products are heads of keys and values here.

        Args:
            first: gives the scores.
            second: gives the results.
            scores: extents of the scores; the first of four axes or more is the batch.
        """
        batch: Dim = scores[0] if len(scores) > 3 else 1
        heads: Dim = 1
        for d in scores[1:-2] if len(scores) > 3 else scores[:-2]:
            heads = heads * d
        return cls(batch, heads, heads, first.m, first.n, first.k, second.n)
