"""Attention of a chunk of a prompt and of single tokens of other sequences, in one kernel."""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import entity

from .. import physics
from . import Amounts
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

if TYPE_CHECKING:
    from ..rows import Protocol
    from ..sheet import Sheet
    from . import Array, Columns

SHARED = ("heads", "kv_heads", "head_dim", "value_dim", "window", "cache_bits", "kernel")
"""Columns that mean the same in both halves."""


class MixedAttention(FusedAttention):
    """``query_len`` tokens of a chunk that see ``kv_len``, and ``decodes`` tokens of others.

    Each of the latter is the only query of its sequence, over ``cached_len`` tokens in the cache.
    ``batch`` is how many chunks there are. The other columns are those of ``attention_prefill``;
    what a query sees is causal.

    Leaves out: what the two halves leave out.
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
    chosen_by = ("head_dim",)

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the sum of both halves."""
        prefill, decode = halves()
        chunk = prefill.amounts(prefill_rows(rows), dtype)
        tokens = decode.amounts(decode_rows(rows), dtype)
        return Amounts(*map(add, astuple(chunk), astuple(tokens)))

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return tile shares and lengths, without features that only the number of KV heads sets.

        A model's heads are few values, which a forest would learn by heart.
        """
        log = np.log2
        walk = schedule(rows, dtype, sheet)
        ones = np.ones_like(walk.total_s)
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
        """Return the waves of tiles or traffic, whichever takes longest, and a launch."""
        total_s: Array = schedule(rows, dtype, sheet).total_s
        return total_s + START_S + physics.latency_s(protocol, sheet)


@entity
class TileSchedule:
    """Schedule of query tiles over multiprocessors; arrays with one element per kernel.

    Args:
        work_s: all tiles, spread evenly.
        chunk_s: longest walk of a tile of a chunk over its keys.
        token_s: that of a single token's.
        waves: waves of single tokens.
        token_share: share of single tokens in the work.
        head_bytes: cached by all sequences for one head of keys and values.
        traffic_s: from device memory.
        total_s: the longest of all.
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
    """Return the classes of the two halves."""
    return AttentionPrefill(), AttentionDecode()


def prefill_rows(rows: Columns) -> dict[str, Array]:
    """Return the chunks alone."""
    names = ("batch", "query_len", "kv_len", *SHARED)
    return {name: rows[name] for name in names} | {"causal": np.ones_like(rows["batch"])}


def decode_rows(rows: Columns) -> dict[str, Array]:
    """Return the single tokens alone."""
    return {name: rows[name] for name in ("cached_len", *SHARED)} | {"batch": rows["decodes"]}


def schedule(rows: Columns, dtype: str, sheet: Sheet) -> TileSchedule:
    """Return the blocks of queries of one head, each of which walks its keys on one multiprocessor.

    A kernel for chunks gives a single token a separate tile in each head, of which all rows but
    one are idle, and takes sequences of one head before those of the next. Where the sequences that
    share a head of keys do not fit into L2, each head of queries reads them again, unless
    several run at once.
    """
    sm = sheet.sm_count
    width, each_s = rows["head_dim"] + value_dim(rows), key_s(rows, dtype, sheet)
    seen = length_of(decode_rows(rows))
    chunks = prefill_rows(rows)
    keys = rows["batch"] * pairs(chunks) / np.minimum(rows["query_len"], BLOCK_QUERIES)
    chunk_s, token_s = each_s * np.minimum(rows["kv_len"], reach(rows)), each_s * seen
    waves = rows["decodes"] * rows["heads"] / sm
    token_work_s = waves * token_s
    work_s = rows["heads"] * keys * each_s / sm + token_work_s
    chunks_s = waves_s(chunks, dtype, sheet)
    head_bytes = (
        width * cache_bytes(rows, dtype) * (rows["decodes"] * seen + rows["batch"] * rows["kv_len"])
    )
    beyond = np.clip(2 * head_bytes / max(sheet.l2_bytes, 1.0) - 1, 0, 1)
    group = rows["heads"] / rows["kv_heads"]
    again = np.clip(group * rows["decodes"] / sm, 1, group)
    traffic_s = head_bytes * rows["kv_heads"] / sheet.device_bytes_per_s
    traffic_s = traffic_s * (1 + beyond * (again - 1))
    total_s = np.maximum.reduce([work_s, np.ceil(waves) * token_s, chunks_s, traffic_s])
    return TileSchedule(
        work_s, chunk_s, token_s, waves, token_work_s / work_s, head_bytes, traffic_s, total_s
    )
