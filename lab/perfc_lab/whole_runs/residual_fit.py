"""Fit a physics residual: multipliers, factors of launches, a residual, a spread.

Sums are cross-fitted: the residual is learned from graphs that the factors were not learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.steps.launch_stack import SumStack
from perfc.analyzers.whole_runs.kernel_sums import (
    KindRates,
    LaunchSums,
    Pruned,
    RunConfiguration,
    effective_sheet,
    tabulated_runs,
)
from perfc.analyzers.whole_runs.learned import Learned, Trees
from perfc.analyzers.whole_runs.memory import OffsetMemory, levels
from perfc.analyzers.whole_runs.pooled import pooled, pooled_schema
from perfc.analyzers.whole_runs.similarity import OperatorSimilarity, operators, roots_of
from perfc_lab.training.xgboost_forest import forest_of

from ..splitting import fold_of
from ..tables.architectures import family
from ..training.libraries import xgboost
from ..training.runs.sums import SumRecipe, multipliers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array
    from perfc.analyzers.graph.model_graph import OpGraph

PARTS = 3
"""Parts of the rows for the cross-fit, each of which is left out once."""
# trees of the factors of launches
RECIPE = SumRecipe(trees=250, depth=7, knee=0.1)
TRAINING_WEIGHT = 3.0
"""Weight of a row of a training step, as far fewer of them are measured than of inference."""
# XGBoost's settings of the residual of whole graphs
RESIDUAL: Mapping[str, object] = {
    "max_depth": 12,
    "eta": 0.05,
    "min_child_weight": 10.0,
    "subsample": 0.7,
    "lambda": 5.0,
    "colsample_bytree": 0.4,
    "objective": "reg:absoluteerror",
    "tree_method": "hist",
    "nthread": 1,
    "max_bin": 32,
}
ROUNDS, PATIENCE = 600, 40
"""Maximum trees of the residual, and trees without progress after which training stops."""
UNWATCHED = 100
"""Trees of the residual where no rows are held out to stop early."""
# XGBoost's settings of the expected spread
SPREAD: Mapping[str, object] = {
    "max_depth": 4,
    "eta": 0.1,
    "min_child_weight": 20.0,
    "colsample_bytree": 0.5,
    "tree_method": "hist",
    "nthread": 1,
    "max_bin": 64,
}
SPREAD_ROUNDS = 60
"""Trees of the expected spread."""
PULL = 1.0
"""Weight, in rows, of the offset of the level above in the mean of a level."""
MACHINE_FEATURES = frozenset(
    {"mean_device_tb_per_s", "mean_ridge_flop_per_byte", "mean_sm_count", "mean_version"}
)
"""Pooled features that a machine and its framework decide alone."""


@dataclass(eq=False)
class BoostedTrees(Trees):
    """A forest with XGBoost's booster that it was read from, which is faster on many rows."""

    booster: Any = None

    @classmethod
    def of(cls, booster: Any) -> BoostedTrees:
        """Return the forest of a trained booster."""
        return cls(forest_of(booster), booster)

    def __call__(self, values: NDArray[np.float32]) -> Array:
        """Return the sum of the trees for every row, ``[rows]``."""
        # few rows are faster through the arrays than through a matrix of XGBoost
        if len(values) < 10_000:
            return super().__call__(values)
        matrix = xgboost().DMatrix(values, feature_names=list(self.forest.names))
        return np.asarray(self.booster.predict(matrix, output_margin=True), np.float64)


def learned_rates(stack: SumStack, recipe: SumRecipe) -> KindRates:
    """Return the multipliers of kinds for the runs of a table."""
    rates = multipliers(stack, recipe)
    present = np.unique(stack.configuration).tolist()
    return KindRates(tuple(RunConfiguration(*stack.known[i]) for i in present), rates[present])


