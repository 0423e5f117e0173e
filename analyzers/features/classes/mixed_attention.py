"""Kernel class of attention over a chunk of a prompt and single tokens of other sequences.

Engines with chunked prefill run both in one kernel.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from operator import add

import numpy as np

from perfc.ir import entity

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns
from .attention import (
    BLOCK_QUERIES,
    NO_WINDOW,
    START_S,
    FusedAttention,
    cache_bytes,
    key_s,
    reach,
    value_dim,
)
from .attention_decode import AttentionDecode, length_of
from .attention_prefill import AttentionPrefill, pairs, waves_s

SHARED = ("heads", "kv_heads", "head_dim", "value_dim", "window", "cache_bits", "kernel")
"""Columns that the chunk and the single tokens have in common."""


class MixedAttention(FusedAttention):
    """``query_len`` tokens of a chunk that attend to ``kv_len``, and ``decodes`` single tokens.

    Each single token is the only query of its sequence, over ``cached_len`` tokens in the cache.
    ``batch`` is the number of chunks. The other columns are those of ``attention_prefill``;
    attention is causal.

    Leaves out: the same as the classes of both halves.
    """

    name = "mixed_attention"
    parameters = (
        "query_len",
        "kv_len",
        "decodes",
        "cached_len",
        "heads",
        "kv_heads",
        "head_dim",
    )
    optional = {
        "batch": 1,
        "value_dim": 0,
        "window": 0,
        "cache_bits": 0,
        "kernel": 0,
    }
    chosen_by = ("head_dim",)  # columns by which frameworks choose a kernel

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the sum of the amounts of chunks and of single tokens, field by field."""
        prefill, decode = halves()
        chunk = prefill.amounts(prefill_rows(rows), dtype)
        tokens = decode.amounts(decode_rows(rows), dtype)
        return Amounts(*map(add, astuple(chunk), astuple(tokens)))

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the features: shares of the schedule, and lengths.

        The number of KV heads is none: it has few values, by which a forest would recognize models.
        """
        log = np.log2
        walk = schedule(rows, dtype, sheet)
        ones = np.ones_like(walk.total_s)
        # most features are shares of the whole, which stay in the trained range for longer
        # sequences
        blocks = rows["batch"] * rows["heads"] * np.ceil(rows["query_len"] / BLOCK_QUERIES)
        chunk_waves = blocks / sheet.sm_count
        longest_s = np.maximum(walk.chunk_s, walk.token_s)
        return {
            "log_scheduled_s": log(walk.total_s),
            "log_work_share": log(walk.work_s / walk.total_s),
            "log_traffic_share": log(walk.traffic_s / walk.total_s),
            "log_longest_share": log(longest_s / walk.total_s),
            "log_walk_ratio": log(walk.chunk_s / walk.token_s),
            "token_share": walk.token_share,
            "log_cached_over_l2": log(walk.head_bytes / max(sheet.l2_bytes, 1.0)),
            "log_waves_tokens": log(walk.waves),
            "fill_tokens": walk.waves / np.ceil(walk.waves),
            "log_waves_chunk": log(chunk_waves),
            "fill_chunk": chunk_waves / np.ceil(chunk_waves),
            "log_query_len": log(rows["query_len"]),
            "log_length": log(rows["kv_len"]),
            "masked": pairs(prefill_rows(rows)) / (rows["query_len"] * rows["kv_len"]),
            "log_seen": log(length_of(decode_rows(rows))),
            "log_decodes": log(rows["decodes"]),
            "head_dim": rows["head_dim"],
            "log_window": log(np.minimum(reach(rows), NO_WINDOW)),
            "cached_bits": 8 * cache_bytes(rows, dtype),
            "log_key_s": log(key_s(rows, dtype, sheet)),
            "log_l2": log(max(sheet.l2_bytes, 1.0)) * ones,
        }

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of the schedule of tiles, plus a start and a launch."""
        total_s: Array = schedule(rows, dtype, sheet).total_s
        return total_s + START_S + physics.latency_s(protocol, sheet)


