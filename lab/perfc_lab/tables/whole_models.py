"""Read published runs of whole models under several runtimes, on the graphs of the same models.

A row becomes a `WholeModel`: a graph file, how it was run, and its time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.fitted import data_next_to
from perfc.deployment import Deployment
from perfc.errors import PassError
from perfc.ir.record import frozen
from perfc.passes.runtimes import Runtime, Tf32, runtime

from . import with_columns

if TYPE_CHECKING:
    import pandas as pd

# one table of all publications, or a table for each
TABLE, PARTS = "whole_models.parquet", "whole_models_*.parquet"
GRADE = "A"
"""Best grade of the table: one device, the time of the model alone, batch and shape known, nothing
suspect."""
SAME_GRAPH = frozenset({"same", "any seq"})
"""Values of ``graph_size_match`` for graphs of the measured size, or of any number of tokens."""
_DATA = data_next_to(__file__)
COLUMNS: list[str] = _DATA["columns"]
"""Columns that are read; the first three select rows (`graded`), the others are fields of a run."""
PRECISIONS: Mapping[str, tuple[str, bool]] = {
    "fp32": ("f32", False),
    "tf32": ("f32", True),
    "fp16": ("f16", True),
    "amp_fp16": ("amp-f16", True),
    "bf16": ("bf16", True),
    "int8": ("i8", True),
}
"""Precision as `Deployment` names it, by the table's name, and whether f32 products may use
TF32."""
MACHINES: Mapping[str, str] = _DATA["machines"]
VARIANTS: Mapping[str, str] = _DATA["variants"]
"""Target by GPU, and by GPU and memory size where the size is not the usual one."""
FRAMEWORK = (1, 14)
"""Version of PyTorch assumed for all rows, as the table has none: that of NVIDIA's container 22.11,
the newest one of the publications."""
# major and minor version at the start of a runtime's version
VERSION = re.compile(r"(?:TensorRT )?(\d{1,3})\.(\d{1,3})")
PUBLICATIONS: Mapping[str, str] = _DATA["publications"]
"""Titles of publications by the table's short names; other names in the table are titles
already."""
ODD_GRAPHS = frozenset({"pd__Fix_ResNeXt101_32x48d_wsl__320.onnx.gz"})
"""Graphs whose published rows are faster than the peak rate of their machine allows."""
MISPRINTED = "T4", "timm__dpn"
"""GPU, and start of the names of graphs, whose published times in f16 repeat those in f32 digit by
digit; all of these rows are left out."""


@frozen
class WholeModel:
    """A measured run.

    Args:
        graph: name of the graph's file.
        deployment: machine, runtime, precision and extents of the run.
        time_s: time of one batch.
        source: title of the publication.
        framework: version of PyTorch, if it ran the model.
    """

    graph: str
    deployment: Deployment
    time_s: float
    source: str = ""
    framework: tuple[int, int] = FRAMEWORK


def table_files(folder: Path) -> list[Path]:
    """Return the table of all publications, or if it is missing the tables of single ones."""
    parts = sorted(folder.glob(PARTS))
    # a missing table is returned where there is none at all, so that reading it fails with its name
    return [folder / TABLE] if (folder / TABLE).is_file() or not parts else parts


def gathered(folder: Path) -> pd.DataFrame:
    """Return the rows of all tables of publications in a folder.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    import pandas as pd

    frames = [with_columns(path, COLUMNS) for path in table_files(folder)]
    return pd.concat(frames, ignore_index=True) if frames[1:] else frames[0]


def graded(folder: Path) -> pd.DataFrame:
    """Return rows of grade A of inference on one device whose graph is theirs, or takes any length.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    frame = gathered(folder)
    frame = frame[(frame["grade"] == GRADE) & (frame["mode"] == "inference")]
    return frame[frame["graph"].notna() & frame["graph_size_match"].isin(SAME_GRAPH)]


def whole_models(folder: Path) -> Iterator[WholeModel]:
    """Yield the runs of grade A under runtimes and on machines that perfc knows.

    Raises:
        DataError: no table, or none with the columns expected.
    """
    frame = graded(folder)
    # all but the first three, by which `graded` has selected
    columns = [frame[name].astype(object).tolist() for name in COLUMNS[3:]]
    for graph, device, gpu, name, version, precision, seq, batch, time_ms, source in zip(
        *columns, strict=True
    ):
        target = machine(str(device), str(gpu))
        table = known_runtime(str(name))
        if table is None or precision not in PRECISIONS or not target:
            continue
        misprinted_gpu, misprinted_graphs = MISPRINTED
        if gpu == misprinted_gpu and str(graph).startswith(misprinted_graphs):
            continue
        dtype, tf32 = PRECISIONS[precision]
        dims = {"batch": int(batch)}
        # graphs of Hugging Face take any number of tokens, others the one that they were exported
        # at
        if isinstance(seq, int) and str(graph).startswith("hf__"):
            dims["seq"] = seq
        deployment = Deployment(
            target,
            runtime=table.name,
            runtime_version=version_of(table, str(version)),
            dtype=dtype,
            tf32=Tf32(tf32),
            dims=dims,
        )
        title = PUBLICATIONS.get(str(source), str(source))
        yield WholeModel(str(graph), deployment, float(time_ms) / 1e3, title)


def machine(device: str, gpu: str) -> str:
    """Return the target of a device by its full name and its GPU; "" if there is none."""
    # sizes are written "40 GB" and "40GB"
    label = device.replace(" ", "")
    for variant, name in VARIANTS.items():
        chip, _, size = variant.partition(" ")
        if gpu == chip and size in label:
            return name
    return MACHINES.get(gpu, "")


def known_runtime(name: str) -> Runtime | None:
    """Return the runtime of a name in the published table; None if perfc has none of that name."""
    try:
        return runtime(name)
    except PassError:
        return None


def version_of(table: Runtime, version: str) -> str:
    """Return major and minor version of a runtime with separate versions; "" for another."""
    match = VERSION.match(version) if table.is_versioned else None
    return f"{match[1]}.{match[2]}" if match else ""
