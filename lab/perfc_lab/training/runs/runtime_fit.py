"""Trains the predictor of whole runs under runtimes, with intervals.

First the factors of kernels through the sums of runs, then what the run as a whole took beyond,
from sums of graphs that the factors were not learned from. Beside them a process tells what like
runs took beyond their kernels. Graphs left out twice calibrate the
interval of machines that were measured, machines left out that of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.analyzers.artefacts.artefact import FORMAT, Artefact, Ready, schema_of
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.artefacts.forest import ARRAYS, Forest
from perfc.analyzers.features.distance import place
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.intervals.conformal import Bands, Calibration, Unseen, band, of_category
from perfc.analyzers.intervals.unseen import LeftOut, learned
from perfc.analyzers.intervals.unseen import of_category as of_runtime
from perfc.analyzers.runs.run_process import PUBLICATION, PUBLICATIONS
from perfc.analyzers.runs.run_table import IS_RUNTIME
from perfc.analyzers.runs.runtime_runs import (
    CLASS,
    NETWORKS,
    OF_FORESTS,
    PROCESS,
    RESIDUAL,
    ROUNDED,
    SPREAD_OF,
    banded,
    expected_error,
    run_key,
    share_of_forests,
)

from ..libraries import versions
from .chips_left_out import HeldOutChip, by_precision, left_out, machines_left_out, mixed, percent
from .measured_runs import MeasuredRun
from .run_forests import RunForests, RuntimeRecipe, factors, fitted
from .run_stack import RunStack, networks, runtimes, stacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

LEAST_OWN = 6
"""Rows of a machine, a precision, a runtime and a kind of network, to be called measured so."""
DRAWN_ROWS = 20.0
"""Of all runtimes, that stand beside a runtime's own when its usual error is said."""
LENT_ROWS = 10
"""Of all runtimes, in the finite-sample correction of a runtime's band:
with 0, 10, 20 and 100 of them bands of runtimes known by three graphs hold 95, 94, 91, 85 %."""
LENT_CHIPS = 1.0
"""Weight of the chips of all runtimes beside a runtime's own where a chip is unseen.

Bands from the other chips cover 86 to 96 % of the runs of each. Chosen on these rows.
"""
DEVIATIONS = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 10.0)
"""Of runs from what forests tell, that are tried; with the last the process tells runs alone.

With every graph left out twice, eager runs are 12.8 % off, by one share for each runtime 15.0 %;
TorchScript's 15.3 for 14.6 %, all others within half a percent.
"""
NOTES = (
    "factors of kernels learned from the times of whole runs; no kernel was timed alone",
    "intervals calibrated on graphs left out, and on machines left out",
)


def usual_errors(wrong: Array, category: NDArray[np.int64]) -> Array:
    """Middle error of each runtime's runs, those of few rows drawn to that of all; ``[runtimes]``.

    Logarithms are drawn, by as many rows as ``DRAWN_ROWS``.
    """
    every = float(np.log(np.median(np.abs(wrong))))
    rows = np.bincount(category)
    own = [np.log(np.median(np.abs(wrong[category == i]))) for i in range(len(rows))]
    found: Array = np.exp((rows * np.array(own) + DRAWN_ROWS * every) / (rows + DRAWN_ROWS))
    return found


def spread_of(names: tuple[str, ...], usual: Array, runtimes: Sequence[str]) -> Forest:
    """A forest of one split for each runtime: the same error is expected of all its runs.

    Trees of the expected error were tried: their intervals held as many runs and were wider.
    """
    each = len(usual)
    logs = np.log(usual)
    threshold = np.stack([np.full(each, 0.5), np.zeros(each), logs - logs.mean()], axis=1)
    is_runtime = [names.index(f"{IS_RUNTIME}{name}") for name in runtimes]
    feature = np.stack([is_runtime, np.full(each, -1), np.full(each, -1)], axis=1)
    root = 3 * np.arange(each)
    left = np.stack([root + 1, np.zeros(each), np.zeros(each)], axis=1)
    return Forest(
        names, feature.reshape(-1).astype(np.int16), threshold.reshape(-1).astype(np.float32),
        left.reshape(-1).astype(np.int32), root.astype(np.int32), float(logs.mean()),
    )  # fmt: skip


