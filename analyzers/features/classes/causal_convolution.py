"""Kernel class of causal depthwise convolutions over a sequence, whose last inputs are cached.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perfc.ir import bits_of

from .. import physics
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, KernelClass, of_products
from .attention import memory_s, wave_features

CHANNELS, STEPS = 256, 8
"""Extents of one thread block: channels, which run in parallel, and tokens, in sequence. Source:
``BLOCK_N`` and ``BLOCK_M`` of ``causal_conv1d_fn``, a Triton kernel of serving frameworks."""


def by_token(
    _kind: object, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
) -> NDArray[np.intp]:
    """Return 1 for rows of single tokens, which have a separate kernel, else 0.

    A function, since several classes take it as `KernelClass.category`.
    """
    index: NDArray[np.intp] = (rows["query_len"] == 1).astype(np.intp)
    return index


class CausalConvolution(KernelClass):
    """A window of ``taps`` per channel, over ``query_len`` tokens of ``batch`` sequences.

    Source: ``causal_conv1d`` of Mamba, as serving frameworks have it.

    Leaves out: kernels that split and normalise the result.
    """

    name = "causal_convolution"
    parameters = ("batch", "query_len", "channels")
    optional = {"taps": 4}
    categories = ("prompts", "single tokens")  # of rows, calibrated separately

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts: inputs and results once; single tokens read the cached inputs too."""
        elements = rows["batch"] * rows["query_len"] * rows["channels"]
        mac = elements * rows["taps"]
        # a window of `taps` reaches taps - 1 tokens back
        cached = rows["batch"] * rows["channels"] * (rows["taps"] - 1)
        read = np.where(rows["query_len"] == 1, cached, 0.0)
        nbytes = bits_of(dtype) / 8
        return of_products(mac, mac, (elements + read) * nbytes, elements * nbytes)

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the features: traffic against caches, blocks against multiprocessors, lengths."""
        log = np.log2
        nbytes = moved(rows, dtype)
        ones = np.ones_like(nbytes)
        # blocks across the channels and along the tokens, with the share that the last one fills
        across = np.ceil(rows["channels"] / CHANNELS)
        along = np.ceil(rows["query_len"] / STEPS)
        return {
            "log_traffic_s": log(memory_s(nbytes, sheet)),
            # far below or above its capacity, L2 holds everything or nothing: no further effect
            "log_over_l2": np.clip(log(nbytes / max(sheet.l2_bytes, 1.0)), -6, 8),
            "log_query_len": log(rows["query_len"]),
            "log_batch": log(rows["batch"]),
            "log_tokens": log(rows["batch"] * rows["query_len"]),
            "log_channels": log(rows["channels"]),
            "channel_fill": rows["channels"] / (across * CHANNELS),
            "step_fill": rows["query_len"] / (along * STEPS),
            "single": (rows["query_len"] == 1).astype(float),
            "log_element_s": log(sheet.sm_count / sheet.vector_flop_per_s("f32")) * ones,
            "log_device": log(sheet.device_bytes_per_s) * ones,
            "log_l2": log(max(sheet.l2_bytes, 1.0)) * ones,
            "generation": sheet.generation * ones,
            **wave_features("block", rows["batch"] * across * along, sheet),
            **wave_features("sequence", rows["batch"] * across, sheet),
        }

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of the traffic plus a launch."""
        return memory_s(moved(rows, dtype), sheet) + physics.latency_s(protocol, sheet)

    category = by_token


def moved(rows: Columns, dtype: str) -> Array:
    """Return the bytes of inputs and results, and of the cache, which is read and written.

    Unlike `CausalConvolution.amounts`, a bound, it counts the cache of prompts too.
    """
    tokens = rows["batch"] * rows["query_len"]
    cached = rows["batch"] * (rows["taps"] - 1)
    # 2: each input has a result, and the cache is read and written
    nbytes: Array = 2 * (tokens + cached) * rows["channels"] * bits_of(dtype) / 8
    return nbytes
