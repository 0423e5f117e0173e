"""Matrix products of aiconfigurator's tables, timed in replayed graphs.

Times of 8 and 4 bits include the quantisation of 16-bit activations.

They become rows of the class ``matmul``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from perfc.analyzers.features.rows import Protocol

from ..data.rows import Rows
from . import TableSource, read_parquet, target_of, versioned

PARAMETERS: dict[str, tuple[str, dict[str, float]]] = {
    "bfloat16": ("bf16", {}),
    "fp8": ("f8e4m3", {"input_bits": 16}),
    "fp8_block": ("f8e4m3", {"input_bits": 16, "scale_block": 128}),
    "nvfp4": ("f4e2m1", {"input_bits": 16, "scale_block": 16}),
    "int8_wo": ("f16", {"weight_bits": 8}),
    "int4_wo": ("f16", {"weight_bits": 4}),
    "sq": ("i8", {"input_bits": 8, "scale_block": 1}),
}
"""Type that a product is computed in, and parameters of the class `Matmul`, by the source's type
names. ``input_bits`` are those of activations before quantisation, ``scale_block`` the elements
that share a scale, 1 for a scale per row. ``_wo`` quantises weights alone, ``sq`` is
SmoothQuant."""


class AicGemm(TableSource):
    """``aic_gemm.parquet``: aiconfigurator's GEMM tables, Apache-2.0.

    Rows whose time is the host's (``host_bound``) are left out. A framework that has several
    versions on one system keeps its plain name for the newest.
    """

    name: ClassVar[str] = "aic_gemm"
    files: ClassVar[tuple[str, ...]] = ("aic_gemm.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device, type, framework and version."""
        frame = read_parquet(folder / self.files[0])
        frame = frame[~frame["host_bound"]]
        for device, _, label, dtype, block in versioned(frame, "dtype"):
            computed, constants = PARAMETERS[dtype]
            columns = {n: block[n].to_numpy(np.float64) for n in ("m", "n", "k")}
            for name, value in constants.items():
                columns[name] = np.full(len(block), float(value))
            yield Rows(
                "matmul",
                target_of(device),
                computed,
                Protocol.GRAPH,
                label,
                columns,
                block["latency_us"].to_numpy(np.float64) * 1e-6,
                block["power_w"].to_numpy(np.float64),
            )
