"""Kernel class of linear attention, with one state per head: gated delta nets and Mamba-2.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from perfc.ir import bits_of, entity

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, KernelClass, of_products
from .attention import kernel_features, memory_s, wave_features
from .causal_convolution import by_token

CHUNK = 64
"""Tokens of a chunk, within which kernels for prompts compute products instead of a recurrence."""
COLUMNS = 64
"""Columns of a head's values that one thread block computes over all chunks, in sequence."""
LAUNCHES = 6
"""Launches of a prompt: decays, products inside chunks, their inverse, states, results."""
STATE_BYTES, LEAST_STATE_BYTES = 4, 2
"""Bytes of an element of the state: as models store it, and as the narrowest measured kernel does,
for lower bounds."""


class LinearKernel(IntEnum):
    """Families of kernels, as the column ``kernel`` numbers them."""

    UNKNOWN = 0
    TRITON = 1
    """Flash linear attention and its descendants, written in Triton."""
    FLASHINFER = 2
    """FlashInfer's kernels, for prompts."""
    PACKED = 3
    """One kernel for gates, products and state of single tokens."""


class LinearAttention(KernelClass):
    """``query_len`` tokens of each of ``batch`` sequences, with one state per head.

    The state of a head has ``key_dim`` by ``value_dim`` elements. ``key_heads`` is the number of
    heads of keys, which heads of values share. ``delta`` is 1 if an update subtracts the value that
    the state has for the key (gated delta net), 0 if the state only decays (Mamba-2). ``kernel`` is
    a `LinearKernel`.

    Source:
        arXiv:2412.06464, section 3.3; arXiv:2405.21060, section 6.

    Leaves out: projections, the convolution before and the normalisation after.
    """

    name = "linear_attention"
    parameters = (
        "batch",
        "query_len",
        "heads",
        "key_heads",
        "key_dim",
        "value_dim",
    )
    optional = {"delta": 1, "kernel": 0}
    by_framework = ("kernel",)  # columns that the framework decides
    chosen_by = ("delta",)  # columns by which frameworks choose a kernel
    categories = ("prompts", "single tokens")  # of rows, calibrated separately

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts of the recurrence token by token; operands, results, states once."""
        tokens = rows["batch"] * rows["query_len"]
        state = rows["heads"] * rows["key_dim"] * rows["value_dim"]
        # update and use of the state; a delta rule also reads the value that the state has
        mac = tokens * state * (2 + rows["delta"])
        states = rows["batch"] * state * LEAST_STATE_BYTES
        value_bytes = tokens * rows["heads"] * rows["value_dim"] * bits_of(dtype) / 8
        # a prompt starts from an empty state, which is not read
        read = np.where(rows["query_len"] == 1, states, 0.0)
        return of_products(mac, mac, read + value_bytes, states + value_bytes)

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of traffic, products and the pass over chunks, and of the machine."""
        log = np.log2
        parts = work(rows, dtype, sheet)
        longest = np.maximum.reduce([parts.compute_s, parts.traffic_s, parts.walk_s])
        ones = np.ones_like(longest)
        is_single = rows["query_len"] == 1
        features = {
            "log_longest_s": log(longest),
            "log_compute_share": log(parts.compute_s / longest),
            "log_traffic_share": log(parts.traffic_s / longest),
            "log_walk_share": log(parts.walk_s / longest),
            "log_state_s": log(parts.state_s),
            # far below or above its capacity, L2 holds everything or nothing: no further effect
            "log_over_l2": np.clip(log(parts.nbytes / max(sheet.l2_bytes, 1.0)), -6, 8),
            "log_chunk_s": log(parts.chunk_s),
            "log_query_len": log(rows["query_len"]),
            "log_batch": log(rows["batch"]),
            "log_tokens": log(rows["batch"] * rows["query_len"]),
            "log_heads": log(rows["heads"]),
            "group": rows["heads"] / rows["key_heads"],
            "log_state": log(rows["key_dim"] * rows["value_dim"]),
            "chunk_fill": rows["query_len"] / (np.ceil(rows["query_len"] / CHUNK) * CHUNK),
            # single tokens are bound by the state, and were measured with delta rules only
            "delta": np.where(is_single, 1.0, rows["delta"]),
            "single": is_single.astype(float),
            "log_device": log(sheet.device_bytes_per_s) * ones,
            "log_l2": log(max(sheet.l2_bytes, 1.0)) * ones,
            "generation": sheet.generation * ones,
            **wave_features("walk", parts.blocks, sheet),
            **wave_features("chunk", parts.chunks * rows["heads"], sheet),
        }
        return features | kernel_features(rows["kernel"], LinearKernel)

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of the states' traffic for single tokens, plus a launch.

        For prompts it is the longest of products, traffic and the pass over chunks, plus launches.
        """
        parts = work(rows, dtype, sheet)
        prompt_s = np.maximum.reduce([parts.compute_s, parts.traffic_s, parts.walk_s])
        latency_s = physics.latency_s(protocol, sheet)
        return np.where(
            rows["query_len"] == 1, parts.state_s + latency_s, prompt_s + LAUNCHES * latency_s
        )

    category = by_token


@entity
class PromptWork:
    """Work of prefill kernels; arrays with one element per kernel.

    Args:
        chunks: number of whole chunks of all sequences.
        blocks: number of thread blocks, each of which takes the chunks of a sequence in turn.
        compute_s: time of the products of whole chunks, over all heads.
        walk_s: time of all blocks, in waves.
        chunk_s: time of one chunk in one block.
        nbytes: bytes of operands, of intermediate tensors between kernels, and of states.
        traffic_s: time of these bytes.
        state_s: time of reading and writing the states.
    """

    chunks: Array
    blocks: Array
    compute_s: Array
    walk_s: Array
    chunk_s: Array
    nbytes: Array
    traffic_s: Array
    state_s: Array


def work(rows: Columns, dtype: str, sheet: Sheet) -> PromptWork:
    """Return the work of prompts in chunks of `CHUNK` tokens.

    Tokens of a chunk interact by products, chunks through the state. Kernels write keys and values
    corrected inside each chunk (delta rules only), and the state before each chunk; the last kernel
    reads all of them again.
    """
    rate = physics.matrix_flop_per_s(dtype, sheet)
    key, value, heads = rows["key_dim"], rows["value_dim"], rows["heads"]
    length = np.ceil(rows["query_len"] / CHUNK)
    chunks = rows["batch"] * length
    tokens = rows["batch"] * rows["query_len"]
    delta, element = rows["delta"], bits_of(dtype) / 8
    # multiply-accumulates per head and chunk. Inside the chunk: scores of keys and their use on
    # values, with a delta rule twice, and the inverse of a triangle of `CHUNK` tokens. Through the
    # state: its update and its use, with a delta rule also a read
    inside = CHUNK * CHUNK * ((1 + delta) * (key + value) + delta * CHUNK)
    through = CHUNK * key * value * (2 + delta)
    blocks = rows["batch"] * heads * np.ceil(value / COLUMNS)
    columns = np.minimum(value, COLUMNS)
    # a block updates its columns of the state and, with a delta rule, reads them; the rate of one
    # multiprocessor is that of the machine over sm_count
    chunk_s = 2 * CHUNK * key * columns * (1 + delta) * sheet.sm_count / rate
    # elements: values and results, queries and keys; corrected keys and values, and the states
    # before each chunk, which are written and read (2)
    operands = tokens * (heads * 2 * value + rows["key_heads"] * 2 * key)
    between = tokens * heads * delta * 2 * (key + 2 * value)
    states = chunks * heads * key * value * 2
    # the states of the sequences are read and written (2), in a wider type than operands
    state_bytes = 2 * rows["batch"] * heads * key * value * STATE_BYTES
    nbytes = (operands + between + states) * element + state_bytes
    return PromptWork(
        chunks,
        blocks,
        2 * chunks * heads * (inside + through) / rate,
        np.ceil(blocks / sheet.sm_count) * length * chunk_s,
        chunk_s,
        nbytes,
        memory_s(nbytes, sheet),
        memory_s(state_bytes, sheet),
    )
