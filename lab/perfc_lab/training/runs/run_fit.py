"""Train the predictor of whole runs: a Gaussian process of the time beyond their kernels.

Held-out graphs calibrate the intervals of machines that were measured, held-out chips those of
others: each chip with all newer ones.
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
"""Rows of a machine, a precision and a runtime, to count as measured."""
LENT_ROWS = 10
"""Rows of all runtimes in the finite-sample correction of a runtime's band."""
BORROWED_ROWS = 30.0
"""Weight, in rows, of the errors of runtimes with the same kernels in a runtime's band."""
LEAST_LEFT_OUT = 50
"""Rows of a chip that is held out to calibrate others."""
LEAST_GRAPHS = 10
"""Graphs, so that some can be held out twice."""
LEAST_CHIPS = 2
"""Chips that a process for a newer one is fitted on; the oldest chips are held out alone."""
NOTES = (
    "what whole runs take beyond their kernels, from similar runs; no kernel was timed alone",
    "intervals calibrated on held-out graphs, and on held-out chips",
)


@frozen
class RunRecipe:
    """Settings of the fit of runs.

    Args:
        folds: of the graphs, that calibrate.
        process: how the process is fitted.
        seed: of the folds.
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
    """Train on all runs given; those held out for testing must not be among them.

    Args:
        name: of the predictor.
        runs: under all runtimes.
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
    # every chip counts the same, however many runs it has
    weights = [np.full(len(scores_of_chip), 1 / len(scores_of_chip)) for scores_of_chip in of_chips]
    # the first is of all runtimes together; each has one for machines that nobody measured too
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
"""One leaf, as the files of every predictor have two forests."""


def fitted(runs: Sequence[MeasuredRun], names: Sequence[str], recipe: RunRecipe) -> Process:
    """Return the process that knows some runs."""
    return fitted_process(FORM, known(runs, names), beyond(runs), recipe.process)


def known(runs: Sequence[MeasuredRun], names: Sequence[str]) -> RowPositions:
    """Return the positions of runs, their graphs included."""
    numbers = {network: i for i, network in enumerate(networks(runs).tolist())}
    return positions([run.table for run in runs], names, numbers)


def beyond(runs: Sequence[MeasuredRun]) -> Array:
    """Return the logarithm of the time of runs over their timelines, ``[runs]``."""
    return np.log([run.row.time_s / run.table.kernels_s for run in runs])


def scores_of(
    process: Process,
    train: Sequence[MeasuredRun],
    tested: Sequence[MeasuredRun],
    say: Callable[[str], None],
) -> Array:
    """Return the errors of held-out runs over their expected ones, ``[runs]``.

    The parameters of the process are those of all runs (Rasmussen and Williams 2006, section
    5.4.2): a few numbers, whose fit takes longer than all else.

    Args:
        process: of all runs.
        train: runs that predict.
        tested: runs of graphs, or of a chip, that are not among them.
        say: reports progress.
    """
    names = runtimes([*train, *tested])
    rest = conditioned(process, known(train, names), beyond(train))
    tables = [run.table for run in tested]
    expected, spread, _ = residual(rest, tables, positions(tables, names))
    alone = beyond(tested)  # error of the kernels without the process
    wrong = alone - expected
    say(f"held out: {percent(wrong)}, kernels {percent(alone)}")
    return np.asarray(wrong / spread)


def percent(wrong: Array) -> str:
    """Return the mean error of runs, and their number."""
    return f"{np.abs(np.expm1(-wrong)).mean():.1%} of {len(wrong):,}"


def of_runtime(runtime: str, runs: Sequence[MeasuredRun], scores: Array, weights: Array) -> Band:
    """Return the band of a runtime; the more runs it has, the less others with its kernels count.

    Args:
        runtime: its name; "" for all.
        runs: held-out runs.
        scores: errors over expected ones of each.
        weights: how much each counts.
    """
    tables = [run.table for run in runs]
    chosen = weights * [table.runtime == runtime for table in tables]
    library = next((table.library for table in tables if table.runtime == runtime), "")
    others = weights * [library in ("", table.library) for table in tables]
    count = int(np.count_nonzero(chosen))
    share = count / (count + BORROWED_ROWS)
    # `others` has the runs of the runtime too
    each = (1 - share) * others / others.sum() + share * chosen / (chosen.sum() or 1.0)
    return band(scores, each, count=count + LENT_ROWS if count else None)


def chips_left_out(
    runs: Sequence[MeasuredRun],
) -> Iterator[tuple[str, list[MeasuredRun], list[MeasuredRun]]]:
    """Yield each chip with enough runs, the runs of chips that are not newer, and those on it."""
    chip = chips(runs)
    for held in sorted(set(chip)):
        allowed = training_chips(held, set(chip))
        train = [run for run, name in zip(runs, chip, strict=True) if name in allowed]
        tested = [run for run, name in zip(runs, chip, strict=True) if name == held]
        if train and len(tested) >= LEAST_LEFT_OUT:
            yield held, train, tested


def training_chips(chip: str, names: Collection[str]) -> set[str]:
    """Return the chips that are not newer than a held-out one; all others if those are few."""
    generation = {n: Sheet(load_machine(n)).generation for n in names}
    older = {n for n in names if n != chip and generation[n] <= generation[chip]}
    return older if len(older) >= LEAST_CHIPS else set(names) - {chip}


def chips(runs: Sequence[MeasuredRun]) -> list[str]:
    """Return the first machine, by name, of the chip that each run's machine has."""
    names = sorted({run.row.deployment.target for run in runs})
    # boards of several generations are far from each other
    places = {n: (Sheet(load_machine(n)).generation * 10, *place(n, RATES_OF)) for n in names}
    first = {
        name: next(o for o in names if distance(places[o], places[name]) <= SAME_CHIP)
        for name in names
    }
    return [first[run.row.deployment.target] for run in runs]


def balanced(groups: Sequence[int], parts: int, seed: int) -> NDArray[np.int64]:
    """Return the part of every run, so that parts have as many runs each as they can.

    Groups of most runs come first, each into the part with the fewest so far: two similar graphs
    with a third of all runs are in two parts.

    Args:
        groups: graph of each run; runs of one are in one part.
        parts: number of parts.
        seed: of the order of groups of equally many runs.
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
    """Return the titles of publications, and the number of that of each run, ``[runs]``."""
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
        bases={"factor": 0.0, "spread": 0.0},
        calibration=calibration,
        split="graphs in five parts, each held out once; chips held out with all newer ones",
        data=data,
        metrics={},
        versions=versions(),
        rows=len(runs),
        notes=NOTES,
    )
