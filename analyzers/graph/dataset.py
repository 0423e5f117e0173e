"""Build and load data sets of measured models: rows and graphs on disk.

A data set on disk is a folder ``NAME/processed`` with a compressed file of arrays for each graph,
the rows as JSON lines, and a card with the digests of its source tables and its rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from perfc.common.whole_file import file_digest
from perfc.errors import PerfcError
from perfc.machine import load_machine

from ..features.rows import DataError
from ..features.sheet import Sheet
from ..steps.features import floors_s
from ..steps.setting import Setting
from .model_graph import ModelGraph
from .rows import GraphRow, Measurements
from .store import (
    ENCODING,
    StoredGraphs,
    load_graph,
    parse_rows,
    rows_text,
    save_graph,
    write_file,
)

Say = Callable[[str], None]
CARD, ROWS, GRAPHS = "dataset.json", "rows.jsonl", "graphs"
"""Names of the card, of the rows and of the folder of graphs of a built data set."""
MAX_BYTES = 512 << 20
"""Maximum bytes of ``CARD`` and ``ROWS``: both are read as a whole, so that a larger file, which no
build writes, would take all memory."""
NO_GRAPH = "no graph of "
"""Prefix of the reason for leaving out the rows of a model."""
NAMED = 5
"""Number of models without a graph that a message names, per machine."""


class GraphDataset(ABC):
    """Source of the rows and graphs of one data set."""

    name: ClassVar[str]
    title: ClassVar[str]
    """Description for people."""
    files: ClassVar[tuple[str, ...]]
    """Names of the tables that it reads, or patterns of names."""

    @abstractmethod
    def rows(self, folder: Path) -> list[GraphRow]:
        """Return every usable row of the tables in a folder.

        Raises:
            DataError: tables are missing, or are not those expected.
        """

    @abstractmethod
    def encode(self, graph: str, settings: Iterable[Setting], folder: Path) -> ModelGraph | None:
        """Return the graph of that name; None if there is none.

        Args:
            graph: name of the graph.
            settings: settings of its runs, whose launches are encoded.
            folder: folder of the tables.

        Raises:
            PerfcError: it cannot be read, or contradicts itself.
        """

    def digests(self, folder: Path) -> dict[str, str]:
        """Return SHA-256 of every table."""
        return {n: file_digest(folder / n) for n in self.files if (folder / n).is_file()}

    def build(
        self, folder: Path, output: Path, say: Say, *, only: Sequence[str] = ()
    ) -> Measurements:
        """Encode every graph that is not stored yet, and write rows with their lower bounds.

        An interrupted build continues where it stopped.

        Args:
            folder: folder of the tables.
            output: folder of all data sets.
            say: called with the progress.
            only: names of graphs; all by default.

        Returns:
            The data set as written, with counts of omitted rows: without a graph, or on an unknown
            machine or in an unknown precision.

        Raises:
            DataError: as `rows`.
        """
        place = output / self.name / "processed"
        wanted = self.wanted(folder)
        graphs: dict[str, ModelGraph] = {}
        left_out: Counter[tuple[str, str]] = Counter(self.unknown(folder))
        rows: list[GraphRow] = []
        # sorted, so that a data set is the same whatever the order of the tables
        names = [n for n in sorted(wanted) if not only or n in only]
        for count, name in enumerate(names):
            graph = self._graph(name, wanted[name], folder, place, left_out)
            # graphs without rows are only stored, and read on first use
            if graph is not None and wanted[name]:
                of_known_machines = [r for r in wanted[name] if has_target(r, left_out)]
                graphs[name] = graph
                rows += with_floors(graph, of_known_machines)
            if count % 100 == 99:  # after every 100 graphs
                say(f"{self.name}: {count + 1} of {len(names)} graphs")
        digests = self.digests(folder)
        text = rows_text(rows)
        # a data set without rows (graphs only) has all stored graphs
        every = graphs or StoredGraphs(place / GRAPHS)
        card = {
            "name": self.name,
            "tables": digests,
            "encoding": ENCODING.digest,
            "rows": len(rows),
            "graphs": len(every),
            "rows_sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        # the card is last: its digest of the rows shows that both are of one build
        write_file(place / ROWS, text.encode())
        write_file(place / CARD, (json.dumps(card, indent=2) + "\n").encode())
        messages = tuple(in_words(left_out))
        return Measurements(self.name, every, tuple(rows), card_digest(card), messages)

    def wanted(self, folder: Path) -> Mapping[str, Sequence[GraphRow]]:
        """Return the names of the graphs to encode, each with its rows."""
        by_graph: dict[str, list[GraphRow]] = {}
        for row in self.rows(folder):
            by_graph.setdefault(row.graph, []).append(row)
        return by_graph

    def sized(self, count: int) -> GraphDataset:
        """Return the data set with ``count`` graphs, if its graphs are drawn at random.

        Raises:
            DataError: its graphs are those of measured rows, so that their number is given.
        """
        del count
        raise DataError(
            f"{self.name} has the graphs of its rows", hint="--unlabelled is for `graphs`"
        )

    def unknown(self, folder: Path) -> Mapping[tuple[str, str], int]:
        """Return counts of table rows that `rows` omits, by machine and reason."""
        return {}

    def _graph(
        self,
        name: str,
        rows: Sequence[GraphRow],
        folder: Path,
        place: Path,
        left_out: Counter[tuple[str, str]],
    ) -> ModelGraph | None:
        """Return a graph, from its file or encoded now; None if that fails.

        Then its rows are counted in ``left_out``, by machine and reason.
        """
        path = graph_path(place, name)
        graph = load_graph(path, name)
        if graph is not None:
            return graph
        try:
            graph = self.encode(name, {row.setting for row in rows}, folder)
            why = "" if graph is not None else NO_GRAPH + name
        except PerfcError as error:
            # one model that cannot be read does not end the build
            graph, why = None, str(error)
        if graph is None:
            left_out.update((row.target, why) for row in rows)
            return None
        save_graph(graph, path)
        return graph


def graph_path(place: Path, name: str) -> Path:
    """Return the file of a graph; a name that is no plain file name is replaced by its digest.

    >>> graph_path(Path("p"), "a/b").parent.name
    'graphs'
    """
    # names of rows come from files: no path separators, and no hidden files
    plain = bool(re.fullmatch(r"[\w.-]{1,120}", name)) and not name.startswith(".")
    stem = name if plain else hashlib.sha256(name.encode()).hexdigest()[:24]
    return place / GRAPHS / f"{stem}.npz"


def in_words(left_out: Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield a message per machine and reason, where models without a graph count as one reason.

    >>> list(in_words(Counter({("a100", "no graph of vgg"): 2, ("a100", "no such precision"): 1})))
    ['2 on a100: no graph of vgg', '1 on a100: no such precision']
    """
    absent: dict[str, dict[str, int]] = {}
    for (machine, why), count in left_out.most_common():
        if why.startswith(NO_GRAPH):
            absent.setdefault(machine, {})[why.removeprefix(NO_GRAPH)] = count
    for machine, counts in absent.items():
        names = ", ".join([*counts][:NAMED]) + (", …" if len(counts) > NAMED else "")
        models = names if len(counts) == 1 else f"{len(counts):,} models: {names}"
        yield f"{sum(counts.values()):,} on {machine}: {NO_GRAPH}{models}"
    for (machine, why), count in left_out.most_common():
        if not why.startswith(NO_GRAPH):
            yield f"{count:,} on {machine}: {why}"


