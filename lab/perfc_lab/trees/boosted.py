"""Boosted trees on the logarithm of a target, by a grid of settings.

The grid is that of K. Panner Selvam's thesis, Section 6.5.3.

`predictors` grows them on features of served models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from perfc.analyzers.artefacts.forest import Forest
from perfc.ir.record import frozen
from perfc_lab.training.libraries import xgboost
from perfc_lab.training.xgboost_forest import forest_of

from .cache import NOTHING, NumberCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

UNKNOWN = -1.0
"""Number in place of NaN."""
NUMBERS = (100, 500, 1000, 2000)
"""Numbers of trees in the grid of the thesis."""


@frozen
class ForestSettings:
    """Settings of one forest.

    Args:
        rate: learning rate.
        depth: maximum depth of a tree.
        share: share of the rows that a tree is grown on.
        trees: number of trees.
        is_absolute: whether the loss is the absolute error, not the squared error.
        parallel_trees: trees that are grown in parallel in a round, whose mean is added.
        node_columns: share of the columns that a node chooses from.
    """

    rate: float = 0.1
    depth: int = 8
    share: float = 1.0
    trees: int = 2000
    is_absolute: bool = False
    parallel_trees: int = 1
    node_columns: float = 1.0

    def __str__(self) -> str:
        return f"rate {self.rate:g}, depth {self.depth}, share {self.share:g}, {self.trees} trees"


THESIS = ForestSettings()
"""The best of the thesis's grid."""
FULL_GRID = tuple(product((0.1, 0.01, 0.001), (3, 5, 8, 10, 30), (0.5, 0.75, 1.0)))
"""Learning rates, depths and shares, each of which is tried with all `NUMBERS` of trees."""
SHORT_GRID = ((0.1, 8, 1.0), (0.1, 5, 0.75), (0.1, 3, 0.5), (0.01, 8, 0.75))
"""Settings that a CPU has time for: the thesis's best, and three that regularise more."""


@frozen
class BoostedForest:
    """A trained forest, its settings, and the columns of the features that it reads."""

    booster: Any
    settings: ForestSettings
    columns: tuple[int, ...]

    def __call__(self, features: Array) -> Array:
        """Return the logarithm of the target of every row, ``[rows]``."""
        library = xgboost()
        table = known(features, self.columns)
        predicted: Array = self.booster.predict(library.DMatrix(table, feature_names=names(table)))
        return predicted.astype("float64")

    @property
    def forest(self) -> Forest:
        """Return the trees as arrays, which are written and read without xgboost."""
        return forest_of(self.booster)


def known(features: Array, columns: tuple[int, ...]) -> Array:
    """Return some columns, with ``UNKNOWN``, less than every known number, in place of NaN."""
    import numpy as np

    table: Array = np.nan_to_num(features[:, columns], nan=UNKNOWN)
    return table


def names(table: Array) -> list[str]:
    """Return the names of columns, by position."""
    return [f"c{i}" for i in range(table.shape[1])]


def grown(
    features: Array,
    logs: Array,
    settings: ForestSettings,
    columns: tuple[int, ...],
    weights: Array | None = None,
) -> BoostedForest:
    """Return a forest on rows, by errors of the logarithm.

    Args:
        features: ``[rows, columns]``; NaN if unknown.
        logs: logs of the target, ``[rows]``.
        settings: hyperparameters of the trees.
        columns: columns of the features that it reads.
        weights: how much each row counts; None for equally.
    """
    library = xgboost()
    table = known(features, columns)
    matrix = library.DMatrix(table, logs, weight=weights, feature_names=names(table))
    return BoostedForest(
        library.train(_parameters(settings), matrix, settings.trees), settings, columns
    )


def best_of(
    features: Array,
    logs: Array,
    tests: Sequence[NDArray[np.bool_]],
    grid: tuple[tuple[float, int, float], ...],
    columns: tuple[int, ...],
    cache: NumberCache = NOTHING,
    of: tuple[str, ...] = (),
) -> ForestSettings:
    """Return the settings with the least mean relative error in cross-validation.

    Args:
        features: ``[rows, columns]``.
        logs: logs of the target, ``[rows]``.
        tests: tested rows of each part.
        grid: rates, depths and shares, each of which is tried with all `NUMBERS` of trees.
        columns: columns of the features that are read.
        cache: cache of the errors.
        of: words that name these rows in the keys of the cache.
    """
    import numpy as np

    library = xgboost()
    table, count = known(features, columns), sum(int(is_test.sum()) for is_test in tests)

    def errors() -> Iterator[tuple[float, int, ForestSettings]]:
        for position, (rate, depth, share) in enumerate(grid):
            # one training with the most trees gives the errors for all numbers of trees
            most = ForestSettings(rate, depth, share, NUMBERS[-1])
            numbers = cache.numbers((*of, "choice", most), partial(by_number, most))
            for trees, error in zip(NUMBERS, numbers, strict=True):
                yield error, position, ForestSettings(rate, depth, share, trees)

    def by_number(most: ForestSettings) -> Iterator[float]:
        """Return the mean relative error with each of the `NUMBERS` of trees."""
        sums = dict.fromkeys(NUMBERS, 0.0)
        for is_test in tests:
            matrix, features = library.DMatrix(table[~is_test], logs[~is_test]), table[is_test]
            booster = library.train(_parameters(most), matrix, most.trees)
            # the first trees of a forest are the smaller forest, so that one training is enough
            for trees in NUMBERS:
                predicted = booster.predict(library.DMatrix(features), iteration_range=(0, trees))
                sums[trees] += float(np.abs(np.expm1(predicted - logs[is_test])).sum())
        return (sums[trees] / count for trees in NUMBERS)

    # of equal errors the setting that comes first in the grid
    _, _, best = min(errors(), key=itemgetter(0, 1))
    return best


def _parameters(settings: ForestSettings) -> dict[str, object]:
    """Return settings under XGBoost's names; the number of trees is an argument of `train`."""
    return {
        "eta": settings.rate,
        "max_depth": settings.depth,
        "subsample": settings.share,
        "objective": "reg:absoluteerror" if settings.is_absolute else "reg:squarederror",
        "num_parallel_tree": settings.parallel_trees,
        "colsample_bynode": settings.node_columns,
        "tree_method": "hist",
        "seed": 0,
        "nthread": 1,
    }
