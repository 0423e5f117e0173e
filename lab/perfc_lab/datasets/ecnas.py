"""Training time and energy of NAS-Bench-101's cells, as EC-NAS-Bench measured them.

A row is a training of a cell; its graph is built from the cell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.analyzers.graph.dataset import GraphDataset
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Precision, Setting

from ..tables import read_parquet
from .spaces.nas_bench_101 import network

if TYPE_CHECKING:
    import pandas as pd

TABLE = "ecnas_energy.parquet"
SETTING = Setting(Precision.F32, version=(1, 15), training=True)
"""Training steps in f32 under TensorFlow 1.15."""
TARGET = "quadro-rtx6000"
"""Machine of all runs of the table."""
EPOCHS, IMAGES = 4, 40_000
"""Epochs of every run of the table, and training images of CIFAR-10 (Ying et al., NAS-Bench-101,
ICML 2019, section 2.3)."""


class EcNasRuns(GraphDataset):
    """One row per training, with the mean time and energy of its steps.

    The energy is that of the GPU alone. Energy and time include the evaluations during training, as
    published: about 3 % of the time. Repeated trainings of one cell (69 cells)
    deviate by 0.5 % in time and by 6 % in energy.
    """

    name: ClassVar[str] = "ecnas"
    title: ClassVar[str] = "training time, energy and power of NAS-Bench-101's cells"
    files: ClassVar[tuple[str, ...]] = (TABLE,)

    def rows(self, folder: Path) -> list[GraphRow]:
        """Return every training with a time."""
        frame = table(folder)
        frame = frame[(frame["train_time_s"] > 0) & (frame["train_steps"] > 0)]
        names = (
            "adjacency_json",
            "op_labels_json",
            "train_steps",
            "train_time_s",
            "gpu_energy_j",
            "gpu_power_w",
        )
        return [
            GraphRow(
                cell_name(adjacency, labels),
                cell_name(adjacency, labels),  # architecture: a cell is held out as a whole
                SETTING,
                TARGET,
                round(EPOCHS * IMAGES / steps),  # batch, which the table lacks: images over steps
                time_s / steps,
                energy_j=energy_j / steps,
                power_w=power_w,
            )
            for adjacency, labels, steps, time_s, energy_j, power_w in zip(
                *(frame[n].tolist() for n in names), strict=True
            )
        ]

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the network of a row's cell."""
        cell = cells(folder).get(graph)
        return None if cell is None else encode_module(graph, network(*cell), settings)


def cell_name(adjacency: str, labels: str) -> str:
    """Return a name of a cell, which is the same for equal edges and operators."""
    return "cell-" + hashlib.sha256(f"{adjacency} {labels}".encode()).hexdigest()[:12]


def table(folder: Path) -> pd.DataFrame:
    """Return the table.

    Raises:
        DataError: it is not there.
    """
    return read_parquet(folder / TABLE)


@lru_cache(4)
def cells(folder: Path) -> Mapping[str, tuple[str, str]]:
    """Return the edges and operators of every cell by name."""
    frame = table(folder)
    pairs = set(zip(frame["adjacency_json"], frame["op_labels_json"], strict=True))
    return {cell_name(a, b): (str(a), str(b)) for a, b in pairs}
