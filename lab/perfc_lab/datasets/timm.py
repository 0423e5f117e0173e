"""Rows of timm's benchmark, each with the graph of its model.

`perfc data build timm` encodes each graph and writes its rows. In a deployed form of a
model linear branches are folded (``--reparam``), and some rows were measured on that form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from perfc.analyzers.graph.dataset import GraphDataset
from perfc.analyzers.graph.encode import encode, encode_module
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Setting
from perfc.errors import PerfcError

from ..splitting import grouped
from ..tables.timm import TABLE, TimmLine, measured
from ..tables.timm_variants import forms, parameters, read_variants

FOLDED = "--folded-"
"""Text between the name of a model file and the number of its deployed form, in a graph's name."""


class TimmRuns(GraphDataset):
    """Inference eager, channels last and compiled, and training steps; RTX 3090, 4090, PRO 6000."""

    name: ClassVar[str] = "timm"
    title: ClassVar[str] = "timm's benchmark: whole vision models, inference and training steps"
    files: ClassVar[tuple[str, ...]] = (TABLE,)

    def rows(self, folder: Path) -> list[GraphRow]:
        """Return the rows on graphics processors, each with the form of its graph that was run.

        Takes a minute or two: forms differ in their parameters, which are counted in the graphs.
        """
        wanted = grouped(measured(folder), lambda line: line.file)
        graphs = model_folder(folder)
        return [
            GraphRow(graph, m.architecture, m.setting, m.target, m.batch, m.time_s)
            for file, lines in sorted(wanted.items())
            for graph, m in zip(_forms(graphs / f"{file}.onnx.gz", lines), lines, strict=True)
        ]

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the graph of ``timm__NAME__SIZE.onnx.gz``, or a deployed form of it."""
        file, _, form = graph.partition(FOLDED)
        path = model_folder(folder) / f"{file}.onnx.gz"
        if not path.is_file():
            return None
        if not form:
            return encoded_file(graph, path, settings)
        variants, analyses = read_variants(path)
        return encode(graph, variants[int(form)], analyses, settings)


def _forms(path: Path, rows: Sequence[TimmLine]) -> Iterator[str]:
    """Yield the name of the graph that each row of a model file was run on."""
    parameter_counts = [row.parameters for row in rows]
    try:
        chosen = forms([parameters(module) for module in read_variants(path)[0]], parameter_counts)
    except PerfcError:
        # form 0, the graph as exported; `encode` raises the error for it later
        chosen = [0] * len(rows)
    for row, form in zip(rows, chosen, strict=True):
        yield f"{row.file}{FOLDED}{form}" if form else row.file


def encoded_file(graph: str, path: Path, settings: Iterable[Setting]) -> ModelGraph:
    """Return the graph of a model file whose only symbol is the batch.

    Raises:
        PerfcError: it cannot be read, or contradicts itself.
    """
    from perfc.frontend import load

    return encode_module(graph, load(path), settings)
