"""Read a release by path and write data sets that `perfc train graph` reads.

`perfc data import` calls `import_release`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path

from perfc.analyzers.graph.dataset import CARD, ROWS, card_digest, graph_path
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.graph.store import ENCODING, StoredGraphs, rows_text, save_graph, write_file
from perfc.ir.record import record

from ..source import FetchError
from .members import members_of
from .perfseer import seer_graph, seer_labels, seer_rows
from .torch_graphs import torch_graph
from .tpu_graphs import tpu_graph

Say = Callable[[str], None]
# files of the four releases; others are not opened
SUFFIXES = frozenset({".pt", ".pkl", ".txt", ".npz"})
PERFSEER = "perfseer"


@record
class ImportedRun:
    """Rows of one network of a release.

    Args:
        dataset: name of the data set that they belong to.
        rows: measured runs; none where a file has a graph alone.
        graph: the network; None where another file of the release has it.
    """

    dataset: str
    rows: tuple[GraphRow, ...]
    graph: ModelGraph | None


def import_release(path: Path, output: Path, say: Say) -> list[Measurements]:
    """Write the data sets of a release; files are read one at a time.

    Files that cannot be read are left out, with a line each in ``left_out``.

    Args:
        path: archive or folder of DIPPM's, TraPPM's, PerfSeer's or TpuGraphs' release.
        output: folder of data sets.
        say: called with progress lines.

    Raises:
        FetchError: no such release.
    """
    rows: dict[str, list[GraphRow]] = {}
    left_out: list[str] = []
    for count, run in enumerate(runs_of(path, left_out), 1):
        listed = rows.setdefault(run.dataset, [])
        # a run without a time, or with an infinite or NaN one, is no row
        listed += (row for row in run.rows if row.time_s > 0 and isfinite(row.time_s))
        if run.graph is not None:
            place = output / run.dataset / "processed"
            save_graph(run.graph, graph_path(place, run.graph.name))
        if count % 1000 == 0:
            say(f"{count:,} networks")
    if not any(rows.values()):
        raise FetchError(
            "no network with labels of DIPPM, TraPPM, PerfSeer or TpuGraphs",
            where=left_out[0] if left_out else str(path),
            hint="files .pt of torch.save, pairs .pkl and .txt, or .npz",
        )
    return [written(n, rows[n], output, path, tuple(left_out)) for n in sorted(rows)]


def runs_of(path: Path, left_out: list[str]) -> Iterator[ImportedRun]:
    """Yield the networks of a release in the order of its files; labels may precede graphs."""
    batches: dict[str, int] = {}
    labels: dict[str, dict[str, tuple[float, ...]]] = {}
    for member in members_of(path, SUFFIXES):
        try:
            match member.suffix:
                case ".pt":
                    name, row, partial = torch_graph(member)
                    yield ImportedRun(name, (row,), partial.model_graph(row.graph, member.name))
                case ".npz":
                    row, partial = tpu_graph(member)
                    graph = partial.model_graph(row.graph, member.name)
                    yield ImportedRun("tpugraphs", (row,), graph)
                case ".pkl":
                    seer = seer_graph(member)
                    batches[member.stem] = seer.batch
                    graph = seer.graph.model_graph(member.stem, member.name)
                    yield ImportedRun(PERFSEER, (), graph)
                # other texts, such as a README, have no labels
                case ".txt" if b"infer" in member.content:
                    labels[member.stem] = seer_labels(member)
        except FetchError as error:
            left_out.append(str(error))
    # PerfSeer has graph and labels in two files, in either order
    for stem in sorted(batches.keys() & labels.keys()):
        yield ImportedRun(PERFSEER, seer_rows(stem, batches[stem], labels[stem]), None)


def written(
    name: str, rows: list[GraphRow], output: Path, source: Path, left_out: tuple[str, ...]
) -> Measurements:
    """Write rows and card of a data set."""
    place = output / name / "processed"
    text = rows_text(rows)
    card = {
        "name": name,
        "source": source.name,
        "encoding": ENCODING.digest,
        "rows": len(rows),
        "graphs": len({row.graph for row in rows}),
        "rows_sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    write_file(place / ROWS, text.encode())
    write_file(place / CARD, (json.dumps(card, indent=2) + "\n").encode())
    graphs = StoredGraphs(place / "graphs")
    return Measurements(name, graphs, tuple(rows), card_digest(card), left_out)
