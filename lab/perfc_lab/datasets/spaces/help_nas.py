"""Base of data sets of search spaces, with the latencies that HELP published.

Source: Lee et al., "HELP: Hardware-Adaptive Efficient Latency Prediction for NAS via
Meta-Learning", NeurIPS 2021. It gives no version of the framework; products are in f32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import GraphDataset
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.ir.graph import Module

from ...tables import read_parquet

LATENCIES, ARCHITECTURES = "help_nas_latency.parquet", "help_nas_archs.parquet"
SETTING = Setting(Precision.F32, version=(1, 8))
"""Eager runs in f32; the version of PyTorch, 1.8, is assumed."""
TARGETS: Mapping[str, str] = {
    "1080ti": "gtx1080ti",
    "2080ti": "rtx2080ti",
    "titan_rtx": "titan-rtx",
    "titanx": "titan-x-pascal",
    "titanxp": "titan-xp",
}
"""Target by graphics processor of the table. The table does not say which Titan X ``titanx`` is:
its times, compared with those of ``1080ti``, fit the one of Pascal and not that of Maxwell."""
MOST_ARCHITECTURES = 1500
"""Maximum architectures of a space in the data set."""


class SearchSpace(GraphDataset):
    """Rows of one search space; `architectures` chooses which."""

    files: ClassVar[tuple[str, ...]] = (LATENCIES, ARCHITECTURES)
    space: ClassVar[str]
    network: Callable[[str], Module]
    """Function that builds the network of an architecture from its text in the table."""

    def rows(self, folder: Path) -> list[GraphRow]:
        """Return the rows on graphics processors."""
        wanted = ["space", "device", "batch", "arch_index", "latency_ms"]
        frame = read_parquet(folder / LATENCIES, wanted)
        chosen = architectures(folder, self.space)
        rows = frame[(frame["space"] == self.space) & frame["device"].isin(list(TARGETS))]
        rows = rows[rows["arch_index"].isin(list(chosen)) & (rows["latency_ms"] > 0)]
        columns = [rows[n].tolist() for n in ("device", "batch", "arch_index", "latency_ms")]
        return [
            GraphRow(
                f"{self.name}-{index}",
                f"{self.name}-{index}",  # architecture: held out as a whole
                SETTING,
                TARGETS[str(device)],
                int(batch),
                float(latency_ms) / 1e3,
            )
            for device, batch, index, latency_ms in zip(*columns, strict=True)
        ]

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the network of a row's architecture."""
        # the name is "fbnet-123", with the index of the table at its end
        arch = architectures(folder, self.space).get(int(graph.rpartition("-")[2]))
        return None if arch is None else encode_module(graph, self.network(arch), settings)


@lru_cache(4)
def architectures(folder: Path, space: str) -> Mapping[int, str]:
    """Return at most `MOST_ARCHITECTURES` texts of a space by their index in the table.

    They are the first in the order of their digests, which is as good as random and the same on
    every machine.

    Raises:
        DataError: the table is missing, or has no architecture of the space.
    """
    frame = read_parquet(folder / ARCHITECTURES, ["space", "arch_index", "arch"])
    frame = frame[frame["space"] == space]
    if not len(frame):
        raise DataError(f"no architectures of {space}", where=str(folder / ARCHITECTURES))
    pairs = list(zip(frame["arch_index"].tolist(), frame["arch"].tolist(), strict=True))
    pairs.sort(key=lambda p: hashlib.sha256(str(p[1]).encode()).digest())
    return {int(index): str(arch) for index, arch in pairs[:MOST_ARCHITECTURES]}
