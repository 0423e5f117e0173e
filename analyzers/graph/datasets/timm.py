"""timm's benchmark on the graphs of the same models."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...sources.timm import TABLE, graph_folder, measured
from ..encode import encode_module
from ..model_graph import ModelGraph
from ..rows import GraphRow
from . import GraphDataset

if TYPE_CHECKING:
    from ...steps.setting import Setting


class Timm(GraphDataset):
    """Inference eager, channels last and compiled, and training steps; RTX 3090, 4090, PRO 6000."""

    name: ClassVar[str] = "timm"
    title: ClassVar[str] = "timm's benchmark: whole vision models, inference and training steps"
    files: ClassVar[tuple[str, ...]] = (TABLE,)

    def rows(self, folder: Path) -> list[GraphRow]:
        """Rows on graphics processors."""
        return [
            GraphRow(m.file, m.architecture, m.setting, m.target, m.batch, m.time_s)
            for m in measured(folder)
        ]

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """The graph of ``timm__NAME__SIZE.onnx.gz``."""
        path = graph_folder(folder) / f"{graph}.onnx.gz"
        return encoded_file(graph, path, settings) if path.is_file() else None


def encoded_file(graph: str, path: Path, settings: Iterable[Setting]) -> ModelGraph:
    """The graph of a model file whose only symbol is the batch.

    Raises:
        PerfcError: it cannot be read, or contradicts itself.
    """
    from perfc.frontend import load

    return encode_module(graph, load(path), settings)