@entity
class TileSchedule:
    """Schedule of query tiles over multiprocessors; arrays with one element per kernel.

    Args:
        work_s: time of all tiles if they were spread evenly over the multiprocessors.
        chunk_s: longest time in which a tile of a chunk passes over its keys.
        token_s: time in which the tile of a single token passes over its keys.
        waves: number of waves of single tokens.
        token_share: share of single tokens in the work.
        head_bytes: bytes cached by all sequences for one KV head.
        traffic_s: time of traffic from device memory.
        total_s: time of the kernel: the longest of evenly spread work, whole waves of single
            tokens, waves of the chunks, and traffic.
    """

    work_s: Array
    chunk_s: Array
    token_s: Array
    waves: Array
    token_share: Array
    head_bytes: Array
    traffic_s: Array
    total_s: Array


@cache
def halves() -> tuple[AttentionPrefill, AttentionDecode]:
    """Return the classes of the two halves of a kernel: chunks and single tokens."""
    return AttentionPrefill(), AttentionDecode()


def prefill_rows(rows: Columns) -> dict[str, Array]:
    """Return the columns of the chunks as rows of prefill attention."""
    names = ("batch", "query_len", "kv_len", *SHARED)
    return {name: rows[name] for name in names} | {"causal": np.ones_like(rows["batch"])}


def decode_rows(rows: Columns) -> dict[str, Array]:
    """Return the columns of the single tokens as rows of decode attention."""
    return {name: rows[name] for name in ("cached_len", *SHARED)} | {"batch": rows["decodes"]}


def schedule(rows: Columns, dtype: str, sheet: Sheet) -> TileSchedule:
    """Return the schedule of query blocks, each of which passes over its keys on a multiprocessor.

    A kernel for chunks gives a single token a separate tile in each head, in which all rows but
    one are idle, and takes all sequences of one head before those of the next. If the cached keys
    of one KV head over all sequences exceed L2, each of its query heads reads them again, unless
    several run concurrently.
    """
    sm = sheet.sm_count
    width, one_key_s = rows["head_dim"] + value_dim(rows), key_s(rows, dtype, sheet)
    seen = length_of(decode_rows(rows))
    chunks = prefill_rows(rows)
    # pairs per block of queries: the keys that all blocks together pass over
    keys = rows["batch"] * pairs(chunks) / np.minimum(rows["query_len"], BLOCK_QUERIES)
    chunk_s, token_s = one_key_s * np.minimum(rows["kv_len"], reach(rows)), one_key_s * seen
    waves = rows["decodes"] * rows["heads"] / sm
    token_work_s = waves * token_s
    work_s = rows["heads"] * keys * one_key_s / sm + token_work_s
    chunks_s = waves_s(chunks, dtype, sheet)
    head_bytes = (
        width * cache_bytes(rows, dtype) * (rows["decodes"] * seen + rows["batch"] * rows["kv_len"])
    )
    # share that L2 does not hold: 0 up to half of its capacity, 1 from all of it
    beyond = np.clip(2 * head_bytes / max(sheet.l2_bytes, 1.0) - 1, 0, 1)
    # query heads of a group (those of one KV head) that run at the same time share what they read:
    # as many reads as waves of the group's tiles, from one to one per head
    group = rows["heads"] / rows["kv_heads"]
    rereads = np.clip(group * rows["decodes"] / sm, 1, group)
    traffic_s = head_bytes * rows["kv_heads"] / sheet.device_bytes_per_s
    traffic_s = traffic_s * (1 + beyond * (rereads - 1))
    total_s = np.maximum.reduce([work_s, np.ceil(waves) * token_s, chunks_s, traffic_s])
    return TileSchedule(
        work_s, chunk_s, token_s, waves, token_work_s / work_s, head_bytes, traffic_s, total_s
    )
