"""Factors of launches learned from the times of whole steps, through their sum.

A step is ``T = Σ times · scale · multiplier(kind) · exp(forest(features))``; only T is measured.
First the multipliers: non-negative least squares on relative errors, reweighted towards absolute
ones. Then trees: of a step's loss in ``r = log(T / measured)``, each launch gets the share it has
in T, so that its gradient is ``ψ(r) · share``. The Hessian of the sum is bounded by its diagonal
with the same share (the rows of ``w wᵀ`` sum to ``w``), so a leaf's Newton step is the
share-weighted mean of ψ. Source: Friedman 2001, gradient boosting; Franc, Hlaváč and Navara 2005,
coordinate descent for non-negative least squares; the bound is Gershgorin's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.ir.record import frozen
from perfc.machine import load_machine

from ...artefacts.forest import Forest
from ...features.rows import DataError
from ...features.sheet import Sheet
from ...steps.features import ROLE, tabulate
from ...steps.launch_kind import LaunchKind
from ...tables.timm import StepRow
from ..libraries import xgboost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...features.classes import Array

LEAST_MULTIPLIER = 0.1
REWEIGHTINGS = 4
SWEEPS = 2000
LEAST_ERROR = 0.05
"""Relative error below which reweighting stops caring."""

Kin = tuple[str, ...]


@frozen
class SumRecipe:
    """How factors are learned.

    Args:
        trees: of the forest.
        depth: of each.
        learning_rate: shrinkage.
        columns: share of features a tree sees.
        leaf_penalty: L2, in steps.
        knee: of the pseudo-Huber loss in ``log(T / measured)``.
        ridge: pull of a setting's multipliers towards those of all.
        spread_trees: of the spread, four levels deep.
        folds: that residuals for calibration come from.
        least_share: of a step's scale; launches below it are learned from together.
        likens: whether a step is corrected by what steps of like launches were off.
    """

    trees: int = 400
    depth: int = 6
    learning_rate: float = 0.15
    columns: float = 0.5
    leaf_penalty: float = 2.0
    knee: float = 0.15
    ridge: float = 0.3
    spread_trees: int = 60
    folds: int = 3
    seed: int = 0
    least_share: float = 0.0
    likens: bool = False


@dataclass(frozen=True, eq=False)
class SumStack:
    """Launches of several steps as one table.

    Args:
        names: of the features.
        values: ``[launches, features]``.
        kind: of each launch, a number.
        scale_s: of each launch, its repetitions included.
        floor_s: likewise.
        row: index of the step it belongs to.
        kin: of every step the index of its machine, precision and way among ``known``.
        known: those.
        time_s: of every step.
    """

    names: tuple[str, ...]
    values: NDArray[np.float32]
    kind: NDArray[np.int64]
    scale_s: Array
    floor_s: Array
    row: NDArray[np.int64]
    kin: NDArray[np.int64]
    known: tuple[Kin, ...]
    time_s: Array

    def __len__(self) -> int:
        return len(self.time_s)

    def total(self, per_launch: Array) -> Array:
        """Sums by step."""
        return np.bincount(self.row, per_launch, len(self)).astype(np.float64)

    def means(self, share: Array) -> Array:
        """Of the features of each step's launches, weighted by shares, ``[steps, features]``."""
        return np.stack([self.total(share * column) for column in self.values.T], axis=1)

    def take(self, chosen: NDArray[np.bool_]) -> SumStack:
        """The steps of a mask."""
        launches = chosen[self.row]
        place = np.cumsum(chosen) - 1
        return SumStack(
            self.names, self.values[launches], self.kind[launches], self.scale_s[launches],
            self.floor_s[launches], place[self.row[launches]], self.kin[chosen], self.known,
            self.time_s[chosen],
        )  # fmt: skip

    def thinned(self, least_share: float) -> SumStack:
        """Launches below a share of their step's scale as one of each kind and role.

        It has the sum of their scales, and the mean of their features weighted by them.
        """
        small = self.scale_s < least_share * self.total(self.scale_s)[self.row]
        if not small.any():
            return self
        alike = [self.row[small], self.kind[small]]
        if ROLE in self.names:
            alike.append(self.values[small, self.names.index(ROLE)].astype(np.int64))
        merged, back = np.unique(np.stack(alike), axis=1, return_inverse=True)
        back, weight = back.reshape(-1), self.scale_s[small]
        scale_s = np.bincount(back, weight)
        means = [np.bincount(back, weight * column) / scale_s for column in self.values[small].T]
        return SumStack(
            self.names,
            np.concatenate([self.values[~small], np.stack(means, axis=1).astype(np.float32)]),
            np.concatenate([self.kind[~small], merged[1]]),
            np.concatenate([self.scale_s[~small], scale_s]),
            np.concatenate([self.floor_s[~small], np.bincount(back, self.floor_s[small])]),
            np.concatenate([self.row[~small], merged[0]]),
            self.kin,
            self.known,
            self.time_s,
        )


