"""Train the predictor of whole runs: a Gaussian process of their time over that of their kernels.

Held-out graphs calibrate the intervals of measured machines. Held-out chips, each left out with all
newer ones, calibrate the intervals of unmeasured machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.analyzers.artefacts.artefact import FORMAT, Artefact, Ready, schema_of
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.distance import SAME_CHIP, distance, place
from perfc.analyzers.features.rows import DataError, Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.intervals.conformal import Band, Bands, Calibration, Unseen, band
from perfc.analyzers.runs.run_process import FORM, positions
from perfc.analyzers.runs.run_table import COLUMNS, RATES_OF
from perfc.analyzers.runs.runtime_runs import (
    CLASS,
    NETWORKS,
    PROCESS,
    PUBLICATION,
    PUBLICATIONS,
    residual,
)
from perfc.ir.record import frozen
from perfc.machine import load_machine

from ...splitting import leave_out
from ..libraries import versions
from ..process_fit import ProcessRecipe, conditioned, fitted_process
from .measured_runs import MeasuredRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array
    from perfc.analyzers.features.process import Process, RowPositions

LEAST_OWN = 6
"""Minimum rows of a machine, precision and runtime for that configuration to count as measured."""
LENT_ROWS = 10
"""Rows that all runtimes together add to a runtime's count in the finite-sample correction.

The correction widens bands of few rows, but bands of such runtimes also have rows of others.
"""
BORROWED_ROWS = 30.0
"""Weight, in rows, of the errors of runtimes with the same kernels in a runtime's band.

