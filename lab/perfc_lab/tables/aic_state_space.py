"""Mamba-2 and gated delta nets of aiconfigurator's tables: convolutions, and scans of tokens.

They become rows of the classes ``causal_convolution`` and ``linear_attention``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.analyzers.features.classes.linear_attention import LinearKernel
from perfc.analyzers.features.rows import Protocol

from ..data.rows import Rows
from . import MODEL, TableSource, numbers, read_parquet, target_of, versioned

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

CONVOLUTION = "causal_conv1d"
"""Prefix of the names of kernels that convolve."""
DTYPE = "bf16"
"""Element type of operands: the tables give none, and models of both kinds run in bf16."""
KEYS_ALONE = frozenset({("sglang", "0.5.10")})
"""Frameworks and versions that convolve keys alone, as all versions of TensorRT-LLM do. Their time
does not depend on the number of values, and with values they would exceed the memory bandwidth
three times."""
SLOW = frozenset({("vllm", "0.22.0")})
"""Frameworks and versions whose convolutions are left out as faulty: small ones take 0.2 ms
whatever their size, large ones ten times as long as those of the next version."""
KERNELS: tuple[tuple[str, LinearKernel], ...] = (
    ("flashinfer", LinearKernel.FLASHINFER),
    ("packed", LinearKernel.PACKED),
    ("", LinearKernel.TRITON),
)
"""Family of a kernel by a word in its name. The first word that a name holds counts; "" is in every
name."""


class AicStateSpace(TableSource):
    """``aic_gdn.parquet`` and ``aic_mamba2.parquet``: aiconfigurator's tables, Apache-2.0.

    Gated delta nets are Qwen3.5's, under three frameworks. Mamba-2 has rows of TensorRT-LLM alone:
    convolutions of three models, and the scan of prompts of one model on one machine. A framework
    that has several versions on one machine keeps its plain name for the newest.
    """

    name: ClassVar[str] = "aic_state_space"
    files: ClassVar[tuple[str, ...]] = ("aic_gdn.parquet", "aic_mamba2.parquet")

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by file, class, device, framework and version."""
        for file in self.files:
            frame = read_parquet(folder / file).assign(dtype=DTYPE)
            # a framework computes a prompt of one token with the kernels of decoding
            frame = frame[(frame["phase"] == "generation") | (frame["seq_len"] > 1)]
            is_convolution = frame["kernel_source"].astype(str).str.startswith(CONVOLUTION)
            is_slow = [v in SLOW for v in zip(frame["framework"], frame["version"], strict=True)]
            for name, shape, part in (
                ("causal_convolution", channels, frame[is_convolution & ~np.array(is_slow)]),
                ("linear_attention", heads, frame[~is_convolution]),
            ):
                for device, _, label, dtype, block in versioned(part, "dtype"):
                    yield Rows(
                        name,
                        target_of(device),
                        dtype,
                        Protocol.GRAPH,
                        label,
                        {**lengths(block), **shape(block), MODEL: model(block)},
                        block["latency_us"].to_numpy(np.float64) * 1e-6,
                        block["power_w"].to_numpy(np.float64),
                    )


def model(block: pd.DataFrame) -> Array:
    """Return the number that stands for the model of each row, by which models are held out.

    For gated delta nets it is the value heads per key head, which models of one design share.
    """
    if "num_v_heads" in block:
        return numbers(block, "num_v_heads") / numbers(block, "num_k_heads")
    return numbers(block, "d_model")


def lengths(block: pd.DataFrame) -> dict[str, Array]:
    """Return the number of sequences and of tokens in each."""
    return {"batch": numbers(block, "batch_size"), "query_len": numbers(block, "seq_len")}


def channels(block: pd.DataFrame) -> dict[str, Array]:
    """Return the convolved channels and the taps of the convolution."""
    if "num_v_heads" in block:  # gated delta nets
        keys = numbers(block, "num_k_heads") * numbers(block, "head_k_dim")
        # queries are as wide as keys
        values = keys + numbers(block, "num_v_heads") * numbers(block, "head_v_dim")
        framework, version = (str(block[name].iloc[0]) for name in ("framework", "version"))
        if framework == "trtllm" or (framework, version) in KEYS_ALONE:
            values = np.zeros_like(keys)
    else:  # Mamba-2: the projections B and C of each group, and the heads
        keys = 2 * numbers(block, "n_groups") * numbers(block, "d_state")
        values = numbers(block, "nheads") * numbers(block, "head_dim")
    return {"channels": keys + values, "taps": numbers(block, "d_conv")}


def heads(block: pd.DataFrame) -> dict[str, Array]:
    """Return the heads, the extents of their states, and the family of the kernel."""
    # Mamba-2: heads share the keys of a group, and states follow no delta rule
    if "num_v_heads" not in block:
        return {
            "heads": numbers(block, "nheads"),
            "key_heads": numbers(block, "n_groups"),
            "key_dim": numbers(block, "d_state"),
            "value_dim": numbers(block, "head_dim"),
            "delta": np.zeros(len(block)),
            "kernel": np.full(len(block), float(LinearKernel.TRITON)),
        }
    sources = block["kernel_source"].astype(str)
    return {
        "heads": numbers(block, "num_v_heads"),
        "key_heads": numbers(block, "num_k_heads"),
        "key_dim": numbers(block, "head_k_dim"),
        "value_dim": numbers(block, "head_v_dim"),
        "delta": np.ones(len(block)),
        "kernel": np.array([float(kernel_of(name)) for name in sources]),
    }


def kernel_of(name: str) -> LinearKernel:
    """Return the family of a kernel by its name."""
    return next(kernel for word, kernel in KERNELS if word in name)
