"""GBoost, a baseline of TraPPM: deep boosted trees on six static features of the graph.

Panner Selvam and Brorsson, NeurIPS 2023 workshop, Appendix A.4; thesis, Section 5.5.5.1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.graph.schema import Schema
from perfc.errors import PerfcError
from perfc.ir.record import frozen
from perfc_lab.training.xgboost_forest import ForestPredictor, forest_of

from ..training.libraries import xgboost
from .networks.row_features import ROW, row_features
from .static_features import STATIC, static_features

FEATURES = Schema("GBoost", (*STATIC.columns, *ROW.columns))
"""TraPPM's six features, and those of machine and setting, of which the paper has only one."""
LEAST_TREES = 50
"""Minimum trees of a scaled-down training."""
GRID = "grid"
"""Name of the variant that searches the settings."""


@frozen
class TreeSetting:
    """A setting of the paper's grid; by default the best one in the paper.

    Args:
        trees: number of trees.
        learning_rate: learning rate of each tree.
        depth: maximum depth of a tree.
        rows: share of the rows that a tree sees.
        columns: share of the features that a tree sees.
    """

    trees: int = 2000
    learning_rate: float = 1e-3
    depth: int = 50
    rows: float = 1.0
    columns: float = 1.0

    def parameters(self, seed: int) -> Mapping[str, Any]:
        """Return the parameters under XGBoost's names."""
        return {
            "eta": self.learning_rate,
            "max_depth": self.depth,
            "subsample": self.rows,
            "colsample_bytree": self.columns,
            "objective": "reg:squarederror",
            "seed": seed,
            "nthread": 1,
        }


def grid() -> Iterator[TreeSetting]:
    """Yield all 162 settings of the paper's search."""
    shares = (0.5, 0.75, 1.0)
    for values in product((500, 1000, 2000), (1e-3, 1e-4), (10, 30, 50), shares, shares):
        yield TreeSetting(*values)


class GBoost(ForestPredictor):
    """XGBoost on the logarithm of the quantity, with the best setting of the paper's grid.

    The scale of a budget multiplies the number of trees, and divides their learning rate. The
    variant ``grid`` tries the paper's settings on the validation rows until the time is over.
    """

    name: ClassVar[str] = "gboost"
    title: ClassVar[str] = "GBoost (baseline of TraPPM, 2023)"
    variants: ClassVar[tuple[str, ...]] = (GRID,)
    schema = FEATURES

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.setting = TreeSetting()

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Train the forest of the setting, or of the grid's best one, without early stopping."""
        start, best = time.process_time(), float("inf")
        for setting in grid() if self.variant == GRID else (self.setting,):
            # the first setting is trained even without time, so that there is a forest
            if self.forest is not None and time.process_time() - start > budget.limit_s:
                break
            forest = self._boosted(train, setting, budget)
            error = _error(forest, validation, self.quantity)
            if self.forest is None or error < best:
                self.forest, self.setting, best = forest, setting, error
        say(f"{self.name}: {self.setting}, validation {best:.1%}")

    def _boosted(self, train: Measurements, setting: TreeSetting, budget: TrainingBudget) -> Forest:
        """Return the forest of one setting, with its trees times the scale of the budget."""
        library = xgboost()
        target = np.log(train.values(self.quantity))
        names = list(FEATURES.columns)
        trees = max(round(setting.trees * budget.scale), LEAST_TREES)
        parameters = dict(setting.parameters(budget.seed))
        # fewer trees have a larger learning rate, so that their sum is about the same
        parameters["eta"] *= setting.trees / trees
        matrix = library.DMatrix(features(train), target, feature_names=names)
        return forest_of(library.train(parameters, matrix, trees))

    def predict(self, data: Measurements) -> Array:
        """Return the predicted quantity of every row."""
        if self.forest is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        predicted: Array = np.exp(self.forest(features(data)))
        return predicted


def features(data: Measurements) -> NDArray[np.float32]:
    """Return the features of all rows, ``[rows, features]``."""
    rows = [
        [*static_features(data.graph(r), float(r.batch)), *row_features(data, r)] for r in data.rows
    ]
    return np.array(rows, np.float32).reshape(len(rows), len(FEATURES))


def _error(forest: Forest, data: Measurements, quantity: Quantity) -> float:
    """Return the mean absolute relative error; infinity without rows."""
    if not len(data):
        return float("inf")
    return float(np.abs(np.exp(forest(features(data))) / data.values(quantity) - 1).mean())


PREDICTOR = GBoost
