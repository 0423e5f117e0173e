"""Shared code of the attention classes: kernel families, tiles, and memory behind a cache.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perfc.common.fitted import FILE_NAME, read_constants
from perfc.ir import bits_of

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Array, Columns, KernelClass


class AttentionKernel(IntEnum):
    """Families of fused attention kernels, as the column ``kernel`` numbers them."""

    UNKNOWN = 0
    FLASH_2 = 1
    """FlashAttention-2: warp-level products, any machine since Ampere."""
    FLASH_3 = 2
    """FlashAttention-3: asynchronous warp-group products, Hopper."""
    FLASH_4 = 3
    """FlashAttention-4: Blackwell, exponentials partly by polynomials."""
    TENSORRT_LLM = 4
    """TensorRT-LLM's generated kernels, whichever framework calls them."""
    FLASHINFER = 5
    """FlashInfer's own kernels."""
    TRITON = 6
    """Kernels written in Triton."""
    ONE_API = 7
    """Intel's kernels."""


class Balance(NamedTuple):
    """Work and times of attention at the rates of the data sheet, one element per kernel.

    Args:
        mac: multiply-accumulates.
        compute_s: time of the products.
        device_s: time of all bytes from device memory.
        nbytes: bytes read and written, each once.
    """

    mac: Array
    compute_s: Array
    device_s: Array
    nbytes: Array


class FusedAttention(KernelClass):
    """``softmax(q·kᵀ)·v`` in one kernel, over keys and values of which some may be cached."""

    by_framework = ("kernel",)  # columns that the framework decides

    def balance(self, rows: Columns, dtype: str, sheet: Sheet) -> Balance:
        """Return the products and traffic at the rates of the data sheet."""
        amounts = self.amounts(rows, dtype)
        nbytes = amounts.read_bytes + amounts.write_bytes
        compute_s = 2 * amounts.mac / physics.matrix_flop_per_s(dtype, sheet)
        return Balance(amounts.mac, compute_s, nbytes / sheet.device_bytes_per_s, nbytes)

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of products or of traffic, whichever is longer, plus a launch."""
        _, compute_s, _, nbytes = self.balance(rows, dtype, sheet)
        longest = np.maximum(compute_s, memory_s(nbytes, sheet))
        return longest + physics.latency_s(protocol, sheet)


NO_WINDOW = 2.0**20
"""Value of the feature for a window, in tokens, of attention without one: longer than any context
of a row, and finite for the forest."""
START_S = read_constants(Path(__file__).parents[1] / FILE_NAME)["start_s"].number
"""Time of a kernel under a profiler before and after it reads its keys."""
BLOCK_QUERIES, WARP_QUERIES = 64, 16
"""Queries of a thread block and of a warp in FlashAttention-2, for heads of 128 over a paged cache.
Source: ``flash_fwd_launch_template.h``, ``run_mha_fwd_splitkv_dispatch``."""
SHARED_BYTES_PER_CLOCK = 128.0
"""Shared-memory bandwidth per multiprocessor: 32 banks of four bytes, since Volta.
Source: CUDA programming guide."""


def key_s(rows: Columns, dtype: str, sheet: Sheet) -> Array:
    """Return the seconds that one key with its value takes a multiprocessor.

    The multiprocessor has a block of `BLOCK_QUERIES` queries. The warps of the block multiply, take
    exponentials, and each reads key and value from shared memory; the three times add up. A
    measured key takes 81 clocks on RTX 4090 and 57 on RTX PRO 6000; the sum gives 84 and 52,
    products alone 64 and 32.
    """
    width = rows["head_dim"] + value_dim(rows)
    products_s = 2 * BLOCK_QUERIES * width / physics.matrix_flop_per_s(dtype, sheet)
    exponentials_s = BLOCK_QUERIES / sheet.special_op_per_s("f32")
    # every warp of the block reads the key and the value
    read_bytes = BLOCK_QUERIES / WARP_QUERIES * width * bits_of(dtype) / 8
    reads_s = read_bytes / (SHARED_BYTES_PER_CLOCK * sheet.clock_hz * sheet.sm_count)
    # rates are of the whole machine, the block runs on one multiprocessor
    time_s: Array = (products_s + exponentials_s + reads_s) * sheet.sm_count
    return time_s


def cache_bytes(rows: Columns, dtype: str) -> Array:
    """Return the bytes of one element of the KV cache, which may be narrower than ``dtype``."""
    return np.where(rows["cache_bits"] > 0, rows["cache_bits"], bits_of(dtype)) / 8


def value_dim(rows: Columns) -> Array:
    """Return the extent of one head's values; that of its keys by default."""
    return np.where(rows["value_dim"] > 0, rows["value_dim"], rows["head_dim"])


def reach(rows: Columns) -> Array:
    """Return the number of latest tokens to which a query attends; infinite without a window."""
    return np.where(rows["window"] > 0, rows["window"], np.inf)


def least_mac(mac: Array, cached_bytes: Array, dtype: str) -> Array:
    """Return the MACs that a lower bound may count at the rate of ``dtype``.

    They are halved for a KV cache narrower than ``dtype``, as some kernels multiply in the type of
    the cache, at twice the rate: TensorRT-LLM on Hopper takes as long for 16-bit queries over an
    8-bit cache as for 8-bit queries. ``cached_bytes`` is the size of a cached element.
    """
    return np.where(8 * cached_bytes < bits_of(dtype), mac / 2, mac)


def memory_s(nbytes: Array, sheet: Sheet) -> Array:
    """Return the time of traffic under the protocol that replays a CUDA graph of one kernel.

    Small tensors stay in L2 between replays. The share read from device memory rises from 0 at half
    of L2's capacity to 1 at all of it. L2 counts at half of its data sheet rate, as no copy reaches
    that.
    """
    share = np.clip(2 * nbytes / max(sheet.l2_bytes, 1.0) - 1, 0, 1)
    return nbytes * (share / sheet.device_bytes_per_s + (1 - share) * 2 / sheet.l2_bytes_per_s)


def kernel_features(kernel: Array, families: type[IntEnum]) -> dict[str, Array]:
    """Return one 0/1 column per kernel family; all are 0 if the family is unknown."""
    # no column for UNTUNED_CUTLASS of `ExpertsKernel`, which `Experts` counts as CUTLASS
    return {
        f"kernel={family.name.lower()}": (kernel == family).astype(float)
        for family in families
        if family.name not in ("UNKNOWN", "UNTUNED_CUTLASS")
    }


def wave_features(name: str, tiles: Array, sheet: Sheet) -> dict[str, Array]:
    """Return two features: waves of tiles on the multiprocessors, and the filled share of waves."""
    # one tile per multiprocessor at a time; the last wave may be partly empty
    waves = tiles / sheet.sm_count
    return {f"log_waves_{name}": np.log2(waves), f"fill_{name}": waves / np.ceil(waves)}
