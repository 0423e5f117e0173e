"""Read tables of runs that ``perfc measure --append`` wrote, as a data set of measured models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from perfc.common.choice import member
from perfc.common.fitted import data_next_to
from perfc.common.whole_file import file_digest
from perfc.errors import PerfcError, TargetError
from perfc.ir import Module
from perfc.machine import load_machine
from perfc.passes.runtimes import Framework, Layout, Steps, of_steps, runtime, standing_for

from ..features.rows import DataError
from ..steps.setting import Precision, Setting, precision_of
from .dataset import GraphDataset
from .encode import encode_module
from .model_graph import ModelGraph
from .rows import GraphRow

PATTERNS = ("*models.csv", "*models.csv.gz", "*models.parquet")
"""Names of tables of runs."""
NEEDED = ("model", "time_s")
"""Columns that a table must have."""
MODELS = "models"
"""Folder of the models, in or next to the folder of the rows."""
USUAL = data_next_to(__file__)
"""Defaults of columns that a table of runs may omit, from ``measured_runs.toml``."""
TEXTS = {name: str for name, value in USUAL.items() if value == ""} | {"model": str}
"""Columns to read as text: as numbers, version 1.20 would be 1.2."""
SCHEMA = 1
"""Version of the columns, as ``perfc measure --append`` writes them."""
SEPARATOR = "@"
"""Separator of a model's name and the values of its symbols in the name of a graph."""
Run = GraphRow | tuple[str, str]
"""A run, or the machine of a run and the reason why the run cannot be read."""


