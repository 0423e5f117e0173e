"""DeepBench's result sheets: convolutions of cuDNN and products of cuBLAS, called back to back.

They become rows of the classes ``convolution``, ``matmul_f32`` and ``matmul``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.analyzers.features.rows import Protocol
from perfc.machine import load_machine

from ..data.rows import Rows
from . import TableSource, read_parquet
from .operand_layout import OTHER_LAYOUT

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

# targets by the device in the names of spreadsheets
TARGETS: Mapping[str, str] = {
    "1080Ti": "gtx1080ti",
    "M40": "m40",
    "P100": "p100-pcie-16gb",
    "T4": "t4",
    "TitanX": "titan-x-maxwell",
    "TitanX_Pascal": "titan-x-pascal",
    "TitanXp": "titan-xp",
    "V100": "v100-sxm2-16gb",
}
OLD_TARGETS: Mapping[str, str] = {"MI25": "mi25", "VegaFE": "vega-frontier-edition"}
"""Targets of AMD's sheets, of MIOpen before 2018: predictors do not learn from them, but tests
check that lower bounds hold on them."""
DTYPES: Mapping[str, str] = {
    "Float": "f32",
    "16 bit inputs, 16 bit multiplication, 32 bit addition": "f16",
    "GEMM, Conv: Int8 multiplication, 32 bit accumulation": "i8",
}
"""Type that a precision of the sheets computes in; rows of other precisions, as 16-bit inputs
multiplied in 32 bits, are left out."""


class DeepBenchTable(TableSource):
    """``deepbench_ops.parquet``: DeepBench, Apache-2.0, with the fastest algorithm of cuDNN.

    Products of int8 are left out: on these machines they do not run on the matrix unit.
    """

    name: ClassVar[str] = "deepbench"
    files: ClassVar[tuple[str, ...]] = ("deepbench_ops.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Return the blocks by operator, device and precision."""
        return self.blocks(folder, TARGETS)

    def blocks(self, folder: Path, targets: Mapping[str, str]) -> Iterator[Rows]:
        """Yield the blocks of chosen devices by operator, device and precision.

        Args:
            folder: folder of the table.
            targets: names of targets by the device as the sheets name it.
        """
        frame = read_parquet(folder / self.files[0])
        frame = frame[frame["forward_latency_us"] > 0]
        yield from products(frame[frame["op"] == "gemm"], targets)
        frame = frame[frame["op"] == "conv"]
        keys = ["device", "precision"]
        for (device, precision), block in frame.groupby(keys, observed=True, sort=True):
            target, dtype = targets.get(str(device)), DTYPES.get(str(precision))
            if target is None or dtype is None:
                continue
            # columns of the table by name
            c = {
                name: block[name].to_numpy(float)
                for name in (
                    *("batch", "in_channels", "out_channels", "in_h", "in_w", "filter_h"),
                    *("filter_w", "pad_h", "pad_w", "stride_h", "stride_w"),
                )
            }
            yield Rows(
                "convolution",
                load_machine(target).name,
                dtype,
                Protocol.KERNELS,
                "",
                {
                    **{n: c[n] for n in ("batch", "in_channels", "out_channels", "in_h", "in_w")},
                    # windows that fit into the padded image
                    "out_h": (c["in_h"] + 2 * c["pad_h"] - c["filter_h"]) // c["stride_h"] + 1,
                    "out_w": (c["in_w"] + 2 * c["pad_w"] - c["filter_w"]) // c["stride_w"] + 1,
                    "kernel_h": c["filter_h"],
                    "kernel_w": c["filter_w"],
                    "stride_h": c["stride_h"],
                    "stride_w": c["stride_w"],
                    "pad_h": c["pad_h"],
                    "pad_w": c["pad_w"],
                },
                block["forward_latency_us"].to_numpy(float) * 1e-6,
            )


def products(frame: pd.DataFrame, targets: Mapping[str, str]) -> Iterator[Rows]:
    """Yield the blocks of products by device and precision: f32 and f16.

    The sheets have BLAS' order by columns: their first operand is the weight here, and their ``m``
    and ``n`` are the columns and rows of the result.
    """
    keys = ["device", "precision"]
    for (device, precision), block in frame.groupby(keys, observed=True, sort=True):
        target, dtype = targets.get(str(device)), DTYPES.get(str(precision))
        if target is None or dtype not in ("f32", "f16"):
            continue
        extents = {"m": "n", "n": "m", "k": "k"}  # ours by theirs
        columns = {ours: block[theirs].to_numpy(float) for ours, theirs in extents.items()}
        # the class in f32 has layouts as parameters
        if dtype == "f32":
            columns["transposed"] = turned(block["a_transpose"])
            columns[OTHER_LAYOUT] = turned(block["b_transpose"])
        yield Rows(
            "matmul_f32" if dtype == "f32" else "matmul",
            load_machine(target).name,
            dtype,
            Protocol.KERNELS,
            "",
            columns,
            block["forward_latency_us"].to_numpy(float) * 1e-6,
        )


def turned(flags: Iterable[object]) -> Array:
    """Return 1 for each row where BLAS transposes an operand, else 0."""
    return np.array([str(flag).upper() == "T" for flag in flags], np.float64)
