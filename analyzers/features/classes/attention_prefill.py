"""Kernel class of attention with many queries: prompts, chunks of prompts, and encoders.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import numpy as np

from perfc.ir import bits_of

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, of_products
from .attention import (
    BLOCK_QUERIES,
    NO_WINDOW,
    START_S,
    AttentionKernel,
    FusedAttention,
    cache_bytes,
    kernel_features,
    key_s,
    least_mac,
    reach,
    value_dim,
    wave_features,
)

TILE = 128
"""Queries of one thread block, in most kernels; others have 64."""


class AttentionPrefill(FusedAttention):
    """Fused ``softmax(q·kᵀ)·v`` in which ``query_len`` queries attend to ``kv_len`` tokens.

    The queries are the last ``query_len`` tokens; the tokens before them come from the KV cache.
    Optional parameters:

    - ``causal``: 1 if a query attends to the tokens up to its position, 0 if to all.
    - ``window``: number of latest tokens that a query attends to, itself included; 0 for all.
    - ``value_dim``: extent of one head's values; 0 if it equals ``head_dim``.
    - ``cache_bits``: bits of a cached element; 0 if it has the computed type.
    - ``kernel``: an `AttentionKernel`.

    Source:
        Dao et al., FlashAttention (2022), Algorithm 1: scores never leave the chip.

    Leaves out: writing new keys and values to the cache, rotary embedding, and exponentials,
    which some kernels evaluate on the vector units.
    """

    name = "attention_prefill"
    parameters = (
        "batch",
        "query_len",
        "kv_len",
        "heads",
        "kv_heads",
        "head_dim",
    )
    optional = {
        "value_dim": 0,
        "window": 0,
        "causal": 1,
        "cache_bits": 0,
        "kernel": 0,
    }
    chosen_by = ("causal", "head_dim")  # columns by which frameworks choose a kernel

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return MACs of unmasked pairs, and bytes with every tensor read or written once.

        Keys and values count once per KV head.
        """
        element_bytes = bits_of(dtype) / 8
        cached = cache_bytes(rows, dtype)
        queries = rows["batch"] * rows["query_len"] * rows["heads"]
        width = rows["head_dim"] + value_dim(rows)
        mac = rows["batch"] * rows["heads"] * pairs(rows) * width
        # bytes per element of width: a window of w tokens holds the new one and w - 1 cached ones
        seen = np.minimum(cached_len(rows), reach(rows) - 1) * cached
        # new keys and values are activations; a kernel may read them from a narrower cache instead,
        # so that a lower bound takes the narrower of the two types
        new = (rows["kv_len"] - cached_len(rows)) * np.minimum(cached, element_bytes)
        return of_products(
            mac,
            least_mac(mac, cached, dtype),
            queries * rows["head_dim"] * element_bytes
            + rows["batch"] * rows["kv_heads"] * width * (seen + new),
            queries * value_dim(rows) * element_bytes,
        )

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the features: balance of products, exponentials and traffic; tiles and waves."""
        log = np.log2
        mac, compute_s, device_s, nbytes = self.balance(rows, dtype, sheet)
        count = pairs(rows)
        # one exponential per unmasked pair
        exponentials_s = rows["batch"] * rows["heads"] * count / sheet.special_op_per_s("f32")
        chain_time_s = chain_s(rows, dtype, sheet)
        blocks = rows["batch"] * rows["heads"]
        # kernels may pack queries of the heads that share keys into one tile
        packed = rows["query_len"] * rows["heads"] / rows["kv_heads"]
        features = {
            "log_bound_s": log(np.maximum(compute_s, device_s)),
            "log_intensity": log(compute_s / device_s),
            "log_mac": log(mac),
            "log_exponentials": log(exponentials_s / compute_s),
            "log_chain_s": log(chain_time_s),
            "log_chain_share": log(chain_time_s / compute_s),
            "log_l2_share": log(nbytes / max(sheet.l2_bytes, 1.0)),
            "log_query_len": log(rows["query_len"]),
            "log_length": log(np.minimum(rows["kv_len"], reach(rows))),
            "log_batch": log(rows["batch"]),
            "log_blocks": log(blocks),
            "log_heads": log(rows["heads"]),
            "log_kv_heads": log(rows["kv_heads"]),
            "group": rows["heads"] / rows["kv_heads"],
            "head_dim": rows["head_dim"],
            "value_dim": value_dim(rows),
            "log_window": log(np.minimum(reach(rows), NO_WINDOW)),
            # share of pairs that remain under the mask; stored forests have it under this name
            "masked": count / (rows["query_len"] * rows["kv_len"]),
            "causal": rows["causal"],
            "computed_bits": np.full_like(compute_s, bits_of(dtype)),
            "cached_bits": 8 * cache_bytes(rows, dtype),
        }
        for tile in (64, TILE):
            tiles = np.ceil(rows["query_len"] / tile)
            features |= wave_features(str(tile), blocks * tiles, sheet)
            features[f"pad_{tile}"] = rows["query_len"] / (tiles * tile)
        tiles = np.ceil(packed / TILE) * rows["batch"] * rows["kv_heads"]
        return (
            features
            | wave_features("packed", tiles, sheet)
            | kernel_features(rows["kernel"], AttentionKernel)
        )

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the longest of products, traffic and a block's pass over its keys, plus a launch.

        Rows of CUDA graphs replay one call, whose KV cache then is in L2 and has no pages. Rows of
        an engine's profiler (`Protocol.KERNELS`) have a paged cache per layer, which is not in L2
        and which blocks of each head read in waves. There the longer of products and traffic gets
        `START_S`, the time before and after a kernel reads its keys; the time of waves does not.
        """
        latency_s = physics.latency_s(protocol, sheet)
        if protocol is Protocol.KERNELS:
            _, compute_s, device_s, _ = self.balance(rows, dtype, sheet)
            bound_s = np.maximum(compute_s, device_s) + START_S
            return np.maximum(bound_s, waves_s(rows, dtype, sheet)) + latency_s
        chain_time_s = chain_s(rows, dtype, sheet) + latency_s
        return np.maximum(super().scale_s(rows, dtype, sheet, protocol), chain_time_s)


