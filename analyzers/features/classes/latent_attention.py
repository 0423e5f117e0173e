"""Kernel class of latent attention (DeepSeek's MLA): one cached vector per token for all heads.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from perfc.ir import bits_of

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, KernelClass, of_products
from .attention import cache_bytes, kernel_features, least_mac, memory_s, wave_features

RANK, ROPE = 512.0, 64.0
"""Extents of a cached latent, and of the part of a key that has the rotary position: those of
DeepSeek-V2 and V3."""
WIDEST_HEAD = 256.0
"""Widest head of ordinary keys; wider ones are latents: keys and values are one cached vector."""
TILE = 64
"""Queries of one thread block; single tokens fill it with their heads."""
LAUNCHES = 4
"""Order of magnitude of the launches of a layer's attention: kernels split keys and combine the
parts, or expand latents before; the forest learns the rest."""


class LatentKernel(IntEnum):
    """Families of kernels, as the column ``kernel`` numbers them."""

    UNKNOWN = 0
    TENSORRT_LLM = 1
    """TensorRT-LLM's kernels, called by itself."""
    FLASH = 2
    """FlashAttention as SGLang calls it, over latents for prompts as well."""
    TENSORRT_LLM_LATENT = 3
    """TensorRT-LLM's kernels for latents, as SGLang calls them."""
    TRITON = 4
    """Kernels written in Triton."""
    FLASH_MLA = 5
    """FlashMLA."""
    FLASH_EXPANDED = 6
    """FlashAttention over expanded keys and values, as vLLM calls it."""


LATENT = (LatentKernel.FLASH, LatentKernel.TENSORRT_LLM_LATENT, LatentKernel.TRITON)
"""Kernels that multiply with latents even for prompts; other kernels expand the keys of prompts."""


