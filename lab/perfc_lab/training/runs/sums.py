"""Factors of launches, fitted to the times of whole runs, which are sums over their launches.

A run is ``T = Σ times · scale · multiplier(kind)``; only T is measured. The multipliers minimize
the squares of relative errors and are not negative; reweighting turns squares into absolute values.
Source: Franc, Hlaváč and Navara 2005, coordinate descent for non-negative least squares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.steps.launch_stack import SumStack
from perfc.ir.record import frozen

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

LEAST_MULTIPLIER = 0.1
"""Minimum multiplier of a configuration, so that none makes launches free."""
REWEIGHTINGS = 4
"""Rounds of reweighting. Each comes nearer to the least absolute errors and none reaches them, so
that the rounds are limited; there is no test of convergence."""
SWEEPS = 2000
"""Maximum sweeps of coordinate descent, which ends earlier when nothing changes."""
LEAST_ERROR = 0.05
"""Relative error below which all rows have the same weight, as an inverse has no limit."""


@frozen
class SumRecipe:
    """Settings of both fits of the factors of launches.

    ``ridge`` is for the multipliers by kind, which are fitted here. All other settings are for the
    trees that give each launch a further factor by its features (`residual_fit.grown`).

    Args:
        trees: number of trees of the forest.
        depth: maximum depth of a tree.
        learning_rate: share of its prediction that each tree adds.
        columns: share of the features that a tree sees.
        leaf_penalty: L2 penalty of the values of leaves.
        knee: error ``log(T / measured)`` beyond which the pseudo-Huber loss grows linearly.
        ridge: strength with which a configuration's multipliers are drawn to those of all rows.
        seed: random seed of the trees.
    """

    trees: int = 400
    depth: int = 6
    learning_rate: float = 0.15
    columns: float = 0.5
    leaf_penalty: float = 2.0
    knee: float = 0.15
    ridge: float = 0.3
    seed: int = 0


def multipliers(stack: SumStack, recipe: SumRecipe) -> Array:
    """Return the multipliers, ``[configurations, kinds]``, in the order of ``stack.known``.

    A configuration is a machine, a precision and a way of running. Its multipliers are drawn
    towards those of all rows, which are drawn towards 1.
    """
    kinds = len(LaunchKind)
    scale = np.zeros((len(stack), kinds))
    np.add.at(scale, (stack.row, stack.kind), stack.scale_s)
    share = scale / stack.time_s[:, None]
    shared = _reweighted(share, np.ones(kinds), recipe.ridge)
    result = np.ones((len(stack.known), kinds))
    present = sorted(set(stack.configuration.tolist()))
    for i in present:
        fitted = _reweighted(share[stack.configuration == i], shared, recipe.ridge)
        result[i] = np.maximum(fitted, LEAST_MULTIPLIER)
    # A configuration without rows gets the geometric mean of those with rows. `KindRates.of` uses a
    # geometric mean too when it predicts, but only of the most similar configurations.
    absent = [i for i in range(len(stack.known)) if i not in present]
    result[absent] = np.exp(np.log(result[present]).mean(axis=0))
    return result


def _reweighted(share: Array, centre: Array, ridge: float) -> Array:
    """Return the non-negative μ with ``share · μ ≈ 1``, near ``centre`` if data are few."""
    weight = np.ones(len(share))
    current = centre
    for _ in range(REWEIGHTINGS):
        # in proportion to the data, so that ``ridge`` is relative; a kind that hardly occurs keeps
        # ``centre``
        pull = np.maximum(ridge**2 * (share**2).sum(axis=0) * weight.mean(), ridge**2)
        heavy = share * weight[:, None]
        current = non_negative(heavy.T @ share + np.diag(pull), heavy.sum(axis=0) + pull * centre)
        # a weight of 1 / error turns a squared error into an absolute error
        weight = 1 / np.maximum(np.abs(share @ current - 1), LEAST_ERROR)
    return current


def non_negative(matrix: Array, vector: Array) -> Array:
    """Return the ``x`` without negative elements that makes ``½ x·matrix·x − vector·x`` least.

    Coordinate descent; ``matrix`` is symmetric and its diagonal positive.
    """
    # start: each element as if it were alone, divided among all
    x: Array = np.maximum(vector / np.diag(matrix), 0.0) / len(vector)
    for _ in range(SWEEPS):
        before = x.copy()
        for i in range(len(x)):
            x[i] = max(x[i] + (vector[i] - matrix[i] @ x) / matrix[i, i], 0.0)
        if np.abs(x - before).max() <= 1e-6 * np.abs(x).max():
            break
    return x
