"""Read and write graphs and rows of a data set: compressed arrays without pickle, JSON lines.

Each file is replaced in one step, so that an interrupted build leaves no partial file.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.common.whole_file import write_whole

from ..features.rows import DataError
from ..steps.columns import LinearColumns
from ..steps.launch import AMOUNTS, TRAITS
from ..steps.setting import Precision, Setting
from .model_graph import (
    BATCHES,
    EDGE_SCALED,
    OP_FIXED,
    OP_SCALED,
    WHOLE,
    KernelGraph,
    ModelGraph,
    OpGraph,
)
from .rows import GraphRow
from .schema import Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from .model_graph import Indices

MAX_BYTES = 256 << 20
"""Maximum size of one graph's arrays after decompression, in bytes; a damaged or hostile file might
take all memory."""
LAUNCHES = Schema(
    "launches", ("kind", "times", *(f"{n}@{b}" for b in BATCHES for n in AMOUNTS), *TRAITS)
)
"""Columns of the table of launches, with amounts at each of `BATCHES`."""
ENCODING = Schema(
    "encoding", tuple(s.digest for s in (OP_FIXED, OP_SCALED, EDGE_SCALED, WHOLE, LAUNCHES))
)
"""Digests of all tables of a stored graph; graphs of another digest are encoded once more."""
_PLAIN = ("fixed", "scaled", "edges", "edge_scaled", "whole")
"""Fields of `OpGraph` that are arrays of numbers."""


def write_file(path: Path, content: bytes) -> None:
    """Replace a file in one step; missing folders are created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)


def save_graph(graph: ModelGraph, path: Path) -> None:
    """Write a graph; each of its lists of launches is a table with its edges and its key."""
    arrays: dict[str, Any] = {n: _small(getattr(graph.ops, n)) for n in _PLAIN}
    arrays["ops"] = np.array(graph.ops.ops, np.str_)
    for i, (key, kernels) in enumerate(graph.kernels.items()):
        arrays[f"table{i}"] = kernels.columns.table.astype(np.float32)
        arrays[f"edges{i}"] = _small(kernels.edges)
        arrays[f"key{i}"] = np.array([key], np.str_)
    arrays["encoding"] = np.array([ENCODING.digest], np.str_)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_file(path, buffer.getvalue())


def _small(array: Array | Indices) -> NDArray[Any]:
    """Return an array in 32 bits, which halves the file."""
    return array.astype(np.int32 if array.dtype.kind == "i" else np.float32)


def load_graph(path: Path, name: str) -> ModelGraph | None:
    """Return the graph of a file; None if it is missing or of another encoding.

    Raises:
        DataError: the file is damaged.
    """
    if not path.is_file():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            # sizes in the directory of the archive: a small file may expand to a huge array
            if sum(info.file_size for info in archive.infolist()) > MAX_BYTES:
                raise ValueError(f"arrays end at {MAX_BYTES} bytes")
        # a pickle would run code of the file
        with np.load(path, allow_pickle=False) as archive:
            if str(archive["encoding"][0]) != ENCODING.digest:
                return None
            return _assembled(name, {n: archive[n] for n in archive.files})
    except (ValueError, KeyError, OSError, IndexError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(
            f"damaged graph: {error}", where=os.fspath(path), hint="remove it and build again"
        ) from None


def _assembled(name: str, arrays: Mapping[str, Any]) -> ModelGraph:
    """Return the graph of stored arrays, converted back to 64 bits, with shapes and edges checked.

    Raises:
        ValueError: arrays that do not belong together.
    """
    plain = {n: arrays[n].astype("i8" if n == "edges" else "f8") for n in _PLAIN}
    ops = OpGraph(tuple(map(str, arrays["ops"].tolist())), **plain)
    count = len(ops)
    if plain["scaled"].shape != (2, count, len(OP_SCALED)):
        raise ValueError("nodes of another shape")
    if plain["edges"].size and not 0 <= plain["edges"].min() <= plain["edges"].max() < count:
        raise ValueError("an edge to a node that is not there")
    kernels: dict[str, KernelGraph] = {}
    i = 0
    # lists of launches are numbered from 0
    while f"key{i}" in arrays:
        table = arrays[f"table{i}"].astype("f8")
        columns = LinearColumns(BATCHES, table)
        kernels[str(arrays[f"key{i}"][0])] = KernelGraph(columns, arrays[f"edges{i}"].astype("i8"))
        i += 1
    return ModelGraph(name, ops, kernels)


class StoredGraphs(Mapping[str, ModelGraph]):
    """Graphs of a folder by file name, each read on first use.

    Args:
        folder: folder of the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = sorted(path.stem for path in folder.glob("*.npz"))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> ModelGraph:
        graph = load_graph(self.folder / f"{name}.npz", name)
        if graph is None:
            raise DataError("no graph of this encoding", where=name, hint="build the set again")
        return graph


def rows_text(rows: Sequence[GraphRow]) -> str:
    """Return rows as JSON lines, one list per row in the order of the fields."""
    return "".join(json.dumps(_listed(row)) + "\n" for row in rows)


def _listed(row: GraphRow) -> list[object]:
    """Return the fields of a row, with its setting, the third field, as a list."""
    setting = row.setting
    listed: list[object] = [getattr(row, f.name) for f in fields(row)]
    # without the last field, the host's launch overhead: no measurement of the run has it
    listed[2] = [setting.precision.value, *astuple(setting)[1:-1]]
    return listed


def parse_rows(text: str) -> list[GraphRow]:
    """Return the rows that `rows_text` wrote.

    Raises:
        DataError: the text has another form.
    """
    rows: list[GraphRow] = []
    try:
        for line in text.splitlines():
            graph, architecture, how, target, batch, *numbers = json.loads(line)
            # rows of older files have no engine
            precision, channels_last, compiled, version, training, *engine = how
            setting = Setting(
                Precision(precision),
                bool(channels_last),
                bool(compiled),
                (int(version[0]), int(version[1])),
                bool(training),
                str(engine[0]) if engine else "",
            )
            row = GraphRow(graph, architecture, setting, target, int(batch), *map(float, numbers))
            rows.append(row)
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"no rows: {error}", hint="build the data set again") from None
    return rows