def cached_len(rows: Columns) -> Array:
    """Return the number of cached tokens, which precede the first query; 0 if not causal."""
    return np.where(rows["causal"] > 0, np.maximum(rows["kv_len"] - rows["query_len"], 0), 0)


def chain_s(rows: Columns, dtype: str, sheet: Sheet) -> Array:
    """Return the time in which one thread block passes over all keys that its queries see.

    The block multiplies at one multiprocessor's share of the rate of products. Its rows are the
    queries of all heads that share keys, at most `TILE`.
    """
    length = np.minimum(rows["kv_len"], reach(rows))
    height = np.minimum(TILE, rows["query_len"] * rows["heads"] / rows["kv_heads"])
    mac = height * length * (rows["head_dim"] + value_dim(rows))
    time_s: Array = 2 * mac * sheet.sm_count / physics.matrix_flop_per_s(dtype, sheet)
    return time_s


def waves_s(rows: Columns, dtype: str, sheet: Sheet) -> Array:
    """Return the time of blocks of `BLOCK_QUERIES` queries of one head, which run in waves.

    It is the time of mean blocks in whole waves, but at least that of the longest block. The
    kernels of FlashAttention-2 over a paged cache are of this kind, and earlier ones of vLLM. A
    block computes its whole tile, however few its queries are, and heads that share keys share no
    block.
    """
    one_key_s = key_s(rows, dtype, sheet)
    tiles = np.ceil(rows["query_len"] / BLOCK_QUERIES)
    # keys that a block of queries sees, in the mean of all blocks
    keys = pairs(rows) / np.minimum(rows["query_len"], BLOCK_QUERIES) / tiles
    waves = np.ceil(rows["batch"] * rows["heads"] * tiles / sheet.sm_count)
    time_s: Array = one_key_s * np.maximum(np.minimum(rows["kv_len"], reach(rows)), waves * keys)
    return time_s


def pairs(rows: Columns) -> Array:
    """Return the unmasked pairs of query and key of one head in one sequence.

    Causal: ``Σᵢ min(cached + i, window)`` over the queries ``i = 1 … query_len``. Not causal: all
    pairs; with a window the causal ones, a lower bound of them.
    """
    queries, cached, window = rows["query_len"], cached_len(rows), reach(rows)
    # queries before the window is full see all tokens so far: a triangle plus the cached tokens
    growing = np.clip(window - cached, 0, queries)
    triangle = growing * cached + growing * (growing + 1) / 2
    # the other queries see a full window; the inner `where` avoids 0 times an infinite window (NaN)
    full = queries > growing
    causal = triangle + np.where(full, (queries - growing) * np.where(full, window, 0), 0)
    everything = queries * rows["kv_len"]
    return np.where((rows["causal"] > 0) | np.isfinite(window), causal, everything)
