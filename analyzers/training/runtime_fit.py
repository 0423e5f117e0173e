"""Trains the predictor of whole runs under runtimes, with intervals.

First the factors of kernels through the sums of runs, then what the run as a whole took beyond,
from sums of graphs that the factors were not learned from. Graphs left out twice calibrate the
interval of machines that were measured, machines left out that of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir.record import frozen

from ..artefacts.artefact import FORMAT, Artefact, Ready, schema_of
from ..artefacts.card import Card
from ..artefacts.forest import ARRAYS, Forest
from ..features.distance import place
from ..features.rows import Protocol
from ..intervals.conformal import (
    Bands,
    Calibration,
    band,
    of_category,
)
from ..intervals.unseen import LeftOut, learned
from ..runs.run_table import IS_RUNTIME
from ..runs.runtime_runs import CLASS, RESIDUAL, ROUNDED, SPREAD_OF, banded, kin
from .chips_left_out import (
    Apart,
    by_precision,
    left_out,
    machines_left_out,
    percent,
    shares_of_kernels,
)
from .libraries import versions, xgboost
from .measured_runs import MeasuredRun
from .run_stack import RunStack, chips, is_left_out, runtimes, stacked, sums_of
from .sums import SumRecipe, boost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

LEAST_OWN = 8
"""Rows of a machine, a precision, a runtime and a kind of network, to be called measured so."""
DRAWN_ROWS = 20.0
"""Of all runtimes, that stand beside a runtime's own when its usual error is said."""
LENT_ROWS = 10
"""Of all runtimes, in the finite-sample correction of a runtime's band (`benchmarks/few_graphs.py`:
with 0, 10, 20 and 100 of them bands of runtimes known by three graphs hold 95, 93, 90, 85 %)."""
ALWAYS = "precision", "runtime_version"
"""What every tree of factors knows of a run, as an engine's version decides what it takes."""
NOTES = (
    "factors of kernels learned from the times of whole runs; no kernel was timed alone",
    "intervals calibrated on graphs left out, and on machines left out",
)


@frozen
class RuntimeRecipe:
    """How runs are learned.

    Args:
        factors: of the forest of kernels; each of its trees knows precision and version.
        parts: of the graphs, whose sums the forest of runs is learned from.
        folds: of the graphs, that calibrate.
        rounds: trees of the forest of runs.
        depth: of each.
        learning_rate: of each.
    """

    factors: SumRecipe = field(
        default_factory=lambda: SumRecipe(150, 6, 0.1, knee=0.1, always=ALWAYS)
    )
    parts: int = 3
    folds: int = 5
    rounds: int = 200
    depth: int = 7
    learning_rate: float = 0.06
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Forests:
    """What was learned of runs.

    Args:
        factor: of kernels.
        residual: of runs.
    """

    factor: Forest
    residual: Forest

    def wrong(self, stack: RunStack) -> Array:
        """``log(measured / predicted)`` of runs on machines that were measured."""
        sums_s = sums_of(self.factor, stack.launches)
        found: Array = np.log(stack.launches.time_s / sums_s)
        return found - self.residual(stack.with_sums(sums_s))

    def wrong_unseen(self, stack: RunStack) -> Array:
        """``log(measured / sum)`` of runs on others, ``[runs, 2]``.

        The first sum has the factors of kernels, the second is of their estimates.
        """
        sums_s = np.stack([sums_of(self.factor, stack.launches), stack.kernels_s], axis=1)
        found: Array = np.log(stack.launches.time_s[:, None] / sums_s)
        return found


def fitted(stack: RunStack, recipe: RuntimeRecipe) -> Forests:
    """Factors of parts of the graphs, and the forest of runs on sums by other parts' factors.

    What is predicted by is the mean of all parts, as the forest of runs has seen it.
    """
    part = stack.dealt(recipe.parts, recipe.seed + 1)
    sums_s = np.zeros(len(stack))
    factors: list[Forest] = []
    for one in range(recipe.parts):
        out = part == one
        factors.append(grown(stack.take(~out), recipe))
        sums_s[out] = sums_of(factors[-1], stack.launches.take(out))
    wrong = np.log(stack.launches.time_s / sums_s)
    return Forests(mean(factors), residual(stack, stack.with_sums(sums_s), wrong, recipe))


def mean(forests: Sequence[Forest]) -> Forest:
    """One forest whose sum is the mean of those of several."""
    share = np.float32(1 / len(forests))
    scaled = [
        replace(
            one, base=one.base * float(share),
            threshold=np.where(one.feature < 0, one.threshold * share, one.threshold),
        )
        for one in forests
    ]  # fmt: skip
    found = scaled[0]
    for one in scaled[1:]:
        found = found + one
    return found


def grown(stack: RunStack, recipe: RuntimeRecipe) -> Forest:
    """The forest of kernels' factors."""
    launches = stack.launches
    chosen = varying(launches.values)
    names = tuple(np.array(stack.names)[chosen].tolist())
    part = replace(launches, names=names, values=launches.values[:, chosen])
    return of_all(Forest.from_xgboost(boost(part, part.scale_s, recipe.factors)), stack.names)


