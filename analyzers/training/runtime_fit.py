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
from perfc.machine import load_machine
from perfc.version import __version__

from ..artefacts.artefact import FORMAT, Artefact, Ready, schema_of
from ..artefacts.card import Card
from ..artefacts.forest import ARRAYS, Forest
from ..features.distance import coordinates, nearest
from ..features.rows import Protocol
from ..features.sheet import Sheet
from ..intervals.conformal import (
    AT_ONCE,
    LEAST_SPREAD,
    Bands,
    Calibration,
    Unseen,
    band,
    of_category,
)
from ..intervals.unseen import LeftOut, learned
from ..runs.runtime_runs import CLASS, MOST_SPREAD, RESIDUAL, SPREAD_OF
from ..tables.architectures import fold_of
from .libraries import xgboost
from .measured_runs import MeasuredRun
from .run_stack import RunStack, chips, is_left_out, runtimes, stacked, sums_of
from .sums import SumRecipe, boost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

LEAST_OWN = 8
"""Rows of a machine, a precision and a runtime, to be called measured so."""
NOTES = (
    "factors of kernels learned from the times of whole runs; no kernel was timed alone",
    "intervals calibrated on graphs left out, and on machines left out",
)


@frozen
class RuntimeRecipe:
    """How runs are learned.

    Args:
        factors: of the forest of kernels.
        parts: of the graphs, whose sums the forest of runs is learned from.
        folds: of the graphs, that calibrate.
        rounds: trees of the forest of runs.
        depth: of each.
        learning_rate: of each.
    """

    factors: SumRecipe = field(
        default_factory=lambda: SumRecipe(trees=150, depth=6, learning_rate=0.1, knee=0.1)
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

    def sums(self, stack: RunStack) -> Array:
        """Seconds of all kernels with their factors, ``[runs]``."""
        return sums_of(self.factor, stack.launches)

    def times(self, stack: RunStack) -> tuple[Array, NDArray[np.float32]]:
        """Seconds of the runs, and their features."""
        sums_s = self.sums(stack)
        values = stack.with_sums(sums_s)
        return sums_s * np.exp(self.residual(values)), values


def fitted(stack: RunStack, recipe: RuntimeRecipe) -> Forests:
    """Factors of parts of the graphs, and the forest of runs on sums by other parts' factors.

    What is predicted by is the mean of all parts, as the forest of runs has seen it.
    """
    dealt = fold_of(map(str, stack.graph.tolist()), recipe.parts, recipe.seed + 1)
    part = np.array([dealt[str(g)] for g in stack.graph.tolist()])
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


def even_spread(names: tuple[str, ...], wrong: Array) -> Forest:
    """A forest of one leaf: the middle error is expected of every run.

    Trees of the expected error were tried: their intervals held as many runs and were wider.
    """
    return Forest(
        names, np.array([-1], np.int16), np.zeros(1, np.float32), np.zeros(1, np.int32),
        np.zeros(1, np.int32), float(np.log(np.median(np.abs(wrong)))),
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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Runs by forests that have not seen them.

    Args:
        wrong: ``log(measured / predicted)``.
        values: features of the runs as they were predicted.
    """

    wrong: Array
    values: NDArray[np.float32]


def graphs_left_out(stack: RunStack, recipe: RuntimeRecipe, say: Callable[[str], None]) -> HeldOut:
    """Every graph once, in as many folds as the recipe says."""
    dealt = fold_of(map(str, stack.graph.tolist()), recipe.folds, recipe.seed)
    fold = np.array([dealt[str(g)] for g in stack.graph.tolist()])
    wrong, values = np.zeros(len(stack)), stack.values.copy()
    for one in range(recipe.folds):
        out = fold == one
        part = stack.take(out)
        time_s, values[out] = fitted(stack.take(~out), recipe).times(part)
        wrong[out] = np.log(part.launches.time_s / time_s)
        say(f"graphs left out, {one + 1} of {recipe.folds}: {_percent(wrong[out])}")
    return HeldOut(wrong, values)


def widths(spread: Forest, values: NDArray[np.float32]) -> Array:
    """Expected error of runs."""
    found: Array = np.exp(np.clip(spread(values), np.log(LEAST_SPREAD), MOST_SPREAD))
    return found


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
    held = graphs_left_out(stack, recipe, say)
    spread = even_spread(stack.names, held.wrong)
    score = held.wrong / widths(spread, held.values)
    unseen: Mapping[str, Unseen] = {}
    is_better = np.ones(len(names), np.bool_)
    if leave_machines_out:
        groups = machines_left_out(stack, runs, category, spread, recipe, say)
        unseen = learned(groups, names) if len(groups) > 1 else {}
        is_better = better_than_kernels(stack, runs, category, held, groups)
    found = fitted(stack, recipe)
    bands = {
        one: Bands(of_category(score[category == i], score), unseen.get(one, unseen.get("")))
        for i, one in enumerate(names)
    }
    calibration = Calibration(Bands(band(score), unseen.get("")), bands)
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
            **{f"{RESIDUAL}{n}": found.residual.arrays()[n] for n in ARRAYS},
        },
    )  # fmt: skip


def machines_left_out(
    stack: RunStack,
    runs: Sequence[MeasuredRun],
    category: NDArray[np.int64],
    spread: Forest,
    recipe: RuntimeRecipe,
    say: Callable[[str], None],
) -> list[list[LeftOut]]:
    """What chips that are left out one at a time are off by."""
    chip = np.array(chips(runs))
    groups = []
    for one in sorted(set(chip)):
        out = chip == one
        if not is_left_out(out):
            continue
        part = stack.take(out)
        time_s, values = fitted(stack.take(~out), recipe).times(part)
        wrong = np.log(part.launches.time_s / time_s)
        here = coordinates(Sheet(load_machine(str(one))), SPREAD_OF)
        others = (coordinates(Sheet(load_machine(str(n))), SPREAD_OF) for n in set(chip) - {one})
        apart = max(nearest(here, others), AT_ONCE)
        groups.append([LeftOut(apart, wrong, widths(spread, values), category[out])])
        say(f"without {one}: {_percent(wrong)}")
    return groups


def better_than_kernels(
    stack: RunStack,
    runs: Sequence[MeasuredRun],
    category: NDArray[np.int64],
    held: HeldOut,
    groups: Sequence[Sequence[LeftOut]],
) -> NDArray[np.bool_]:
    """Under which runtimes held-out runs were told better than by their kernels' sums.

    Graphs left out and chips left out count the same, as it is one answer for all machines: else
    two machines would be compared by two predictors. Kernels' sums have seen none of these runs.
    """
    kernels = np.abs(np.log(stack.launches.time_s / stack.kernels_s))
    chip = np.array(chips(runs))
    left_out = [chip == one for one in sorted(set(chip)) if is_left_out(chip == one)]
    found = []
    for runtime in range(int(category.max()) + 1):
        mine = category == runtime
        errors = [(np.abs(held.wrong[mine]).mean(), kernels[mine].mean())]
        apart = [
            (np.abs(part.of(runtime).residual).mean(), kernels[rows & mine].mean())
            for (part,), rows in zip(groups, left_out, strict=True)
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
    counts = Counter((r.row.deployment.target, r.stored, r.row.deployment.runtime) for r in runs)
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
        dtypes=tuple(sorted({stored for _, stored, _ in counts})),
        targets=targets,
        kin=tuple(sorted(known)),
        places={
            SPREAD_OF: tuple(coordinates(Sheet(load_machine(t)), SPREAD_OF) for t in targets)
        },
        bases={
            "factor": found.factor.base, "spread": spread.base, "residual": found.residual.base,
        },
        calibration=calibration,
        split="graphs in five parts, each left out once; chips left out in turn",
        data=data,
        metrics={},
        versions={"perfc": __version__, "numpy": np.__version__, "xgboost": xgboost().__version__},
        rows=len(runs),
        notes=NOTES,
    )  # fmt: skip


def _percent(wrong: Array) -> str:
    return f"{np.abs(np.expm1(-wrong)).mean():.1%} of {len(wrong):,}"
