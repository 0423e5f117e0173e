"""Read whole models that were measured for perfc, from the folder ``datasets``.

A row becomes a `WholeModel` on the graph that published tables use for the same model.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path

from perfc.deployment import Deployment
from perfc.passes.runtimes import Tf32

from .whole_models import PRECISIONS, WholeModel

FOLDER = Path(__file__).resolve().parents[3] / "datasets"
MACHINES: Mapping[str, tuple[str, tuple[int, int]]] = {"h200": ("h200-sxm-141gb", (2, 11))}
"""Target and version of PyTorch by folder of ``datasets``."""
COLUMNS: Mapping[str, str] = {"eager": "eager_ms", "cudagraph": "graph_ms"}
"""Column with the time in ms, by runtime."""


def measured_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a compressed CSV file; lines that begin with # are comments."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def own_runs(graphs: Path) -> Iterator[WholeModel]:
    """Yield the forward passes whose model has a graph of the measured size, by runtime.

    Args:
        graphs: folder of the graphs.
    """
    for name, (target, framework) in MACHINES.items():
        path = FOLDER / name / "vision.csv.gz"
        if not path.is_file():
            continue
        for row in measured_rows(path):
            graph = f"{row['name'].replace(':', '__')}__{row['size']}.onnx.gz"
            if row["mode"] != "infer" or not (graphs / graph).is_file():
                continue
            dtype, tf32 = PRECISIONS[row["prec"]]
            for runtime, column in COLUMNS.items():
                if row[column]:
                    how = Deployment(
                        target,
                        runtime=runtime,
                        dtype=dtype,
                        tf32=Tf32(tf32),
                        dims={"batch": int(row["batch"])},
                    )
                    time_s = float(row[column]) / 1e3
                    yield WholeModel(graph, how, time_s, f"perfc on {name}", framework)
