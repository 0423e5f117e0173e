"""Learns the parts of a physics residual: multipliers, factors of launches, a residual, a spread.

Sums are cross-fitted: the residual is learned from graphs that the factors were not learned from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..artefacts.forest import Forest
from ..graph.predictor import Budget, Say
from ..graph.rows import Measurements, Quantity
from ..steps.predict import walked
from ..tables.architectures import family, fold_of
from ..training.libraries import xgboost
from ..training.runs.sums import SumRecipe
from .kernel_sums import KindRates, Pruned, RunTable, effective_sheet, grown, tabulated_runs
from .kinship import Kinship
from .memory import Memory
from .pooled import pooled, pooled_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

PARTS = 3
RECIPE = SumRecipe(trees=250, depth=7, knee=0.1)
TRAINING_WEIGHT = 3.0
"""Of a training step, of which far fewer are measured."""
RESIDUAL: Mapping[str, object] = {
    "max_depth": 12, "eta": 0.05, "min_child_weight": 10.0, "subsample": 0.7, "lambda": 5.0,
    "colsample_bytree": 0.4, "objective": "reg:absoluteerror", "tree_method": "hist",
    "nthread": 1, "max_bin": 32,
}  # fmt: skip
ROUNDS, PATIENCE = 600, 40
UNWATCHED = 100
"""Trees where no rows are kept for stopping early."""
SPREAD: Mapping[str, object] = {
    "max_depth": 4, "eta": 0.1, "min_child_weight": 20.0, "colsample_bytree": 0.5,
    "tree_method": "hist", "nthread": 1, "max_bin": 64,
}  # fmt: skip
SPREAD_ROUNDS = 60
MACHINE_FEATURES = frozenset(
    {"mean_device_tb_per_s", "mean_ridge_flop_per_byte", "mean_sm_count", "mean_version"}
)
"""Pooled features that a machine and its framework decide alone."""


@dataclass(eq=False)
class Trees:
    """A forest, and the booster it was read from where it was trained here, which is faster."""

    forest: Forest
    booster: Any = None

    @classmethod
    def of(cls, booster: Any) -> Trees:
        """Of what was trained."""
        return cls(Forest.from_xgboost(booster), booster)

    def __call__(self, values: NDArray[np.float32]) -> Array:
        """The sum for every row."""
        if self.booster is None or len(values) < 10_000:
            return walked(self.forest, values)
        matrix = xgboost().DMatrix(values, feature_names=list(self.forest.names))
        return np.asarray(self.booster.predict(matrix, output_margin=True), np.float64)


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything that was learned.

    Args:
        unit: of the quantity, a second's worth; 1 for times.
        rates: multipliers of kinds.
        factors: of launches, one for each part.
        residual: of graphs.
        spread: logarithm of the expected error.
        low: least of each pooled feature.
        high: largest.
        targets: machines it was learned on.
        memory: of graphs that were measured.
        kinship: what these are built like.
    """

    unit: float
    rates: KindRates
    factors: tuple[Trees, ...]
    residual: Trees
    spread: Trees
    low: Array
    high: Array
    targets: frozenset[str]
    memory: Memory
    kinship: Kinship

    @property
    def modes(self) -> frozenset[str]:
        """Ways of running it was learned on."""
        return frozenset(kin.mode for kin in self.rates.known)

    def sums(self, pruned: Pruned) -> Array:
        """Seconds by kind with the mean factor of all parts, ``[runs, kinds]``."""
        factors = [one(pruned.stack.values) for one in self.factors]
        return pruned.seconds(np.mean(factors, axis=0))

    def features(self, data: Measurements) -> tuple[Array, NDArray[np.float32]]:
        """Sum of every run, and its pooled features."""
        runs = tabulated_runs(data, np.ones(len(data)), effective_sheet)
        return self.features_of(data, runs, Pruned.of(runs.stack, self.rates))

    def features_of(
        self, data: Measurements, runs: RunTable, pruned: Pruned
    ) -> tuple[Array, NDArray[np.float32]]:
        """The same from the launches of the runs."""
        by_kinds = self.sums(pruned)
        plain = runs.stack.total(self.rates.scaled(runs.stack))
        return by_kinds.sum(axis=1), pooled(data, runs, by_kinds, plain)