def stacked(rows: Sequence[StepRow]) -> SumStack:
    """Steps as one table.

    Raises:
        DataError: there are none.
    """
    if not rows:
        raise DataError("no steps to learn from")
    sheets = {name: Sheet(load_machine(name)) for name in {r.target for r in rows}}
    kins = [kin_of(r) for r in rows]
    known = tuple(sorted(set(kins)))
    values, kind, scale_s, floor_s, index = [], [], [], [], []
    names: tuple[str, ...] = ()
    for i, row in enumerate(rows):
        columns = row.columns.at(row.batch)
        table = tabulate(columns, row.setting, sheets[row.target])
        names = table.names
        values.append(table.values)
        kind.append(columns.kind.astype(np.int64))
        scale_s.append(table.scale_s * columns.times)
        floor_s.append(table.floor_s * columns.times)
        index.append(np.full(len(columns), i))
    place = {k: i for i, k in enumerate(known)}
    return SumStack(
        names,
        np.concatenate(values),
        np.concatenate(kind),
        np.concatenate(scale_s),
        np.concatenate(floor_s),
        np.concatenate(index),
        np.array([place[k] for k in kins]),
        known,
        np.array([r.time_s for r in rows]),
    )


def kin_of(row: StepRow) -> Kin:
    """Machine, precision and way of running."""
    return row.target, row.setting.precision.value, row.setting.way


@dataclass(frozen=True, eq=False)
class SumModel:
    """What was learned of sums.

    Args:
        multipliers: ``[kin, kinds]``.
        booster: of the forest, as trained.
    """

    multipliers: Array
    booster: Any

    def launch_s(self, stack: SumStack) -> Array:
        """Time of every launch, at least its floor."""
        matrix = xgboost().DMatrix(stack.values, feature_names=list(stack.names), nthread=1)
        factor = np.exp(self.booster.predict(matrix, output_margin=True).astype(np.float64))
        scale_s = stack.scale_s * self.multipliers[stack.kin[stack.row], stack.kind]
        found: Array = np.maximum(scale_s * factor, stack.floor_s)
        return found

    def forest(self) -> Forest:
        """The forest for NumPy."""
        return Forest.from_xgboost(self.booster)


def learn(stack: SumStack, recipe: SumRecipe) -> SumModel:
    """Multipliers, then trees.

    Raises:
        MissingExtraError: xgboost is not installed.
    """
    stack = stack.thinned(recipe.least_share)
    table = multipliers(stack, recipe)
    scale_s = stack.scale_s * table[stack.kin[stack.row], stack.kind]
    return SumModel(table, boost(stack, scale_s, recipe))


