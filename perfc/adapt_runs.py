"""Whole runs from one table, with the graphs of their models, for `perfc adapt`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import with_floors
from perfc.analyzers.graph.measured_runs import MeasuredRuns, Run, machine_of, most_threads, runs
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.whole_runs.shipped import known_name
from perfc.errors import PerfcError
from perfc.machine import load_machine
from perfc.measure.dataset import records

OWN = ("class", "kernel")
"""Columns that tables of kernels have, and those of runs have not."""


def is_runs(path: Path) -> bool:
    """Whether a table has whole runs and no kernels; False where it cannot be read."""
    try:
        first = next(iter(records(path)), {})
    except (OSError, EOFError, ValueError, PerfcError):
        return False
    return "model" in first and not any(name in first for name in OWN)


def measured_runs(path: Path, target: str) -> Measurements:
    """The runs of a table on one machine; a run without a target is on it.

    Args:
        path: of the table; models lie in ``models/`` beside it.
        target: name or file of the machine's target.

    Raises:
        DataError: no table of runs, or none of them on that machine with a model.
        TargetError: no such machine.
    """
    machine, name = load_machine(target), known_name(target)
    own = {"", target, machine.name, *machine.aliases, machine_of(machine.name, path.parent)}
    ours: list[tuple[int, Run]] = []
    others: Counter[str] = Counter()
    for threads, one in runs(path):
        where = one.target if isinstance(one, GraphRow) else one[0]
        if where in own:
            ours.append((threads, one))
        else:
            others[where] += 1
    left_out = Counter(one[1] for _, one in ours if not isinstance(one, GraphRow))
    rows = [replace(row, target=name) for row in most_threads(ours)]
    graphs: dict[str, ModelGraph] = {}
    kept: list[GraphRow] = []
    for graph in sorted({row.graph for row in rows}):
        mine = [row for row in rows if row.graph == graph]
        try:
            encoded = MeasuredRuns().encode(graph, {r.setting for r in mine}, path.parent)
            why = f"no graph of {graph}"
        except PerfcError as error:
            encoded, why = None, str(error)
        if encoded is None:
            left_out[why] += len(mine)
        else:
            graphs[graph] = encoded
            kept += with_floors(encoded, mine)
    told = tuple(f"{n:,} on {machine.name}: {why}" for why, n in left_out.most_common())
    if not kept:
        known = "there are of " + ", ".join(sorted(others)) if others else "it has no row"
        hint = "; ".join(told) or known
        raise DataError(f"no run on {machine.name}", where=str(path), hint=hint)
    return Measurements(path.name, graphs, tuple(kept), left_out=told)
