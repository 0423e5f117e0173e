"""Runs that ``perfc measure --append`` wrote: whatever models and machines its user has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...features.rows import DataError
from ...steps.setting import Precision, Setting
from ...tables.timm import graph_folder
from ..encode import encode_module
from ..model_graph import ModelGraph
from ..rows import GraphRow
from . import GraphDataset

if TYPE_CHECKING:
    from perfc.ir.graph import Module

PATTERNS = ("*models.csv", "*models.csv.gz", "*models.parquet")
COLUMNS = ("schema", "model", "runtime", "version", "threads", "dims", "time_s", "target",
           "peak_rss_bytes", "base_rss_bytes")  # fmt: skip
SCHEMA = 1
SEPARATOR = "@"


class Mine(GraphDataset):
    """Runs with all threads that were tried, in f32; kernels as an eager framework launches them.

    The first symbol of a model stands for its batch; its other symbols are part of the graph's
    name, ``bert@s70=128``. Memory is what the process grew by.
    """

    name: ClassVar[str] = "mine"
    title: ClassVar[str] = "runs that `perfc measure --append` wrote, beside their models/"
    files: ClassVar[tuple[str, ...]] = PATTERNS

    def rows(self, folder: Path) -> list[GraphRow]:
        """Every run, of those with several numbers of threads the one with the most.

        Raises:
            DataError: no table of runs, or one of another schema.
        """
        best: dict[tuple[str, str, str, int], tuple[int, GraphRow]] = {}
        for path in tables(folder):
            for threads, row in runs(path):
                key = (row.graph, row.target, row.setting.framework, row.batch)
                if key not in best or best[key][0] < threads:
                    best[key] = (threads, row)
        return [row for _, row in best.values()]

    def digests(self, folder: Path) -> dict[str, str]:
        """SHA-256 of every table."""
        from . import file_digest

        return {p.name: file_digest(p) for p in tables(folder)}

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """The model's graph with all symbols but its batch given."""
        from perfc.frontend import load
        from perfc.ir.rewrite import with_defaults

        name, _, fixed = graph.partition(SEPARATOR)
        path = graph_folder(folder) / f"{name}.onnx.gz"
        if not path.is_file():
            return None
        dims = {k: int(v) for k, _, v in (pair.partition("=") for pair in fixed.split()) if v}
        module: Module = with_defaults(load(path, dims), dims)
        return encode_module(graph, module, settings, fixed=dims)


def tables(folder: Path) -> list[Path]:
    """The tables of runs in a folder.

    Raises:
        DataError: there is none.
    """
    found = sorted(p for pattern in PATTERNS for p in folder.glob(pattern) if p.is_file())
    if not found:
        raise DataError(
            "no table of runs", where=str(folder), hint="perfc measure MODEL --append rows.csv.gz"
        )
    return found


def architecture_of(file: str) -> str:
    """The network of a file's name, whoever exported it, at whatever size.

    >>> architecture_of("legacy__timm__resnet50"), architecture_of("timm__resnet50__224")
    ('resnet50', 'resnet50')
    """
    words = file.split("__")
    if len(words) > 1 and words[-1].isdigit():
        words = words[:-1]
    return words[-1]


def runs(path: Path) -> Iterable[tuple[int, GraphRow]]:
    """Threads and row of every run of a table.

    Raises:
        DataError: of another schema.
    """
    import pandas as pd

    try:
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        lacking = [c for c in COLUMNS if c not in frame.columns]
        if lacking:
            raise ValueError(f"no column {lacking[0]!r}")
    except (ValueError, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"no table of runs: {line}", where=str(path)) from None
    if (frame["schema"] != SCHEMA).any():
        raise DataError(f"runs of another schema than {SCHEMA}", where=str(path))
    for cells in frame[list(COLUMNS)].to_dict("records"):
        digits = [int(w) for w in str(cells["version"]).split()[-1].split(".")[:2] if w.isdigit()]
        pairs = [pair.partition("=") for pair in str(cells["dims"]).split() if "=" in pair]
        batch = int(pairs[0][2]) if pairs else 1
        fixed = " ".join(f"{k}={v}" for k, _, v in pairs[1:])
        name = str(cells["model"])
        yield (
            int(cells["threads"]),
            GraphRow(
                f"{name}{SEPARATOR}{fixed}" if fixed else name,
                architecture_of(name),
                Setting(
                    Precision.F32, version=(digits[0], digits[1]) if len(digits) > 1 else (1, 0)
                ),
                str(cells["target"]),
                batch,
                float(cells["time_s"]),
                memory_bytes=float(cells["peak_rss_bytes"]) - float(cells["base_rss_bytes"]),
            ),
        )