A runtime with so many rows has half of the weight in its band.
"""
LEAST_LEFT_OUT = 50
"""Minimum rows of a chip that is held out to calibrate unmeasured machines."""
LEAST_GRAPHS = 10
"""Minimum graphs, so that some can be held out twice."""
LEAST_CHIPS = 2
"""Minimum older chips to predict a held-out chip from; with fewer, newer chips are used as well."""
NOTES = (
    "what whole runs take beyond their kernels, from similar runs; no kernel was timed alone",
    "intervals calibrated on held-out graphs, and on held-out chips",
)


@frozen
class RunRecipe:
    """Settings of the fit of runs.

    Args:
        folds: number of folds of graphs, which calibrate.
        process: settings of the process.
        seed: seed of the folds.
    """

    folds: int = 5
    process: ProcessRecipe = ProcessRecipe(rows=400, steps=20)
    seed: int = 0


def train_runs(
    name: str,
    runs: Sequence[MeasuredRun],
    recipe: RunRecipe,
    say: Callable[[str], None],
    *,
    data: Mapping[str, str] | None = None,
    leave_machines_out: bool = True,
    ready: Ready | None = None,
) -> Artefact:
    """Train on all given runs, among which no run may be held out for testing.

    Args:
        name: name of the predictor.
        runs: runs under all runtimes.
        recipe: hyperparameters of the fit.
        say: reports progress.
        data: digests of the tables, for the card.
        leave_machines_out: calibrate for unseen machines too, which fits once for each chip.
        ready: called with name and schema before anything is trained.

    Raises:
        DataError: there are too few graphs.
    """
    graphs = len(networks(runs))
    if graphs < LEAST_GRAPHS:
        raise DataError(f"runs of {graphs} graphs", hint=f"at least {LEAST_GRAPHS}")
    if ready is not None:
        ready(name, schema_of(CLASS, (), COLUMNS))
    names = runtimes(runs)
    process, places = fitted(runs, names, recipe), np.array([run.table.places for run in runs])
    fold = balanced([run.table.network_id for run in runs], recipe.folds, recipe.seed)
    scores = np.zeros(len(runs))
    for part, train, tested in leave_out(runs, fold.tolist()):
        scores[fold == part] = scores_of(process, train, tested, say)
    left_out = list(chips_left_out(runs)) if leave_machines_out else []
    of_chips = [scores_of(process, train, tested, say) for _, train, tested in left_out]
    on_chips = [run for *_, tested in left_out for run in tested]
    # all chips have the same weight, however many runs they have
    weights = [np.full(len(scores_of_chip), 1 / len(scores_of_chip)) for scores_of_chip in of_chips]
    # the first bands are for all runtimes together; each item has a band for measured machines and
    # one for unmeasured machines
    every, *bands = (
        Bands(
            of_runtime(runtime, runs, scores, np.ones(len(runs))),
            Unseen(
                0.0,
                of_runtime(runtime, on_chips, np.concatenate(of_chips), np.concatenate(weights)),
            )
            if left_out
            else None,
        )
        for runtime in ("", *names)
    )
    return Artefact(
        card(name, runs, Calibration(every, dict(zip(names, bands, strict=True))), data or {}),
        NO_FOREST,
        NO_FOREST,
        places.min(axis=0),
        places.max(axis=0),
        np.median(places, axis=0),
        more={
            NETWORKS: networks(runs),
            **publications(runs),
            **{f"{PROCESS}{n}": array for n, array in process.arrays().items()},
        },
    )


NO_FOREST = Forest(
    COLUMNS,
    np.array([-1], np.int8),
    np.zeros(1, np.float32),
    np.zeros(1, np.int32),
    np.zeros(1, np.int32),
    0.0,
)
"""A forest of one leaf of 0, as the files of every predictor must have two forests."""


def fitted(runs: Sequence[MeasuredRun], names: Sequence[str], recipe: RunRecipe) -> Process:
    """Return the process fitted to some runs, which it knows."""
    return fitted_process(FORM, known(runs, names), beyond(runs), recipe.process)


def known(runs: Sequence[MeasuredRun], names: Sequence[str]) -> RowPositions:
    """Return the positions of runs, with the numbers of their graphs."""
    numbers = {network: i for i, network in enumerate(networks(runs).tolist())}
    return positions([run.table for run in runs], names, numbers)


def beyond(runs: Sequence[MeasuredRun]) -> Array:
    """Return the logarithm of the time of runs over that of their kernels, ``[runs]``."""
    return np.log([run.row.time_s / run.table.kernels_s for run in runs])


def scores_of(
    process: Process,
    train: Sequence[MeasuredRun],
    tested: Sequence[MeasuredRun],
    say: Callable[[str], None],
) -> Array:
    """Return the errors of held-out runs over their expected errors, ``[runs]``.

    The parameters of the process stay as fitted to all runs (Rasmussen and Williams 2006, section
    5.4.2): they are few, and their fit takes longer than all else.

    Args:
        process: process fitted to all runs.
        train: runs that the process knows here.
        tested: runs of graphs, or of a chip, that are not among ``train``.
        say: reports progress.
    """
    names = runtimes([*train, *tested])
    trained_process = conditioned(process, known(train, names), beyond(train))
    tables = [run.table for run in tested]
    expected, spread, _ = residual(trained_process, tables, positions(tables, names))
    # errors of the kernels alone, then with the process
    alone = beyond(tested)
    wrong = alone - expected
    say(f"held out: {percent(wrong)}, kernels {percent(alone)}")
    return np.asarray(wrong / spread)


def percent(wrong: Array) -> str:
    """Return the mean error of runs, and their number."""
    return f"{np.abs(np.expm1(-wrong)).mean():.1%} of {len(wrong):,}"


def of_runtime(runtime: str, runs: Sequence[MeasuredRun], scores: Array, weights: Array) -> Band:
    """Return the band of a runtime, by its runs and by runs of runtimes with the same kernels.

    The more runs the runtime has, the less the runs of other runtimes count.

    Args:
        runtime: name of the runtime; "" for all together.
        runs: held-out runs.
        scores: errors over expected errors of the runs.
        weights: weights of the runs.
    """
    tables = [run.table for run in runs]
    chosen = weights * [table.runtime == runtime for table in tables]
    # without a run of the runtime, as for "", all runs count
    library = next((table.library for table in tables if table.runtime == runtime), "")
    others = weights * [library in ("", table.library) for table in tables]
    count = int(np.count_nonzero(chosen))
    share = count / (count + BORROWED_ROWS)
    # `others` has the runs of the runtime too
    combined = (1 - share) * others / others.sum() + share * chosen / (chosen.sum() or 1.0)
    return band(scores, combined, count=count + LENT_ROWS if count else None)


def chips_left_out(
    runs: Sequence[MeasuredRun],
) -> Iterator[tuple[str, list[MeasuredRun], list[MeasuredRun]]]:
    """Yield each chip with enough runs, the runs of chips that are not newer, and its runs."""
    chip = chips(runs)
    for held in sorted(set(chip)):
        allowed = training_chips(held, set(chip))
        train = [run for run, name in zip(runs, chip, strict=True) if name in allowed]
        tested = [run for run, name in zip(runs, chip, strict=True) if name == held]
        if train and len(tested) >= LEAST_LEFT_OUT:
            yield held, train, tested


def training_chips(chip: str, names: Collection[str]) -> set[str]:
    """Return the chips that are not newer than a held-out chip; all others if these are few."""
    generation = {n: Sheet(load_machine(n)).generation for n in names}
    older = {n for n in names if n != chip and generation[n] <= generation[chip]}
    return older if len(older) >= LEAST_CHIPS else set(names) - {chip}


def chips(runs: Sequence[MeasuredRun]) -> list[str]:
    """Return the chip of each run, named by the first of its machines."""
    names = sorted({run.row.deployment.target for run in runs})
    # the factor puts machines of different generations far from each other
    places = {n: (Sheet(load_machine(n)).generation * 10, *place(n, RATES_OF)) for n in names}
    first = {
        name: next(o for o in names if distance(places[o], places[name]) <= SAME_CHIP)
        for name in names
    }
    return [first[run.row.deployment.target] for run in runs]


def balanced(groups: Sequence[int], parts: int, seed: int) -> NDArray[np.int64]:
    """Return the part of every run, with parts of nearly equal size.

    The largest groups come first, each into the part with the fewest runs so far, so that two
    similar graphs with a third of all runs are in two parts.

    Args:
        groups: graph of each run; runs of one graph are in one part.
        parts: number of parts.
        seed: seed of the order of equally large groups.
    """
    _, graph, rows = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(rows))
    part, load = np.zeros(len(rows), np.int64), np.zeros(parts)
    # stable, so that groups of equally many runs stay in the random order
    for group in order[np.argsort(-rows[order], kind="stable")]:
        part[group] = np.argmin(load)
        load[part[group]] += rows[group]
    return np.asarray(part[graph])


def networks(runs: Sequence[MeasuredRun]) -> NDArray[np.int64]:
    """Return the `network_id` of each graph by its index, ``[graphs]``."""
    return np.array(sorted({run.table.network_id for run in runs}), np.int64)


def runtimes(runs: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """Return the runtimes, sorted."""
    return tuple(sorted({run.table.runtime for run in runs}))


def publications(runs: Sequence[MeasuredRun]) -> dict[str, Any]:
    """Return the titles of publications as text, and the number of each run's, ``[runs]``."""
    titles, numbers = np.unique([run.row.source for run in runs], return_inverse=True)
    text = np.frombuffer("\n".join(titles).encode(), np.uint8)
    return {PUBLICATIONS: text, PUBLICATION: numbers.astype(np.uint8)}


def card(
    name: str, runs: Sequence[MeasuredRun], calibration: Calibration, data: Mapping[str, str]
) -> Card:
    """Return the card of the weights."""
    counts = Counter((r.row.deployment.target, r.table.stored, r.table.runtime) for r in runs)
    measured = [how for how, rows in counts.items() if rows >= LEAST_OWN]
    targets = tuple(sorted({target for target, *_ in counts}))
    return Card(
        name=name,
        class_name=CLASS,
        format=FORMAT,
        schema=schema_of(CLASS, (), COLUMNS),
        parameters=(),
        features=COLUMNS,
        protocols=(Protocol.STEP,),
        frameworks=runtimes(runs),
        dtypes=tuple(sorted({stored for _, stored, _ in counts})),
        targets=targets,
        configurations=tuple(sorted(measured)),
        places={RATES_OF: tuple(place(t, RATES_OF) for t in targets)},
        bases={"factor": 0.0, "spread": 0.0},  # of the two empty forests
        calibration=calibration,
        split="graphs in five parts, each held out once; chips held out with all newer ones",
        data=data,
        metrics={},
        versions=versions(),
        rows=len(runs),
        notes=NOTES,
    )