class MeasuredRuns(GraphDataset):
    """Measured runs of a user, each under its runtime and in its precision.

    The first symbol of a model is its batch; the values of other symbols are part of the graph's
    name, ``bert@s70=128``. Memory is the growth of the process's resident set (RSS).
    """

    name = "mine"
    title = "runs that `perfc measure --append` wrote, beside their models/"
    files = PATTERNS

    def rows(self, folder: Path) -> list[GraphRow]:
        """Return every run; of runs that differ only in the number of threads, the one with most.

        Raises:
            DataError: no table of runs, or one of another schema.
        """
        return most_threads(run for path in tables(folder) for run in runs(path))

    def unknown(self, folder: Path) -> Mapping[tuple[str, str], int]:
        """Return counts of runs in an unknown precision or under an unknown runtime."""
        every = (run for path in tables(folder) for _, run in runs(path))
        return Counter(run for run in every if not isinstance(run, GraphRow))

    def digests(self, folder: Path) -> dict[str, str]:
        """Return SHA-256 of every table."""
        return {p.name: file_digest(p) for p in tables(folder)}

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the graph of a model, with values for all symbols but the batch."""
        from perfc.frontend import load
        from perfc.ir.graphs.rewrite import with_defaults

        name, _, fixed = graph.partition(SEPARATOR)
        # models are stored compressed or plain; `with_suffix` removes ".gz" alone
        path = model_folder(folder) / f"{name}.onnx.gz"
        path = path if path.is_file() else path.with_suffix("")
        if not path.is_file():
            return None
        dims = {k: int(v) for k, _, v in (pair.partition("=") for pair in fixed.split()) if v}
        module: Module = with_defaults(load(path, dims), dims)
        return encode_module(graph, module, settings, fixed=dims)


def most_threads(measured: Iterable[tuple[int, Run]]) -> list[GraphRow]:
    """Return the row with the most threads of each group that differs only in threads.

    Args:
        measured: rows of `runs` with their threads.
    """
    best: dict[tuple[str, str, Setting, int], tuple[int, GraphRow]] = {}
    for threads, row in measured:
        if not isinstance(row, GraphRow):
            continue
        key = (row.graph, row.target, row.setting, row.batch)
        if key not in best or best[key][0] < threads:
            best[key] = (threads, row)
    return [row for _, row in best.values()]


def tables(folder: Path) -> list[Path]:
    """Return the tables of runs in a folder.

    Raises:
        DataError: there is none.
    """
    paths = sorted(p for pattern in PATTERNS for p in folder.glob(pattern) if p.is_file())
    if not paths:
        raise DataError(
            "no table of runs", where=str(folder), hint="perfc measure MODEL --append rows.csv.gz"
        )
    return paths


def architecture_of(file: str) -> str:
    """Return the network of a file's name, without exporter and input size.

    >>> architecture_of("legacy__timm__resnet50"), architecture_of("timm__resnet50__224")
    ('resnet50', 'resnet50')
    """
    words = file.split("__")
    if len(words) > 1 and words[-1].isdigit():
        words = words[:-1]
    return words[-1]


def runs(path: Path) -> Iterator[tuple[int, Run]]:
    """Yield the threads and the row of every run of a table.

    A run on an unknown machine, under an unknown runtime or in an unknown precision has 0 threads,
    and its machine and the reason in place of the row.

    Raises:
        DataError: no such table, or one of another schema.
    """
    import pandas as pd

    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_csv(path, dtype=TEXTS)
        lacking = [c for c in NEEDED if c not in frame.columns]
        if lacking:
            raise ValueError(f"no column {lacking[0]!r}")
    except (ValueError, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]  # pandas writes many lines
        raise DataError(f"no table of runs: {line}", where=str(path)) from None
    # tables of earlier versions have fewer columns, and runs may leave cells empty
    for name, value in USUAL.items():
        frame[name] = frame[name].fillna(value) if name in frame.columns else value
    if (frame["schema"] != SCHEMA).any():
        raise DataError(f"runs of another schema than {SCHEMA}", where=str(path))
    for cells in frame[[*NEEDED, *USUAL]].to_dict("records"):
        try:
            yield int(cells["threads"]), run(cells, path.parent)
        except PerfcError as error:
            yield 0, (str(cells["target"]), str(error))
        except (ValueError, OverflowError) as error:
            raise DataError(f"no table of runs: {error}", where=str(path)) from None


def run(cells: Mapping[str, Any], folder: Path) -> GraphRow:
    """Return a row of a table as a run.

    Raises:
        PerfcError: an unknown runtime or precision, or a time that is not positive and finite.
        ValueError: a cell that should be a number.
    """
    # the cell lists the symbols as NAME=VALUE, the batch first; a batch of 0 is unknown
    pairs = [pair.partition("=") for pair in str(cells["dims"]).split() if "=" in pair]
    batch = int(cells["batch"]) or (int(pairs[0][2]) if pairs else 1)
    fixed = " ".join(f"{k}={v}" for k, _, v in pairs[1:])
    name, time_s = str(cells["model"]), float(cells["time_s"])
    if not 0 < time_s < float("inf") or batch < 1:
        raise DataError(f"a run of {name} × {batch} that takes {time_s} s")
    # both are 0 in a table without these columns: the memory is then unknown, NaN
    memory = float(cells["peak_rss_bytes"]) - float(cells["base_rss_bytes"])
    target = machine_of(str(cells["target"]), folder)
    return GraphRow(
        f"{name}{SEPARATOR}{fixed}" if fixed else name,
        architecture_of(name),
        setting(cells, kind_of(target)),
        target,
        batch,
        time_s,
        memory_bytes=memory or float("nan"),
    )


def setting(cells: Mapping[str, Any], kind: str) -> Setting:
    """Return the setting of a measured run.

    Args:
        cells: cells of its row.
        kind: ``cpu`` or ``cuda``, the kind of its machine.

    Raises:
        PerfcError: an unknown runtime, precision or layout.
    """
    name = str(cells["table"] or cells["runtime"]) or of_steps(Steps.EAGER).name
    # the name of a framework, such as ``onnxruntime``, stands for its runtime on this device
    framework = next((f for f in Framework if f.value == name), None)
    if framework is None:
        table = runtime(name)
    else:
        table = standing_for(framework, str(cells["device"]).partition(":")[0] or kind)
    # major and minor number of a version such as "torch 2.1.0+cu121"
    words = str(cells["version"]).split()
    numbers = [int(w) for w in words[-1].split(".")[:2] if w.isdigit()] if words else []
    precision = precision_of(str(cells["precision"]), "precision") if cells["precision"] else None
    is_torch = table.steps is not None
    # without a version: that of the default setting, or 1.0 outside of PyTorch
    usual = Setting().version if is_torch else (1, 0)
    layout = member(Layout, str(cells["layout"]) or Layout.CHANNELS_FIRST.value, "layout")
    return Setting(
        precision or Precision.F32,
        channels_last=layout is Layout.CHANNELS_LAST,
        compiled=table.steps is Steps.COMPILED,
        version=(numbers[0], numbers[1]) if len(numbers) > 1 else usual,
        engine="" if is_torch else table.name,
    )


def kind_of(target: str) -> str:
    """Return the kind of a machine, ``cpu`` or ``cuda``.

    An unknown machine counts as ``cuda``; its rows are left out later.
    """
    try:
        return load_machine(target).kind
    except TargetError:
        return "cuda"


def machine_of(target: str, folder: Path) -> str:
    """Return the machine of a row: a target of perfc, or the path of a target file.

    The file is in the folder of the table; a name without a file stays as it is.

    >>> machine_of("a100", Path())
    'a100-sxm4-80gb'
    """
    try:
        return load_machine(target).name
    except TargetError:
        return target_files(folder).get(target, target)


@cache
def target_files(folder: Path) -> Mapping[str, str]:
    """Return the target files in a table's folder, by the names of their machines."""
    result: dict[str, str] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            result[load_machine(path).name] = str(path)
        except TargetError:
            continue
    return result


def model_folder(folder: Path) -> Path:
    """Return the folder of the models to which the rows in ``folder`` belong.

    Raises:
        DataError: there is none in the folder or next to it.
    """
    for place in (folder / MODELS, folder.parent / MODELS):
        if place.is_dir():
            return place
    raise DataError(
        f"no graphs: neither {MODELS}/ in it nor beside it",
        where=str(folder),
        hint=f"`perfc data export timm --data {folder}` writes them",
    )
