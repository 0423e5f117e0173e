"""Kernel class of decode attention: one new token over a cache of keys and values.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import numpy as np

from perfc.ir import bits_of

from ..sheet import Sheet
from . import Amounts, Array, Columns, of_products
from .attention import (
    NO_WINDOW,
    AttentionKernel,
    FusedAttention,
    cache_bytes,
    kernel_features,
    least_mac,
    memory_s,
    reach,
    value_dim,
    wave_features,
)

ROWS_OF_PRODUCT = 16
"""Queries that the smallest matrix instruction multiplies at once: m of ``mma.m16n8k16`` (PTX)."""


class AttentionDecode(FusedAttention):
    """``softmax(q·kᵀ)·v`` of one query per head in each of ``batch`` sequences.

    ``cached_len`` tokens are in the cache, the new one not included. The other columns are those
    of ``attention_prefill``.

    Leaves out: writing the new keys and values, and exponentials.
    """

    name = "attention_decode"
    parameters = ("batch", "cached_len", "heads", "kv_heads", "head_dim")
    optional = {
        "value_dim": 0,
        "window": 0,
        "cache_bits": 0,
        "kernel": 0,
    }
    chosen_by = ("head_dim",)  # columns by which frameworks choose a kernel
    increasing = ("log_device_s", "log_chain_s")  # features with which time only rises

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts: each KV head reads its visible cache once, for all its queries."""
        element_bytes = bits_of(dtype) / 8
        cached = cache_bytes(rows, dtype)
        width = rows["head_dim"] + value_dim(rows)
        seen = length_of(rows)
        queries = rows["batch"] * rows["heads"]
        mac = queries * seen * width
        return of_products(
            mac,
            least_mac(mac, cached, dtype),
            rows["batch"] * rows["kv_heads"] * seen * width * cached
            + queries * rows["head_dim"] * element_bytes,
            queries * value_dim(rows) * element_bytes,
        )

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of traffic against caches, blocks against multiprocessors, and splits.

        Query heads are a feature only by the number that share keys (``group``): by their count,
        forests would recognize a model and predict unseen counts worse.
        """
        log = np.log2
        _, _, device_s, nbytes = self.balance(rows, dtype, sheet)
        seen = length_of(rows)
        cached = cache_bytes(rows, dtype)
        width = rows["head_dim"] + value_dim(rows)
        blocks = rows["batch"] * rows["kv_heads"]
        group = rows["heads"] / rows["kv_heads"]
        # time in which one thread block reads the whole sequence of one key/value head at one
        # multiprocessor's share of the bandwidth
        chain_s = seen * width * cached * sheet.sm_count / sheet.device_bytes_per_s
        features = {
            "log_traffic_s": log(memory_s(nbytes, sheet)),
            "log_device_s": log(device_s),
            "log_l2_share": log(nbytes / max(sheet.l2_bytes, 1.0)),
            "log_chain_s": log(chain_s),
            "log_seen": log(seen),
            "log_cached_len": log(rows["cached_len"] + 1),
            "log_window": log(binding_window(rows)),
            "log_batch": log(rows["batch"]),
            "log_kv_heads": log(rows["kv_heads"]),
            "group": group,
            "fill_group": group / (np.ceil(group / ROWS_OF_PRODUCT) * ROWS_OF_PRODUCT),
            "head_dim": rows["head_dim"],
            "value_dim": value_dim(rows),
            "cached_bits": 8 * cached,
        }
        features |= wave_features("kv_head", blocks, sheet)
        # kernels split long sequences over thread blocks (flash decoding), by 64 or 128 keys
        features |= wave_features("split_64", blocks * np.ceil(seen / 64), sheet)
        features |= wave_features("split_128", blocks * np.ceil(seen / 128), sheet)
        return features | kernel_features(rows["kernel"], AttentionKernel)


def length_of(rows: Columns) -> Array:
    """Return the number of tokens to which the query attends, itself included."""
    return np.minimum(rows["cached_len"] + 1, reach(rows))


def binding_window(rows: Columns) -> Array:
    """Return the window in tokens; `NO_WINDOW` if it includes the whole cache.

    Kernels with a window as long as the cache or longer take as long as those without one: 0 %
    difference in the median, SGLang's on Hopper 7 to 8 %. Its length as a feature would carry
    effects of machines with rows of windows to machines without such rows, such as A100.
    """
    binds = reach(rows) < rows["cached_len"] + 1
    return np.where(binds, rows["window"], NO_WINDOW)
