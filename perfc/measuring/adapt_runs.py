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
from perfc.measuring.measure.tables.dataset import records

OWN = ("class", "kernel")
"""Columns that only tables of kernels have."""


def is_runs(path: Path) -> bool:
    """Return True for a table of whole runs, not of kernels; False if it cannot be read."""
    try:
        first = next(iter(records(path)), {})
    except PerfcError:
        return False
    return "model" in first and not any(name in first for name in OWN)


def measured_runs(path: Path, target: str) -> Measurements:
    """Read the runs on one machine from a table; rows without a target count as that machine.

    Args:
        path: path of the table; models are in ``models/`` next to it.
        target: name or file of the machine's target.

    Raises:
        DataError: not a table of runs, or no run on that machine has a model.
        TargetError: an unknown machine.
    """
    machine, name = load_machine(target), known_name(target)
    names = {"", target, machine.name, *machine.aliases, machine_of(machine.name, path.parent)}
    ours: list[tuple[int, Run]] = []
    others: Counter[str] = Counter()
    for threads, run in runs(path):
        # a run that has no row is a pair of its machine and the reason
        where = run.target if isinstance(run, GraphRow) else run[0]
        if where in names:
            ours.append((threads, run))
        else:
            others[where] += 1
    left_out = Counter(run[1] for _, run in ours if not isinstance(run, GraphRow))
    # of runs that differ only in threads, the run with the most stands for the machine
    rows = [replace(row, target=name) for row in most_threads(ours)]
    graphs: dict[str, ModelGraph] = {}
    measured: list[GraphRow] = []
    for graph in sorted({row.graph for row in rows}):
        of_graph = [row for row in rows if row.graph == graph]
        try:
            encoded = MeasuredRuns().encode(graph, {r.setting for r in of_graph}, path.parent)
            why = f"no graph of {graph}"
        except PerfcError as error:
            encoded, why = None, str(error)
        if encoded is None:
            left_out[why] += len(of_graph)
        else:
            graphs[graph] = encoded
            measured += with_floors(encoded, of_graph)
    reasons = tuple(f"{n:,} on {machine.name}: {why}" for why, n in left_out.most_common())
    if not measured:
        known = "there are of " + ", ".join(sorted(others)) if others else "it has no row"
        hint = "; ".join(reasons) or known
        raise DataError(f"no run on {machine.name}", where=str(path), hint=hint)
    return Measurements(path.name, graphs, tuple(measured), left_out=reasons)