def multipliers(stack: SumStack, recipe: SumRecipe) -> Array:
    """What launches of each kind take of their scale, by machine, precision and way of running.

    Each is pulled towards the multipliers of all rows, those towards 1.
    """
    kinds = len(LaunchKind)
    scale = np.zeros((len(stack), kinds))
    np.add.at(scale, (stack.row, stack.kind), stack.scale_s)
    share = scale / stack.time_s[:, None]
    shared = _reweighted(share, np.ones(kinds), recipe.ridge)
    found = np.ones((len(stack.known), kinds))
    present = sorted(set(stack.kin.tolist()))
    for i in present:
        mine = _reweighted(share[stack.kin == i], shared, recipe.ridge)
        found[i] = np.maximum(mine, LEAST_MULTIPLIER)
    # what nobody measured is predicted as the mean of the others, so it is tested as that
    absent = [i for i in range(len(stack.known)) if i not in present]
    found[absent] = np.exp(np.log(found[present]).mean(axis=0))
    return found


def _reweighted(share: Array, centre: Array, ridge: float) -> Array:
    """``share · μ ≈ 1``, μ not negative, near ``centre`` where the data say little."""
    weight = np.ones(len(share))
    found = centre
    for _ in range(REWEIGHTINGS):
        pull = np.maximum(ridge**2 * (share**2).sum(axis=0) * weight.mean(), ridge**2)
        heavy = share * weight[:, None]
        found = non_negative(heavy.T @ share + np.diag(pull), heavy.sum(axis=0) + pull * centre)
        weight = 1 / np.maximum(np.abs(share @ found - 1), LEAST_ERROR)
    return found


def non_negative(matrix: Array, vector: Array) -> Array:
    """The ``x`` without negative elements that makes ``½ x·matrix·x − vector·x`` least.

    Coordinate descent; ``matrix`` is symmetric and its diagonal positive.
    """
    x: Array = np.maximum(vector / np.diag(matrix), 0.0) / len(vector)
    for _ in range(SWEEPS):
        before = x.copy()
        for i in range(len(x)):
            x[i] = max(x[i] + (vector[i] - matrix[i] @ x) / matrix[i, i], 0.0)
        if np.abs(x - before).max() <= 1e-6 * np.abs(x).max():
            break
    return x


def boost(stack: SumStack, scale_s: Array, recipe: SumRecipe) -> Any:
    """Trees of ``log(time / scale)`` of launches, from the loss of their sums."""
    measured = np.log(stack.time_s)

    def loss(margin: Array, _: object) -> tuple[Array, Array]:
        launch_s = scale_s * np.exp(margin)
        total = stack.total(launch_s)
        share = launch_s / total[stack.row]
        error = np.log(total) - measured
        bend = 1 / np.sqrt(1 + (error / recipe.knee) ** 2)
        return (error * bend)[stack.row] * share, bend[stack.row] * share + 1e-9

    settings = {
        "max_depth": recipe.depth,
        "eta": recipe.learning_rate,
        "lambda": recipe.leaf_penalty,
        "colsample_bytree": recipe.columns,
        "base_score": 0.0,
        "max_bin": 64,
        "seed": recipe.seed,
    }
    return _trained(stack, settings, recipe.trees, loss)


def spread_of(stack: SumStack, share: Array, residual: Array, recipe: SumRecipe) -> Any:
    """Trees whose share-weighted mean over a step is the log of its expected error."""
    wanted = np.log(np.abs(residual) + 1e-3)
    settings = {"max_depth": 4, "eta": 0.15, "min_child_weight": 20.0, "max_bin": 64}
    library = xgboost()
    matrix = library.QuantileDMatrix(
        stack.values, wanted[stack.row], weight=share, feature_names=list(stack.names),
        max_bin=64, nthread=1,
    )  # fmt: skip
    options = {"tree_method": "hist", "nthread": 1, "seed": recipe.seed, **settings}
    return library.train(options, matrix, num_boost_round=recipe.spread_trees)


def _trained(stack: SumStack, settings: Mapping[str, object], trees: int, loss: Any) -> Any:
    library = xgboost()
    matrix = library.QuantileDMatrix(
        stack.values, stack.time_s[stack.row], feature_names=list(stack.names),
        max_bin=64, nthread=1,
    )  # fmt: skip
    options = {"tree_method": "hist", "nthread": 1, **settings}
    return library.train(options, matrix, num_boost_round=trees, obj=loss)