def has_target(row: GraphRow, left_out: Counter[tuple[str, str]]) -> bool:
    """Return True if the machine of a row is known; otherwise count the row in ``left_out``."""
    try:
        sheet(row.target)
    except PerfcError as error:
        left_out[row.target, str(error)] += 1
        return False
    return True


def with_floors(graph: ModelGraph, rows: Sequence[GraphRow]) -> list[GraphRow]:
    """Return the rows with ``floor_s`` set to the sum of the lower bounds of their launches."""
    result: list[GraphRow] = []
    for row in rows:
        columns = graph.kernels[row.setting.launch_key].columns.at(row.batch)
        floors = floors_s(columns, row.setting, sheet(row.target))
        result.append(replace(row, floor_s=float((floors * columns.times).sum())))
    return result


@cache
def sheet(target: str) -> Sheet:
    """Return the data sheet of a target."""
    return Sheet(load_machine(target))


def load(output: Path, name: str, *, only: Iterable[str] = ()) -> Measurements:
    """Return a data set that `GraphDataset.build` wrote.

    Args:
        output: folder of the data sets.
        name: name of the data set.
        only: names of graphs; all by default.

    Raises:
        DataError: it is missing, damaged, or of another encoding.
    """
    place = output / name / "processed"
    hint = f"perfc data build {name}"
    try:
        if max((place / n).stat().st_size for n in (CARD, ROWS)) > MAX_BYTES:
            raise DataError(f"rows end at {MAX_BYTES} bytes", where=str(place))
        card = json.loads((place / CARD).read_text(encoding="utf-8"))
        text = (place / ROWS).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise DataError(f"no data set {name!r}", where=str(place), hint=hint) from None
    if not isinstance(card, dict) or card.get("encoding") != ENCODING.digest:
        raise DataError("a data set of another encoding", where=str(place), hint=hint)
    if card.get("rows_sha256") != hashlib.sha256(text.encode()).hexdigest():
        raise DataError("not the rows that the card speaks of", where=str(place), hint=hint)
    chosen = set(only)
    rows = [r for r in parse_rows(text) if not chosen or r.graph in chosen]
    graphs: dict[str, ModelGraph] = {}
    for graph_name in {r.graph for r in rows}:
        graph = load_graph(graph_path(place, graph_name), graph_name)
        if graph is None:
            raise DataError(f"no graph {graph_name!r}", where=str(place), hint=hint)
        graphs[graph_name] = graph
    # a data set without rows (graphs only) has all stored graphs
    every = graphs or StoredGraphs(place / GRAPHS)
    return Measurements(name, every, tuple(rows), card_digest(card))


def card_digest(card: Mapping[str, object]) -> str:
    """Return the digest of a card's whole content."""
    return hashlib.sha256(json.dumps(card, sort_keys=True).encode()).hexdigest()[:16]
