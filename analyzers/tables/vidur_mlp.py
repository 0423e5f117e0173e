"""Linear layers of Vidur's profiles: matrix products in f16, kernels summed by a profiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from ..features.rows import Protocol, Rows
from . import Source, read_parquet, target_of

TARGETS: Mapping[str, str] = {"a100": "a100-sxm4-80gb", "h100": "h100-sxm5-80gb"}
"""Devices whose names are no target's, or of several."""
COMPUTED = "bf16"
"""What f16 stands for: one unit multiplies both at one rate, and nearly all other rows are bf16."""


class VidurMlp(Source):
    """``vidur_mlp.parquet``: PyTorch's products of shards of language models, MIT.

    The median of twenty calls. The other operators of the table are element-wise kernels,
    normalisations and rotary embeddings whose tensors it does not state in full, and left out.
    """

    name: ClassVar[str] = "vidur_mlp"
    files: ClassVar[tuple[str, ...]] = ("vidur_mlp.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Blocks by device."""
        frame = read_parquet(folder / self.files[0])
        frame = frame[frame["gemm_m"].notna() & (frame["latency_median_us"] > 0)]
        for device, block in frame.groupby("device", observed=True, sort=True):
            yield Rows(
                "matmul",
                target_of(TARGETS.get(str(device), str(device))),
                COMPUTED,
                Protocol.KERNELS,
                "torch",
                {name: block[f"gemm_{name}"].to_numpy(float) for name in ("m", "n", "k")},
                block["latency_median_us"].to_numpy(float) * 1e-6,
            )
