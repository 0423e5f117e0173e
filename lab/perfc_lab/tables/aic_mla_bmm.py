"""Absorbed products of latent attention in aiconfigurator's tables: one product per head.

A decoding step multiplies queries into the space of cached latents, and results back out of it.

They become rows of the class ``batched_matmul``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from perfc.analyzers.features.rows import Protocol

from ..data.rows import Rows
from . import TableSource, read_parquet, target_of, versioned

FILE = "aic_mla_bmm.parquet"
BEFORE, AFTER = (512.0, 128.0), (128.0, 512.0)
"""Columns ``n`` and depth ``k`` of DeepSeek's products, before attention from queries to latents,
after attention from latents to values."""
WIDENED = "dequant_bf16"
"""Part of the names of kernels that convert 8-bit weights to bf16 first."""
IN_BLOCKS = "block"
"""Part of the names of kernels with a scale for each block of 128 by 128 weights."""


class AicMlaBmm(TableSource):
    """``aic_mla_bmm.parquet``: aiconfigurator's batched products, Apache-2.0.

    Times of 8 bits include the quantisation of the 16-bit operand.
    """

    name: ClassVar[str] = "aic_mla_bmm"
    files: ClassVar[tuple[str, ...]] = (FILE,)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device, type, framework, version and kernel."""
        frame = read_parquet(folder / FILE)
        for device, _, label, dtype, block in versioned(frame, "bmm_dtype"):
            for kernel, part in block.groupby("kernel_source", observed=True, sort=True):
                computed, constants = kind_of(dtype, str(kernel))
                is_before = part["op_name"].astype(str).to_numpy() == "mla_gen_pre"
                columns = {
                    "batch": part["num_heads"].to_numpy(np.float64),
                    "m": part["num_tokens"].to_numpy(np.float64),
                    "n": np.where(is_before, BEFORE[0], AFTER[0]),
                    "k": np.where(is_before, BEFORE[1], AFTER[1]),
                }
                fixed = {name: np.full(len(part), value) for name, value in constants.items()}
                yield Rows(
                    "batched_matmul",
                    target_of(device),
                    computed,
                    Protocol.GRAPH,
                    label,
                    columns | fixed,
                    part["latency_us"].to_numpy(np.float64) * 1e-6,
                    part["power_w"].to_numpy(np.float64),
                )


def kind_of(dtype: str, kernel: str) -> tuple[str, Mapping[str, float]]:
    """Return the type computed in, and parameters of the class: bits of operands, block of a scale.

    A ``scale_block`` of 0 is one scale for the whole tensor.
    """
    if dtype != "fp8":
        return "bf16", {}
    if WIDENED in kernel:
        return "bf16", {"weight_bits": 8.0, "scale_block": 128.0}
    return "f8e4m3", {"input_bits": 16.0, "scale_block": 128.0 if IN_BLOCKS in kernel else 0.0}
