"""Campaigns on one GPU: time, memory and energy of whole vision models, inference and training.

A campaign is a file ``vision*.csv`` or ``vision*.csv.gz``, whose settings are lines that begin with
``#``. A row is one model at one batch and precision.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Iterator, Mapping
from math import nan
from pathlib import Path
from typing import ClassVar

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import GraphDataset
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.common.whole_file import file_digest
from perfc.machine import load_machine

from ..tables import target_of
from .timm import encoded_file

# files of a campaign below the folder of data sets
FILES = "h200/vision*.csv*"
MAX_BYTES = 64 << 20
"""Maximum characters of a file of a campaign."""
# precisions by the words of a campaign
PRECISIONS: Mapping[str, Precision] = {
    "fp32": Precision.F32,
    "tf32": Precision.TF32,
    "fp16": Precision.F16,
    "bf16": Precision.BF16,
    "fp16amp": Precision.AMP_F16,
    "bf16amp": Precision.AMP_BF16,
}
SOURCES: Mapping[str, str] = {"timm": "timm__{}__{}", "rnd": "rnd__{}", "mtd": "mtd__{}"}
"""Names of graphs by the collection that a model is from, filled with its name and input size; only
names of timm's models include the size."""


class H200(GraphDataset):
    """Rows of all campaigns in a folder; times are of eager steps, each from an idle device."""

    name: ClassVar[str] = "h200"
    title: ClassVar[str] = "campaigns on one GPU: time, memory, energy of vision models"
    files: ClassVar[tuple[str, ...]] = (FILES,)

    def rows(self, folder: Path) -> list[GraphRow]:
        """Return the rows of all files that were timed and ended without an error.

        Raises:
            DataError: no campaign, or a file that is not one.
        """
        paths = sorted(folder.glob(FILES))
        if not paths:
            raise DataError(
                "no campaign", where=str(folder / "h200"), hint="vision*.csv or vision*.csv.gz"
            )
        return [row for path in paths for row in campaign(path)]

    def digests(self, folder: Path) -> dict[str, str]:
        """Return SHA-256 of every file."""
        return {p.name: file_digest(p) for p in sorted(folder.glob(FILES))}

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the exported graph; None where a model ran at a size that was not exported."""
        path = model_folder(folder) / f"{graph}.onnx.gz"
        return encoded_file(graph, path, settings) if path.is_file() else None


def campaign(path: Path) -> Iterator[GraphRow]:
    """Yield the rows of one file.

    Raises:
        DataError: it is no campaign, or is of a machine that has no target.
    """
    head, lines = settings_and_rows(path)
    target = target_of(head["gpu"])
    version = re.match(r"(\d+)\.(\d+)", head["torch"])
    if version is None:
        raise DataError(f"no version {head['torch']!r}", where=str(path))
    try:
        for cells in csv.DictReader(lines):
            row = one(cells, target, (int(version[1]), int(version[2])))
            if row is not None:
                yield row
    except (KeyError, ValueError, TypeError, csv.Error) as error:
        raise DataError(f"no row of a campaign: {error}", where=str(path)) from None


def settings_and_rows(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return the settings in the head of a file, and its lines of comma-separated values.

    Raises:
        DataError: it cannot be read, or its head lacks the GPU or the version of PyTorch.
    """
    head: dict[str, str] = {}
    lines: list[str] = []
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            content = str(file.read(MAX_BYTES + 1))
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read: {error}", where=str(path)) from None
    if len(content) > MAX_BYTES:
        raise DataError(f"such files end at {MAX_BYTES} bytes", where=str(path))
    for line in content.splitlines():
        match = re.match(r"#\s*([\w ]+?):\s*(.*)", line)
        if match:
            head[match[1]] = match[2]
        elif line and not line.startswith("#"):
            lines.append(line)
    if "gpu" not in head or "torch" not in head:
        raise DataError("no settings in the head: gpu and torch", where=str(path))
    return head, lines


def one(cells: Mapping[str, str], target: str, version: tuple[int, int]) -> GraphRow | None:
    """Return a row; None if the run failed, was not timed, or has another source or precision."""
    source, _, name = cells["name"].partition(":")
    precision = PRECISIONS.get(cells["prec"])
    if cells.get("error") or not cells["eager_ms"] or source not in SOURCES or precision is None:
        return None
    # the precision of autocast is the 16-bit type of its products
    if cells["impl"] == "autocast":
        precision = Precision.AMP_F16 if precision is Precision.F16 else Precision.AMP_BF16
    time_s, spent_j = float(cells["eager_ms"]) / 1e3, energy_j(cells, target)
    return GraphRow(
        SOURCES[source].format(name, cells["size"]),
        name,
        Setting(precision, version=version, training=cells["mode"] == "train"),
        target,
        int(cells["batch"]),
        time_s,
        memory_bytes=number(cells["peak_alloc"]),
        energy_j=spent_j,
        power_w=spent_j / time_s,
    )


def energy_j(cells: Mapping[str, str], target: str) -> float:
    """Return the energy of one eager step in J; NaN if none was measured.

    Where only the energy of a replayed CUDA graph was measured, an eager step takes that energy,
    and idle power for the time that it is longer: there the device waits for the host.
    """
    time_s = float(cells["eager_ms"]) / 1e3
    if cells["eager_power_w"] or cells.get("e_mode") != "graph":
        return number(cells["eager_power_w"] or cells["power_w"]) * time_s
    wait_s = max(time_s - float(cells["graph_ms"]) / 1e3, 0.0)
    return number(cells["energy_mj"]) / 1e3 + idle_w(load_machine(target), power_model()) * wait_s


def number(cell: str) -> float:
    """Return a cell's number; NaN where it is empty."""
    return float(cell) if cell else nan
