"""Adapt a trained whole-run predictor to a new machine with a few of its measured runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from perfc.errors import PerfcError
from perfc.ir import entity
from perfc.machine import load_machine

from ..features.classes import Array
from ..features.rows import DataError
from ..graph import dataset
from ..graph.measured_runs import MeasuredRuns, Run, machine_of, most_threads, runs
from ..graph.model_graph import ModelGraph
from ..graph.predictor import GraphPredictor
from ..graph.rows import GraphRow, Measurements, Quantity, drawn
from ..graph.weights import GraphCard, load, save
from .shipped import known_name, named

STEPS = (0, 1, 2, 4, 8, 16, 32, 64)
"""Points of the learning curve: numbers of rows to adapt to, each doubled, since the error falls
more and more slowly. The error is that of the remaining rows."""


@entity
class Adapted:
    """Weights adapted to a machine with a few rows.

    Args:
        predictor: predictor adapted to all rows.
        card: card of the predictor.
        curve: pairs of number of rows and mean error of the remaining rows.
    """

    predictor: GraphPredictor
    card: GraphCard
    curve: tuple[tuple[int, float], ...]


def runs_in(folder: Path, name: str) -> Measurements:
    """Return the rows and graphs of a data set, as `perfc.analyzers.graph.dataset.load`."""
    return dataset.load(folder, name)


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
            measured += dataset.with_floors(encoded, of_graph)
    reasons = tuple(f"{n:,} on {machine.name}: {why}" for why, n in left_out.most_common())
    if not measured:
        known = "there are of " + ", ".join(sorted(others)) if others else "it has no row"
        hint = "; ".join(reasons) or known
        raise DataError(f"no run on {machine.name}", where=str(path), hint=hint)
    return Measurements(path.name, graphs, tuple(measured), left_out=reasons)


def write_adapted(
    target: str, data: Measurements, predictor: str, output: Path
) -> tuple[tuple[tuple[int, float], ...], Path]:
    """Write the weights of a predictor adapted to a machine; return their curve and their card.

    Args:
        target: name or file of the machine's target.
        data: rows and graphs; those of other machines are ignored.
        predictor: name of the predictor.
        output: folder of the weights.

    Raises:
        WeightsError: no such weights, or damaged ones.
        DataError: no rows of the machine, or it was trained on.
    """
    result = adapted(named(predictor), data, known_name(target))
    return result.curve, save(result.predictor, result.card, output)


def adapted(card: Path, data: Measurements, target: str, *, seed: int = 0) -> Adapted:
    """Return weights adapted to the rows of one machine, and their learning curve.

    Args:
        card: card of the weights.
        data: rows and graphs; those of other machines are ignored.
        target: name of the machine.
        seed: random seed of the order of rows in the learning curve, one of each architecture
            first.

    Raises:
        WeightsError: no such weights, or damaged ones.
        DataError: no rows of the machine, or it was trained on.
    """
    original = load(card)[1]
    quantity = Quantity(original.quantity)
    mine = data.where(lambda r: r.target == target).measured(quantity)
    if not len(mine):
        known = ", ".join(data.targets) or "none"
        raise DataError(f"no rows of {target}", where=data.dataset, hint=f"there are of {known}")
    if target in original.targets:
        raise DataError(f"{target} was trained on", where=str(card), hint="train with its rows")
    # one row of each architecture first, then all others
    first = drawn(mine.rows, seed, len(mine))
    rest = [r for r in mine.rows if r not in set(first)]
    ordered = mine.of([*first, *rest])
    # fewer than all rows, so that at least one remains to compute an error from
    curve = tuple((n, error(card, ordered, n, quantity)) for n in STEPS if n < len(ordered))
    # loaded once more, since `error` adapted other copies to fewer rows
    predictor = load(card)[0]
    predictor.adapt(ordered)
    return Adapted(predictor, card_of(original, predictor, ordered), curve)


def error(card: Path, rows: Measurements, count: int, quantity: Quantity) -> float:
    """Return the mean relative error of the rows after the first ``count``, adapted to those."""
    # weights are loaded again, as `adapt` changes them
    predictor = load(card)[0]
    if count:
        predictor.adapt(rows.of(rows.rows[:count]))
    others = rows.of(rows.rows[count:])
    value: Array = predictor.estimates(others).value
    return float(np.abs(value / others.values(quantity) - 1).mean())


def card_of(card: GraphCard, made: GraphPredictor, rows: Measurements) -> GraphCard:
    """Return the card of adapted weights.

    Args:
        card: card of the original weights.
        made: predictor adapted to ``rows``.
        rows: measured rows of one machine.
    """
    target = rows.rows[0].target
    return replace(
        card,
        split=f"{card.split}; adapted to {len(rows)} rows of {target}",
        targets=tuple(sorted({*card.targets, target})),
        modes=tuple(sorted({*card.modes, *(r.part for r in rows.rows)})),  # `part` is the mode
        runs=tuple(sorted({*card.runs, *runs_of(rows.rows)})),
        factor=made.factor,
        metrics={},  # those of the original card are of other rows
        meta=made.meta(),
    )


def runs_of(rows: tuple[GraphRow, ...]) -> Iterator[tuple[str, str, str, str]]:
    """Yield machine, precision, execution mode and framework of each row."""
    for r in rows:
        yield r.target, r.setting.precision.value, r.part, r.setting.framework
