"""Convolutions of DeepBench's result sheets: cuDNN, forward, calls back to back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from perfc.machine import load_machine

from ..rows import Protocol, Rows
from . import Source, read_parquet

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
"""AMD's sheets are of MIOpen before 2018 and left out."""
DTYPES: Mapping[str, str] = {
    "Float": "f32",
    "16 bit inputs, 16 bit multiplication, 32 bit addition": "f16",
    "GEMM, Conv: Int8 multiplication, 32 bit accumulation": "i8",
}
"""What precisions compute in; 16-bit inputs multiplied in 32 bits are a type of their own."""


class DeepBench(Source):
    """``deepbench_ops.parquet``: DeepBench, Apache-2.0; the algorithm that cuDNN finds fastest."""

    name: ClassVar[str] = "deepbench"
    files: ClassVar[tuple[str, ...]] = ("deepbench_ops.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Blocks by device and precision."""
        frame = read_parquet(folder / self.files[0])
        frame = frame[(frame["op"] == "conv") & (frame["forward_latency_us"] > 0)]
        keys = ["device", "precision"]
        for (device, precision), block in frame.groupby(keys, observed=True, sort=True):
            target, dtype = TARGETS.get(str(device)), DTYPES.get(str(precision))
            if target is None or dtype is None:
                continue
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
                    "out_h": (c["in_h"] + 2 * c["pad_h"] - c["filter_h"]) // c["stride_h"] + 1,
                    "out_w": (c["in_w"] + 2 * c["pad_w"] - c["filter_w"]) // c["stride_w"] + 1,
                    "kernel_h": c["filter_h"],
                    "kernel_w": c["filter_w"],
                    "stride_h": c["stride_h"],
                    "stride_w": c["stride_w"],
                },
                block["forward_latency_us"].to_numpy(float) * 1e-6,
            )