def graphs_left_out(
    stack: RunStack, recipe: RuntimeRecipe, say: Callable[[str], None]
) -> tuple[Array, Array]:
    """What has not seen a run's graph says of it.

    Returns:
        `RunForests.wrong`, ``[runs, 2]``, and `RunForests.deviation`, ``[runs]``.
    """
    fold = stack.balanced(recipe.folds, recipe.seed)
    wrong, deviation = np.zeros((len(stack), 2)), np.zeros(len(stack))
    for one in range(recipe.folds):
        out = fold == one
        found, tested = fitted(stack.take(~out), recipe), stack.take(out)
        wrong[out], deviation[out] = found.wrong(tested), found.deviation(tested)
        process, forests = (percent(column) for column in wrong[out].T)
        say(f"graphs left out, {one + 1} of {recipe.folds}: {process}, forests {forests}")
    return wrong, deviation


def deviations_of_forests(
    stack: RunStack, wrong: Array, deviation: Array, category: NDArray[np.int64]
) -> Array:
    """Deviation of runs from what forests tell, under each runtime, ``[runtimes]``.

    It is that of the least error of graphs left out, each counting the same: of the runtime's own
    graphs and of all graphs, added up, as few graphs cannot choose alone.

    Args:
        stack: the runs.
        wrong: of the process and of forests, ``[runs, 2]``.
        deviation: from what the process expects, ``[runs]``.
        category: runtime of each run.
    """
    pooled = [np.abs(mixed(wrong, share_of_forests(deviation, one))) for one in DEVIATIONS]

    def errors(mine: NDArray[np.bool_]) -> Array:
        parts = [mine & (stack.graph == graph) for graph in np.unique(stack.graph[mine])]
        return np.array([np.mean([error[part].mean() for part in parts]) for error in pooled])

    every = errors(np.ones(len(stack), np.bool_))
    runtimes = range(int(category.max()) + 1)
    return np.array([DEVIATIONS[int(np.argmin(errors(category == i) + every))] for i in runtimes])