def fitted(
    train: Measurements,
    validation: Measurements,
    quantity: Quantity,
    budget: TrainingBudget,
    recipe: SumRecipe,
    say: Say,
    parts: int = PARTS,
    unwatched: int = UNWATCHED,
) -> Learned:
    """Return the predictor, learned from rows.

    Args:
        train: rows to learn from.
        validation: rows that stop the residual; may be none.
        quantity: predicted quantity.
        budget: budget, of which the seed alone is read.
        recipe: recipe of the trees of launches.
        say: called with the progress.
        parts: number of parts of the cross-fit.
        unwatched: trees of the residual if ``validation`` has no rows.
    """
    runs = tabulated_runs(train, train.values(quantity), effective_sheet)
    # another quantity is scaled to the size of seconds, by its median ratio to the roofline time
    unit = 1.0
    if quantity is not Quantity.TIME:
        unit = float(np.median(runs.stack.time_s / runs.stack.total(runs.stack.scale_s)))
        stack = replace(runs.stack, time_s=runs.stack.time_s / unit)
        runs = LaunchSums(stack, runs.times)
    stack = runs.stack
    rates = learned_rates(stack, recipe)
    pruned = Pruned.of(stack, rates)
    weight = np.array([TRAINING_WEIGHT if r.setting.training else 1.0 for r in train.rows])
    fold = _folds(train, validation, parts, budget.seed)
    factors, log_factor = _factors(pruned, fold, weight, replace(recipe, seed=budget.seed), say)
    by_kinds = pruned.seconds(log_factor)
    values = pooled(train, runs, by_kinds, stack.total(rates.scaled(stack)))
    log_errors = np.log(stack.time_s / by_kinds.sum(axis=1))
    names = pooled_schema(stack.names).columns
    low, high = _box(values, names)
    # the features of the validation rows need rates, factors and similarity: a draft without
    # residual and spread computes them
    draft = Learned(
        unit,
        rates,
        factors,
        residual=None,  # type: ignore[arg-type]
        spread=None,  # type: ignore[arg-type]
        low=low,
        high=high,
        targets=frozenset(train.targets),
        memory=offsets_of(train.of(()), np.zeros(0)),  # empty
        similarity=similarity_of(
            train.graphs[name].ops for name in sorted({r.graph for r in train.rows})
        ),
    )
    watched: tuple[NDArray[np.float32], Array] | None = None
    if len(validation):
        total, held_features = draft.features(validation)
        watched = held_features, np.log(validation.values(quantity) / unit / total)
    residual, rounds = _residual(values, log_errors, weight, names, budget.seed, watched, unwatched)
    errors = _errors_across(values, log_errors, weight, names, fold, budget.seed, rounds)
    say(f"residual of graphs: {rounds} trees, {np.abs(np.expm1(errors)).mean():.1%} across parts")
    draft = replace(draft, residual=residual, spread=_spread(values, errors, names, budget.seed))
    # offsets correct what a prediction leaves over, so they read its features, and not the
    # cross-fitted ones
    total, features = draft.features_of(train, runs, pruned)
    left_over = np.log(stack.time_s / total) - residual(features)
    return replace(draft, memory=offsets_of(train, left_over))


def _factors(
    pruned: Pruned, fold: Array, weight: Array, recipe: SumRecipe, say: Say
) -> tuple[tuple[Trees, ...], Array]:
    """Return for each part trees fitted to all other parts, and the log factors of all launches.

    A launch has the factor of the trees that did not see its part.
    """
    parts = np.unique(fold).tolist()
    trees: list[Trees] = []
    log_factor = np.zeros(len(pruned.stack.row))
    for part in parts:
        is_out = fold == part
        seeded = replace(recipe, seed=recipe.seed + part)
        trees.append(BoostedTrees.of(grown(taken(pruned, ~is_out), weight[~is_out], seeded)))
        of_part = is_out[pruned.stack.row]
        log_factor[of_part] = trees[-1](pruned.stack.values[of_part])
        say(f"factors of launches, part {part + 1} of {len(parts)}")
    return tuple(trees), log_factor


def taken(pruned: Pruned, chosen: NDArray[np.bool_]) -> Pruned:
    """Return the runs that a mask selects."""
    # new number of each chosen run
    stack, number = pruned.stack, np.cumsum(chosen) - 1
    launches = chosen[stack.row]
    by_launch = {
        name: getattr(stack, name)[launches] for name in ("values", "kind", "scale_s", "floor_s")
    }
    selected = replace(
        stack,
        row=number[stack.row[launches]],
        configuration=stack.configuration[chosen],
        time_s=stack.time_s[chosen],
        **by_launch,
    )
    return Pruned(selected, pruned.rest[chosen])


def _box(values: NDArray[np.float32], names: tuple[str, ...]) -> tuple[Array, Array]:
    """Return the least and the largest value of every feature; infinite for features of machines.

    Values outside the box count as extrapolation. A new machine by itself is no extrapolation, as
    unmeasured machines have separate intervals.
    """
    of_machines = np.array([n in MACHINE_FEATURES for n in names])
    low = np.where(of_machines, -np.inf, values.min(axis=0).astype(np.float64))
    return low, np.where(of_machines, np.inf, values.max(axis=0).astype(np.float64))


def _folds(train: Measurements, validation: Measurements, parts: int, seed: int) -> Array:
    """Return the fold of each row: by family if validation holds out whole families.

    Else by architecture, as validation rows are then of other architectures.
    """
    held_families = {family(a) for a in validation.architectures}
    by_family = held_families and not held_families & {family(a) for a in train.architectures}
    groups = [family(r.architecture) if by_family else r.architecture for r in train.rows]
    dealt = fold_of(groups, parts, seed)
    return np.array([dealt[g] for g in groups])