class LatentAttention(KernelClass):
    """``softmax(q·kᵀ)·v`` of ``query_len`` causal tokens per sequence that attend to ``kv_len``.

    Keys and values are cached as latents of 512 and 64 elements per token, which all heads share.
    With a ``head_dim`` of 576 queries and results are latents too (*absorbed*), as in decode; with
    192 and a ``value_dim`` of 128, keys and values are expanded per head. ``cache_bits`` is the
    size of a cached element, 0 for the computed type; ``kernel`` is a `LatentKernel`.

    Source:
        DeepSeek-V2, arXiv:2405.04434, section 2.1.

    Leaves out: projections before and after, and writing the new latents.
    """

    name = "latent_attention"
    parameters = (
        "batch",
        "query_len",
        "kv_len",
        "heads",
        "head_dim",
        "value_dim",
    )
    optional = {"cache_bits": 0, "kernel": 0}
    by_framework = ("kernel",)  # columns that the framework decides
    chosen_by = ("head_dim", "cache_bits")  # columns by which frameworks choose a kernel
    categories = ("prompts", "single tokens", "called")  # of rows, calibrated separately

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the work of causal pairs, with queries, results and cached latents once.

        Expanded keys and values do not count, as kernels differ in them: a lower bound.
        """
        computed, cached = bits_of(dtype) / 8, cache_bytes(rows, dtype)
        mac = pairs(rows) * (rows["head_dim"] + rows["value_dim"])
        queries = rows["batch"] * rows["query_len"] * rows["heads"]
        latents = np.where(is_latent(rows), rows["kv_len"], 0.0) * rows["batch"] * (RANK + ROPE)
        return of_products(
            mac,
            least_mac(mac, cached, dtype),
            # queries and results may come in the type of the cache: a lower bound
            latents * cached + queries * rows["head_dim"] * np.minimum(computed, cached),
            queries * rows["value_dim"] * np.minimum(computed, cached),
        )

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features: work against traffic, waves of tiles, one tile's pass over its keys."""
        log = np.log2
        compute_s, traffic_s, walk_s = parts_s(rows, dtype, sheet)
        height = rows["query_len"] * rows["heads"]
        tiles = rows["batch"] * np.ceil(height / TILE)
        features = {
            "log_compute_s": log(compute_s),
            "log_traffic_s": log(traffic_s),
            "log_intensity": log(compute_s / traffic_s),
            "log_walk_s": log(walk_s),
            "log_walk_share": log(walk_s / np.maximum(compute_s, traffic_s)),
            "log_query_len": log(rows["query_len"]),
            "log_kv_len": log(rows["kv_len"]),
            "log_batch": log(rows["batch"]),
            "log_heads": log(rows["heads"]),
            "pad": height / (np.ceil(height / TILE) * TILE),
            "is_latent": is_latent(rows).astype(float),
            "cached_bits": 8 * cache_bytes(rows, dtype),
            "single": (rows["query_len"] == 1).astype(float),
            "log_key_s": log(2 * sheet.sm_count / physics.matrix_flop_per_s(dtype, sheet))
            * np.ones_like(compute_s),
            "log_device": log(sheet.device_bytes_per_s) * np.ones_like(compute_s),
            "generation": sheet.generation * np.ones_like(compute_s),
            **wave_features("tile", tiles, sheet),
            # blocks if the keys are split into parts of 128
            **wave_features("split", tiles * np.ceil(rows["kv_len"] / 128), sheet),
            **wave_features("sequence", rows["batch"] * rows["heads"], sheet),
        }
        return features | kernel_features(rows["kernel"], LatentKernel)

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the longest of products, traffic and a tile's pass (prompts), plus launches."""
        compute_s, traffic_s, walk_s = parts_s(rows, dtype, sheet)
        # kernels divide the keys of single tokens among blocks, so that no tile passes over all
        walk_s = np.where(rows["query_len"] > 1, walk_s, 0.0)
        longest = np.maximum(np.maximum(compute_s, traffic_s), walk_s)
        return longest + LAUNCHES * physics.latency_s(protocol, sheet)

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return the category: prompts or single tokens in recorded graphs, or eager calls."""
        if protocol is Protocol.EAGER:
            return np.full(len(rows["batch"]), self.categories.index("called"), np.intp)
        index: NDArray[np.intp] = (rows["query_len"] == 1).astype(np.intp)
        return index


def is_latent(rows: Columns) -> NDArray[np.bool_]:
    """Return True for rows whose queries are latents as well (absorbed)."""
    is_wide: NDArray[np.bool_] = rows["head_dim"] > WIDEST_HEAD
    return is_wide


def pairs(rows: Columns) -> Array:
    """Return the number of causal pairs of query and key, over all heads and sequences."""
    # each query sees all cached tokens, and of the new ones those up to itself
    queries, cached = rows["query_len"], np.maximum(rows["kv_len"] - rows["query_len"], 0)
    seen = queries * cached + queries * (queries + 1) / 2
    return rows["batch"] * rows["heads"] * seen


def width(rows: Columns) -> Array:
    """Return the multiply-accumulates of one pair of query and key in the given kernel."""
    # over latents: a key has RANK + ROPE elements and a value RANK
    is_over_latents = is_latent(rows) | np.isin(rows["kernel"], LATENT)
    return np.where(is_over_latents, 2 * RANK + ROPE, rows["head_dim"] + rows["value_dim"])


def parts_s(rows: Columns, dtype: str, sheet: Sheet) -> tuple[Array, Array, Array]:
    """Return the times of products, of traffic, and of one tile's pass over all its keys.

    Products of single tokens count in whole tiles, which their heads fill.
    """
    rate = physics.matrix_flop_per_s(dtype, sheet)
    height = rows["query_len"] * rows["heads"]
    pad = np.ceil(height / TILE) * TILE / height
    mac = pairs(rows) * width(rows)
    computed, cached = bits_of(dtype) / 8, cache_bytes(rows, dtype)
    queries = rows["batch"] * rows["query_len"] * rows["heads"]
    nbytes = rows["batch"] * rows["kv_len"] * (RANK + ROPE) * cached
    nbytes = nbytes + queries * (rows["head_dim"] + rows["value_dim"]) * computed
    walk_s = 2 * np.minimum(height, TILE) * rows["kv_len"] * width(rows) * sheet.sm_count / rate
    return (
        2 * mac * np.where(rows["query_len"] > 1, 1.0, pad) / rate,
        memory_s(nbytes, sheet),
        walk_s,
    )