def train_runs(
    name: str,
    runs: Sequence[MeasuredRun],
    recipe: RuntimeRecipe,
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
        recipe: how.
        say: is told how far it is.
        data: digests of the tables, for the card.
        leave_machines_out: calibrate for unseen machines too, which trains once for each chip.
        ready: told name and schema before anything is trained.

    Raises:
        DataError: there are too few graphs.
    """
    stack = stacked(runs)
    if ready is not None:
        ready(name, schema_of(CLASS, (), stack.names))
    names = runtimes(runs)
    category = np.array([names.index(run.runtime) for run in runs])
    by_both, deviation = graphs_left_out(stack, recipe, say)
    of_forests = deviations_of_forests(stack, by_both, deviation, category)
    wrong = mixed(by_both, share_of_forests(deviation, of_forests[category]))
    usual, by_deviation = (usual_errors(one, category) for one in (wrong, wrong / deviation))
    apart: Sequence[HeldOutChip] = []
    if leave_machines_out:
        apart = machines_left_out(stack, runs, category, lambda part: factors(part, recipe)[0], say)
    groups = [[left_out(one, usual)] for one in apart]
    by_kind = [[by_precision(*pair, names)] for pair in zip(apart, groups, strict=True)]
    expected = expected_error(by_deviation[category], deviation)
    calibration = calibrated(wrong / expected, category, names, by_kind)
    found, spread = fitted(stack, recipe), spread_of(stack.names, usual, names)
    values = stack.values
    return Artefact(
        card(name, runs, stack.names, found, spread, calibration, data or {}),
        found.factor,
        spread,
        values.min(axis=0).astype(np.float64),
        values.max(axis=0).astype(np.float64),
        np.median(values, axis=0).astype(np.float64),
        more={
            "counts": np.bincount(category, minlength=len(names)),
            OF_FORESTS: of_forests,
            "by_deviation": by_deviation,
            NETWORKS: networks(runs),
            **publications(runs),
            **arrays_of(found),
        },
    )  # fmt: skip


def publications(runs: Sequence[MeasuredRun]) -> dict[str, Any]:
    """Return the titles of publications, and the number of that of each run, ``[runs]``."""
    titles, numbers = np.unique([run.row.source for run in runs], return_inverse=True)
    text = np.frombuffer("\n".join(titles).encode(), np.uint8)
    return {PUBLICATIONS: text, PUBLICATION: numbers.astype(np.uint8)}


def arrays_of(found: RunForests) -> dict[str, Any]:
    """Of the process and of the forest of runs, by the names that predictions read."""
    return {
        **{f"{PROCESS}{n}": array for n, array in found.process.arrays().items()},
        **{f"{RESIDUAL}{n}": found.residual.arrays()[n] for n in ARRAYS},
    }


def calibrated(
    score: Array,
    category: NDArray[np.int64],
    names: Sequence[str],
    groups: Sequence[Sequence[LeftOut]],
) -> Calibration:
    """Bands of every runtime, from graphs left out and from chips left out, if there are any.

    Rounding to whole numbers errs otherwise on another chip: it has bands of its own there.

    Args:
        score: errors of graphs left out over those that were expected.
        category: runtime of each run.
        names: of the runtimes.
        groups: chips left out, as `by_precision` has them.
    """
    every = [*names, *(banded(one, ROUNDED) for one in names)]
    # what a runtime adds on a chip is a draw of its own: all of them tell how far such draws go
    draws = sum(len(of_runtime(groups, i)) for i in range(len(every)))
    unseen: Mapping[str, Unseen] = {}
    if len(groups) > 1:
        unseen = learned(groups, every, freedom=draws, borrowed=LENT_CHIPS)
    bands: dict[str, Bands] = {}
    for i, one in enumerate(names):
        seen = of_category(score[category == i], score, extra_rows=LENT_ROWS)
        bands[one] = Bands(seen, unseen.get(one, unseen.get("")))
        rounded = banded(one, ROUNDED)
        if rounded in unseen:
            bands[rounded] = Bands(seen, unseen[rounded])
    return Calibration(Bands(band(score), unseen.get("")), bands)


def card(
    name: str,
    runs: Sequence[MeasuredRun],
    names: tuple[str, ...],
    found: RunForests,
    spread: Forest,
    calibration: Calibration,
    data: Mapping[str, str],
) -> Card:
    """What the weights are."""
    counts = Counter(
        (how.target, run.stored, run_key(how.runtime, run.table.network))
        for run in runs if (how := run.row.deployment)
    )  # fmt: skip
    known = [how for how, rows in counts.items() if rows >= LEAST_OWN]
    targets = tuple(sorted({target for target, *_ in counts}))
    return Card(
        name=name,
        class_name=CLASS,
        format=FORMAT,
        schema=schema_of(CLASS, (), names),
        parameters=(),
        features=names,
        protocols=(Protocol.STEP,),
        frameworks=runtimes(runs),
        dtypes=tuple(sorted({stored for _, stored, *_ in counts})),
        targets=targets,
        configurations=tuple(sorted(known)),
        places={
            SPREAD_OF: tuple(place(t, SPREAD_OF) for t in targets)
        },
        bases={
            "factor": found.factor.base, "spread": spread.base, "residual": found.residual.base,
        },
        calibration=calibration,
        split="graphs in five parts, each left out once; chips left out in turn",
        data=data,
        metrics={},
        versions=versions(),
        rows=len(runs),
        notes=NOTES,
    )  # fmt: skip