def fitted(
    train: Measurements,
    validation: Measurements,
    quantity: Quantity,
    budget: Budget,
    recipe: SumRecipe,
    say: Say,
    parts: int = PARTS,
    unwatched: int = UNWATCHED,
) -> Learned:
    """Learn from rows; a smaller recipe with fewer parts for machines left out.

    Args:
        train: rows.
        validation: rows that stop the residual; may be none.
        quantity: what is learned.
        budget: its seed.
        recipe: of the trees of launches.
        say: is told how far it is.
        parts: of the cross-fit.
        unwatched: trees of the residual where no rows stop it.
    """
    runs = tabulated_runs(train, train.values(quantity), effective_sheet)
    unit = 1.0
    if quantity is not Quantity.TIME:
        unit = float(np.median(runs.stack.time_s / runs.stack.total(runs.stack.scale_s)))
        stack = replace(runs.stack, time_s=runs.stack.time_s / unit)
        runs = RunTable(stack, runs.times)
    stack = runs.stack
    rates = KindRates.learned(stack, recipe)
    pruned = Pruned.of(stack, rates)
    weight = np.array([TRAINING_WEIGHT if r.setting.training else 1.0 for r in train.rows])
    fold = _folds(train, validation, parts, budget.seed)
    factors, log_factor = _factors(
        pruned, fold, weight, replace(recipe, seed=budget.seed), say
    )  # fmt: skip
    by_kinds = pruned.seconds(log_factor)
    values = pooled(train, runs, by_kinds, stack.total(rates.scaled(stack)))
    wrong = np.log(stack.time_s / by_kinds.sum(axis=1))
    names = pooled_schema(stack.names).columns
    draft = Learned(
        unit, rates, factors, None, None, *_box(values, names),  # type: ignore[arg-type]
        frozenset(train.targets), Memory.learned(train.of(()), np.zeros(0)),
        Kinship.learned(train.graphs[name].ops for name in sorted({r.graph for r in train.rows})),
    )  # fmt: skip
    watched: tuple[NDArray[np.float32], Array] | None = None
    if len(validation):
        total, held = draft.features(validation)
        watched = held, np.log(validation.values(quantity) / unit / total)
    residual, rounds = _residual(values, wrong, weight, names, budget.seed, watched, unwatched)
    left = _left(values, wrong, weight, names, fold, budget.seed, rounds)
    say(f"residual of graphs: {rounds} trees, {np.abs(np.expm1(left)).mean():.1%} across parts")
    draft = replace(draft, residual=residual, spread=_spread(values, left, names, budget.seed))
    total, seen = draft.features_of(train, runs, pruned)
    rest = np.log(stack.time_s / total) - residual(seen)
    return replace(draft, memory=Memory.learned(train, rest))


def _factors(
    pruned: Pruned, fold: Array, weight: Array, recipe: SumRecipe, say: Say
) -> tuple[tuple[Trees, ...], Array]:
    """Trees of each part's others, and what they say of the launches of the part."""
    parts = np.unique(fold).tolist()
    found: list[Trees] = []
    log_factor = np.zeros(len(pruned.stack.row))
    for one in parts:
        out = fold == one
        seeded = replace(recipe, seed=recipe.seed + one)
        found.append(Trees.of(grown(pruned.take(~out), weight[~out], seeded)))
        mine = out[pruned.stack.row]
        log_factor[mine] = found[-1](pruned.stack.values[mine])
        say(f"factors of launches, part {one + 1} of {len(parts)}")
    return tuple(found), log_factor


def _box(values: NDArray[np.float32], names: tuple[str, ...]) -> tuple[Array, Array]:
    """Range of every feature of graphs; none of those of machines, whose bands are their own."""
    of_machines = np.array([n in MACHINE_FEATURES for n in names])
    low = np.where(of_machines, -np.inf, values.min(axis=0).astype(np.float64))
    return low, np.where(of_machines, np.inf, values.max(axis=0).astype(np.float64))


def _folds(train: Measurements, validation: Measurements, parts: int, seed: int) -> Array:
    """By family where validation shares none with what is trained on, else by architecture."""
    held = {family(a) for a in validation.architectures}
    apart = held and not held & {family(a) for a in train.architectures}
    groups = [family(r.architecture) if apart else r.architecture for r in train.rows]
    dealt = fold_of(groups, parts, seed)
    return np.array([dealt[g] for g in groups])


def _residual(
    values: NDArray[np.float32],
    wrong: Array,
    weight: Array,
    names: tuple[str, ...],
    seed: int,
    held: tuple[NDArray[np.float32], Array] | None,
    rounds: int,
) -> tuple[Trees, int]:
    library = xgboost()
    matrix = library.DMatrix(values, wrong, weight=weight, feature_names=list(names))
    options = {**RESIDUAL, "seed": seed}
    if held is None:
        return Trees.of(library.train(options, matrix, rounds)), rounds
    watched = library.DMatrix(*held, feature_names=list(names))
    found = library.train(
        options, matrix, ROUNDS, evals=[(watched, "validation")],
        early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip
    best = found.best_iteration + 1
    return Trees.of(found[:best]), best


def _left(
    values: NDArray[np.float32],
    wrong: Array,
    weight: Array,
    names: tuple[str, ...],
    fold: Array,
    seed: int,
    rounds: int,
) -> Array:
    """What the residual of each part's others leaves of the part."""
    left = np.zeros(len(wrong))
    for one in np.unique(fold):
        out = fold == one
        part, _ = _residual(values[~out], wrong[~out], weight[~out], names, seed, None, rounds)
        left[out] = wrong[out] - part(values[out])
    return left


def _spread(values: NDArray[np.float32], left: Array, names: tuple[str, ...], seed: int) -> Trees:
    library = xgboost()
    matrix = library.DMatrix(values, np.log(np.abs(left) + 1e-3), feature_names=list(names))
    return Trees.of(library.train({**SPREAD, "seed": seed}, matrix, SPREAD_ROUNDS))