def _residual(
    values: NDArray[np.float32],
    log_errors: Array,
    weight: Array,
    names: tuple[str, ...],
    seed: int,
    held: tuple[NDArray[np.float32], Array] | None,
    rounds: int,
) -> tuple[Trees, int]:
    """Return trees on logarithmic errors, and their number.

    The number is ``rounds``; with ``held`` rows, features and errors, it is that of their least
    error.
    """
    library = xgboost()
    matrix = library.DMatrix(values, log_errors, weight=weight, feature_names=list(names))
    options = {**RESIDUAL, "seed": seed}
    if held is None:
        return BoostedTrees.of(library.train(options, matrix, rounds)), rounds
    watched = library.DMatrix(*held, feature_names=list(names))
    booster = library.train(
        options,
        matrix,
        ROUNDS,
        evals=[(watched, "validation")],
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    best = booster.best_iteration + 1
    return BoostedTrees.of(booster[:best]), best


def _errors_across(
    values: NDArray[np.float32],
    log_errors: Array,
    weight: Array,
    names: tuple[str, ...],
    fold: Array,
    seed: int,
    rounds: int,
) -> Array:
    """Return the error of each row that is left over by a residual fitted to the other parts."""
    errors = np.zeros(len(log_errors))
    for part in np.unique(fold):
        out = fold == part
        known = values[~out], log_errors[~out], weight[~out]
        trees, _ = _residual(*known, names, seed, None, rounds)
        errors[out] = log_errors[out] - trees(values[out])
    return errors


def _spread(values: NDArray[np.float32], errors: Array, names: tuple[str, ...], seed: int) -> Trees:
    """Return trees on the logarithm of absolute errors."""
    library = xgboost()
    # a row without error has no logarithm
    matrix = library.DMatrix(values, np.log(np.abs(errors) + 1e-3), feature_names=list(names))
    return BoostedTrees.of(library.train({**SPREAD, "seed": seed}, matrix, SPREAD_ROUNDS))


def grown(pruned: Pruned, weight: Array, recipe: SumRecipe) -> Any:
    """Return trees of ``log(time / scale)`` of launches, from the pseudo-Huber loss of their sums.

    Raises:
        MissingExtraError: xgboost is not installed.
    """
    library = xgboost()
    stack, rest_s = pruned.stack, pruned.rest.sum(axis=1)
    measured = np.log(stack.time_s)

    def loss(margin: Array, _: object) -> tuple[Array, Array]:
        launch = stack.scale_s * np.exp(margin)
        total = rest_s + stack.total(launch)
        share = launch / total[stack.row]
        error = np.log(total) - measured
        # gradient and curvature of the pseudo-Huber loss, by each launch's share of its sum; leaves
        # divide by the curvature, which must not be 0
        bend = weight / np.sqrt(1 + (error / recipe.knee) ** 2)
        return (error * bend)[stack.row] * share, bend[stack.row] * share + 1e-9

    settings: Mapping[str, object] = {
        "max_depth": recipe.depth,
        "eta": recipe.learning_rate,
        "lambda": recipe.leaf_penalty,
        "min_child_weight": 0.5,
        "colsample_bytree": recipe.columns,
        "base_score": 0.0,
        "max_bin": 64,
        "seed": recipe.seed,
        "tree_method": "hist",
        "nthread": 1,
    }
    matrix = library.QuantileDMatrix(
        stack.values, stack.time_s[stack.row], feature_names=list(stack.names), max_bin=64
    )
    return library.train(dict(settings), matrix, num_boost_round=recipe.trees, obj=loss)


def offsets_of(data: Measurements, residuals: Array) -> OffsetMemory:
    """Fit offsets to rows and their residuals, ``log(measured / estimated)``.

    Offsets have levels, from general to specific; the mean of each is drawn to the level above.
    """
    sums: dict[int, list[float]] = {}
    above: dict[int, int] = {}
    for row, value in zip(data.rows, residuals.tolist(), strict=True):
        upper = 0  # above the first level, where the offset is 0
        for key in levels(data.graph(row).ops, row):
            sums.setdefault(key, []).append(value)
            above.setdefault(key, upper)
            upper = key
    offsets: dict[int, float] = {0: 0.0}
    # in this order each level follows the level above it
    for key, values in sums.items():
        offsets[key] = (sum(values) + PULL * offsets[above[key]]) / (len(values) + PULL)
    del offsets[0]
    order = sorted(offsets)
    return OffsetMemory(
        np.array(order, np.uint64), np.array([offsets[k] for k in order], np.float32)
    )


def similarity_of(graphs: Iterable[OpGraph]) -> OperatorSimilarity:
    """Return the shares of operators in each graph; graphs with equal shares are stored once."""
    counts = [operators(graph) for graph in graphs]
    words = tuple(sorted({word for of_graph in counts for word in of_graph}))
    roots = np.stack([roots_of(of_graph, words)[0] for of_graph in counts])
    return OperatorSimilarity(words, np.unique(roots, axis=0))
