"""Graphs that nobody measured, for networks that learn from graphs alone.

They stand in for TraPPM's pool of 25,053 graphs (thesis, Section 5.5.2). A third each are networks
drawn from ten families, cells drawn from NAS-Bench-201 and cells drawn from NAS-Bench-101; model
files of ``models/``, if any, are added to these.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import GRAPHS, GraphDataset
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow
from perfc.analyzers.steps.setting import Setting
from perfc.ir.graph import Module

from .spaces import families, nas_bench_101, nas_bench_201
from .spaces.builder import ArchitectureError
from .timm import encoded_file

COUNT = 20_000
"""Default number of drawn graphs; with the model files, near the 25,053 of TraPPM's pool."""
FILE = "file"
"""Kind of graphs that are model files."""
SEPARATOR = "."
"""Sign in a graph's name between its kind and its number or file."""


class Unlabelled(GraphDataset):
    """Drawn networks and cells, the same in every build: a name is the kind and the random seed.

    Args:
        count: number of drawn graphs.
    """

    name: ClassVar[str] = "graphs"
    title: ClassVar[str] = (
        "graphs that nobody measured: drawn networks, NAS cells, files of models/"
    )
    files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, count: int = COUNT) -> None:
        self.count = count

    def sized(self, count: int) -> GraphDataset:
        """Return a data set with ``count`` drawn graphs."""
        return Unlabelled(count)

    def rows(self, folder: Path) -> list[GraphRow]:
        """Return no rows, as nothing was measured."""
        del folder
        return []

    def wanted(self, folder: Path) -> Mapping[str, Sequence[GraphRow]]:
        """Return the names of the graphs; none has a row."""
        files = [f"{FILE}{SEPARATOR}{stem}" for stem in file_stems(folder)]
        # more names than needed of each kind, as the last line cuts them at the count
        kinds = (
            [f"{family}{SEPARATOR}{i}" for i in range(self.count) for family in families.FAMILIES],
            [f"cell201{SEPARATOR}{i}" for i in range(self.count)],
            [f"cell101{SEPARATOR}{i}" for i in range(self.count)],
        )
        # a graph of each kind in turn, so that a smaller data set is the start of a larger one
        turns = zip(*kinds, strict=False)
        names = [name for turn in turns for name in turn][: self.count]
        return dict.fromkeys((*files, *names), ())

    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the graph of a name: a model file, or a network drawn again from its seed."""
        kind, _, rest = graph.partition(SEPARATOR)
        if kind == FILE:
            return encoded_file(graph, model_folder(folder) / f"{rest}.onnx.gz", settings)
        return encode_module(graph, drawn(kind, int(rest)), settings)


def unlabelled_graphs(folder: Path) -> Path | None:
    """Return graphs that nobody measured, in a folder of data sets; None if they were not built."""
    place = folder / Unlabelled.name / "processed" / GRAPHS
    return place if place.is_dir() else None


def file_stems(folder: Path) -> list[str]:
    """Return the names of the model files in the tables' folder."""
    try:
        place = model_folder(folder)
    except DataError:
        return []
    return sorted(path.name.removesuffix(".onnx.gz") for path in place.glob("*.onnx.gz"))


def drawn(kind: str, seed: int) -> Module:
    """Return a network by the kind and the number in its name.

    Raises:
        DataError: no such kind.
    """
    draw = random.Random(f"{kind} {seed}")
    match kind:
        case "cell201":
            return nas_bench_201.network(cell_201(draw))
        case "cell101":
            return cell_101(draw)
        case _ if kind in families.FAMILIES:
            return families.network(kind, seed)
        case _:
            known = ", ".join((FILE, "cell101", "cell201", *families.FAMILIES))
            raise DataError(f"no kind of graph {kind!r}", hint=f"there are {known}")


def cell_201(draw: random.Random) -> str:
    """Return a cell as text, |conv~0|+|…, with the operator of every edge drawn."""
    names = nas_bench_201.OPERATORS
    edges = [[f"{draw.choice(names)}~{source}" for source in range(node)] for node in (1, 2, 3)]
    return "+".join("|" + "|".join(of_node) + "|" for of_node in edges)


def cell_101(draw: random.Random) -> Module:
    """Return a network of a drawn cell whose input reaches its output."""
    while True:  # until a cell is connected, as most are
        count = draw.randint(3, nas_bench_101.MOST_VERTICES)
        # 0.4 of all edges: about 8 between 7 vertices, where NAS-Bench-101 has at most 9
        matrix = [[int(j > i and draw.random() < 0.4) for j in range(count)] for i in range(count)]
        inner = (nas_bench_101.CONV3, nas_bench_101.CONV1, nas_bench_101.POOL)
        labels = [
            nas_bench_101.INPUT,
            *(draw.choice(inner) for _ in range(count - 2)),
            nas_bench_101.OUTPUT,
        ]
        try:
            return nas_bench_101.network(json.dumps(matrix), json.dumps(labels))
        except ArchitectureError:
            continue
