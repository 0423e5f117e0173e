"""Layers of Vidur's profiles in f16: products and other layers, each the sum of its kernels' times.

They become rows of the classes ``matmul`` and ``tokenwise``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.analyzers.features.rows import Protocol

from ..data.rows import Rows
from . import MODEL, TableSource, read_parquet, target_of
from .language_models import COMPUTED, IN_BLOCK, SHARDS, TokenExtents, in_block, number, token_rows

if TYPE_CHECKING:
    import pandas as pd

TARGETS: Mapping[str, str] = {"a100": "a100-sxm4-80gb", "h100": "h100-sxm5-80gb"}
"""Target by device, for names of devices that stand for no target or for several."""


class VidurMlp(TableSource):
    """``vidur_mlp.parquet``: PyTorch's products of shards of language models, MIT.

    Times are medians of twenty calls. Times of layers that are no products are rounded to whole
    microseconds, so that the shortest have large errors.
    """

    name: ClassVar[str] = "vidur_mlp"
    files: ClassVar[tuple[str, ...]] = ("vidur_mlp.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device: layers of the class ``tokenwise``, then products."""
        frame = read_parquet(folder / self.files[0])
        frame = frame[frame["latency_median_us"] > 0]
        yield from token_rows(
            frame.assign(latency_us=frame["latency_median_us"]),
            "torch",
            "op",
            "num_tokens",
            extents,
            target,
        )
        # only products have these extents
        frame = frame[frame["gemm_m"].notna()]
        for device, block in frame.groupby("device", observed=True, sort=True):
            shape = {name: block[f"gemm_{name}"].to_numpy(float) for name in ("m", "n", "k")}
            # columns for splits and whole models: number of the model, tensor-parallel degree, and
            # how often a transformer block has the layer
            groups = {
                MODEL: block["model"].astype(str).map(number).to_numpy(float),
                SHARDS: block["tensor_parallel"].to_numpy(float),
                IN_BLOCK: block["op"].astype(str).map(in_block).to_numpy(float),
            }
            yield Rows(
                "matmul",
                target(str(device)),
                COMPUTED,
                Protocol.KERNELS,
                "torch",
                shape | groups,
                block["latency_median_us"].to_numpy(float) * 1e-6,
            )


def target(device: str) -> str:
    """Return the name of the target of a device."""
    return target_of(TARGETS.get(device, device))


def extents(model: str, shards: float, rows: pd.DataFrame) -> TokenExtents:
    """Return the extents of a token in a model's layers on one of ``shards`` machines.

    All rows of a model have the same, so that the first row gives them.
    """
    of_model = rows.iloc[0]
    hidden, queries = float(of_model["n_embd"]), float(of_model["n_head"])
    # rotary embedding turns queries and keys, not values
    heads = (queries + float(of_model["n_kv_head"])) / shards
    inner = float(of_model["n_expanded_embd"]) / shards
    is_gated = bool(of_model["use_gated_mlp"])
    return TokenExtents(hidden, inner, hidden / queries * heads, heads, is_gated)