def varying(values: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which columns are not the same in every row: only these can part rows."""
    found: NDArray[np.bool_] = values.min(axis=0) < values.max(axis=0)
    return found


def of_all(forest: Forest, names: tuple[str, ...]) -> Forest:
    """A forest of some columns as one of all."""
    place = np.array([names.index(name) for name in forest.names], np.int16)
    feature = np.where(forest.feature < 0, forest.feature, place[forest.feature])
    return replace(forest, names=names, feature=feature.astype(np.int16))


def residual(
    stack: RunStack, values: NDArray[np.float32], wrong: Array, recipe: RuntimeRecipe
) -> Forest:
    """The forest of runs, of ``log(measured / sum)``."""
    options = {
        "max_depth": recipe.depth, "eta": recipe.learning_rate, "min_child_weight": 1.0,
        "lambda": 10.0, "subsample": 0.7, "colsample_bytree": 0.25, "base_score": 0.0,
        "objective": "reg:pseudohubererror", "huber_slope": 0.1,
    }  # fmt: skip
    return _trees(stack, values, wrong, stack.weight, options, recipe.rounds, recipe.seed)


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


def _trees(
    stack: RunStack,
    values: NDArray[np.float32],
    wanted: Array,
    weight: Array,
    options: Mapping[str, object],
    rounds: int,
    seed: int,
) -> Forest:
    library = xgboost()
    chosen = varying(values)
    names = np.array(stack.names)[chosen].tolist()
    matrix = library.DMatrix(values[:, chosen], wanted, weight=weight, feature_names=names)
    every = {"tree_method": "hist", "nthread": 1, "max_bin": 64, "seed": seed, **options}
    return of_all(Forest.from_xgboost(library.train(every, matrix, rounds)), stack.names)


def graphs_left_out(stack: RunStack, recipe: RuntimeRecipe, say: Callable[[str], None]) -> Array:
    """``log(measured / predicted)`` of every run, by forests that have not seen its graph."""
    fold = stack.dealt(recipe.folds, recipe.seed)
    wrong = np.zeros(len(stack))
    for one in range(recipe.folds):
        out = fold == one
        wrong[out] = fitted(stack.take(~out), recipe).wrong(stack.take(out))
        say(f"graphs left out, {one + 1} of {recipe.folds}: {percent(wrong[out])}")
    return wrong


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
    category = np.array([names.index(run.row.deployment.runtime) for run in runs])
    wrong = graphs_left_out(stack, recipe, say)
    usual = usual_errors(wrong, category)
    apart: Sequence[Apart] = []
    if leave_machines_out:
        apart = machines_left_out(stack, runs, category, lambda part: fitted(part, recipe), say)
    pooled = shares_of_kernels(apart, len(names))
    groups = [[left_out(one, pooled, usual)] for one in apart]
    is_better = np.ones(len(names), np.bool_)
    if leave_machines_out:
        is_better = better_than_kernels(stack, runs, category, wrong, groups)
    by_kind = [[by_precision(*pair, names)] for pair in zip(apart, groups, strict=True)]
    calibration = calibrated(wrong / usual[category], category, names, by_kind)
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
            "is_better": is_better.astype(np.int8),
            "pooled": pooled,
            **{f"{RESIDUAL}{n}": found.residual.arrays()[n] for n in ARRAYS},
        },
    )  # fmt: skip


def calibrated(
    score: Array,
    category: NDArray[np.int64],
    names: Sequence[str],
    groups: Sequence[Sequence[LeftOut]],
) -> Calibration:
    """Bands of every runtime, from graphs left out and from chips left out, if there are any.

    Rounding to whole numbers errs otherwise on another chip: it has bands of its own there.

    Args:
        score: errors of graphs left out over the usual ones.
        category: runtime of each run.
        names: of the runtimes.
        groups: chips left out, as `by_precision` has them.
    """
    every = [*names, *(banded(one, ROUNDED) for one in names)]
    unseen = learned(groups, every) if len(groups) > 1 else {}
    bands: dict[str, Bands] = {}
    for i, one in enumerate(names):
        seen = of_category(score[category == i], score, beside=LENT_ROWS)
        bands[one] = Bands(seen, unseen.get(one, unseen.get("")))
        rounded = banded(one, ROUNDED)
        if rounded in unseen:
            bands[rounded] = Bands(seen, unseen[rounded])
    return Calibration(Bands(band(score), unseen.get("")), bands)


def better_than_kernels(
    stack: RunStack,
    runs: Sequence[MeasuredRun],
    category: NDArray[np.int64],
    wrong: Array,
    groups: Sequence[Sequence[LeftOut]],
) -> NDArray[np.bool_]:
    """Under which runtimes held-out runs were told better than by their kernels' sums.

    Graphs left out and chips left out count the same, as it is one answer for all machines: else
    two machines would be compared by two predictors. Kernels' sums have seen none of these runs.
    """
    kernels = np.abs(np.log(stack.launches.time_s / stack.kernels_s))
    chip = np.array(chips(runs))
    rows_of = [chip == one for one in sorted(set(chip)) if is_left_out(chip == one)]
    found = []
    for runtime in range(int(category.max()) + 1):
        mine = category == runtime
        errors = [(np.abs(wrong[mine]).mean(), kernels[mine].mean())]
        apart = [
            (np.abs(part.of(runtime).residual).mean(), kernels[rows & mine].mean())
            for (part,), rows in zip(groups, rows_of, strict=True)
            if (rows & mine).any()
        ]
        errors += [tuple(np.mean(apart, axis=0))] if apart else []
        runs_error, kernels_error = np.mean(errors, axis=0)
        found.append(bool(runs_error <= kernels_error))
    return np.array(found)


def card(
    name: str,
    runs: Sequence[MeasuredRun],
    names: tuple[str, ...],
    found: Forests,
    spread: Forest,
    calibration: Calibration,
    data: Mapping[str, str],
) -> Card:
    """What the weights are."""
    counts = Counter(
        (how.target, run.stored, kin(how.runtime, run.table.network))
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
        kin=tuple(sorted(known)),
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
