"""Several data sets as one, for predictors that learn from all of them.

`perfc train graph --dataset a,b` reads them so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import Measurements


def load_union(output: Path, names: Sequence[str]) -> Measurements:
    """Return the rows of several data sets as one.

    A graph that several data sets have gets its launches under the settings of all of them.

    Args:
        output: folder of the data sets, written by `perfc data build`.
        names: names of the data sets.

    Raises:
        DataError: a data set is missing, damaged, or of another encoding.
    """
    parts = [load(output, name) for name in names]
    if len(parts) == 1:
        return parts[0]
    graphs: dict[str, ModelGraph] = {}
    for part in parts:
        for name, graph in part.graphs.items():
            earlier = graphs.get(name)
            kernels = graph.kernels if earlier is None else {**earlier.kernels, **graph.kernels}
            graphs[name] = replace(graph, kernels=kernels)
    rows = tuple(row for part in parts for row in part.rows)
    digest = hashlib.sha256(" ".join(part.digest for part in parts).encode()).hexdigest()[:16]
    return Measurements("+".join(names), graphs, rows, digest)
