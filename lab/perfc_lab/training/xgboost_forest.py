"""Convert forests of xgboost to arrays, so that perfc evaluates them without it.

Also the base class of graph predictors that are one forest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.analyzers.artefacts.forest import LEAF_STEP, Forest, leaf_steps
from perfc.analyzers.graph.predictor import GraphPredictor
from perfc.analyzers.graph.schema import Schema
from perfc.errors import PerfcError

from .libraries import xgboost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array


class ForestPredictor(GraphPredictor):
    """A predictor that is one forest; ``schema`` describes its features."""

    schema: Schema
    forest: Forest | None = None

    def arrays(self) -> Mapping[str, Array]:
        """Return the arrays of the forest; none before training."""
        return {} if self.forest is None else self.forest.arrays()

    def meta(self) -> Mapping[str, Any]:
        """Return the schema and the constant of the forest."""
        base = 0.0 if self.forest is None else self.forest.base
        return {"schema": self.schema.digest, "constant": base}

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore a forest of the same features."""
        if meta["schema"] != self.schema.digest:
            raise PerfcError(f"weights of {self.name} read other features", hint="train it again")
        self.forest = Forest.from_arrays(self.schema.columns, dict(arrays), meta["constant"])


RANDOM_FOREST: Mapping[str, Any] = {
    "learning_rate": 1.0,
    "subsample": 0.63,
    "colsample_bynode": 0.6,
    "lambda": 0.0,
    "objective": "reg:squarederror",
    "nthread": 1,
}
"""A random forest in XGBoost's terms: one round of trees side by side, at full rate.

A tree sees 0.63 of the rows, the share of distinct rows in a bootstrap sample, 1 − 1/e. A leaf has
the mean of its rows, as without ``lambda`` nothing draws it to 0.
"""


def random_forest(
    features: NDArray[Any], target: Array, names: Sequence[str], **changes: int
) -> Forest:
    """Train a random forest.

    Args:
        features: ``[rows, features]``.
        target: ``[rows]``.
        names: names of the features.
        changes: further parameters of XGBoost: number and depth of trees, seed.
    """
    library = xgboost()
    matrix = library.DMatrix(features, target, feature_names=list(names))
    return forest_of(library.train({**RANDOM_FOREST, **changes}, matrix, 1))


def forest_of(booster: Any) -> Forest:
    """Return the trees of a trained ``xgboost.Booster`` with named features and no missing values.

    Leaves are rounded here already, so that what is scored is what is written.
    """
    model = json.loads(bytes(booster.save_raw("json")))["learner"]
    shape = model["learner_model_param"]
    # a number, or a list of one, as the version of xgboost has it
    base = float(str(shape["base_score"]).strip("[]"))
    feature: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    roots: list[int] = []
    for tree in model["gradient_booster"]["model"]["trees"]:
        roots.append(len(feature))
        _append(tree, feature, threshold, left)
    rounded = np.array(threshold, np.float32)
    is_leaf = np.array(feature) < 0
    rounded[is_leaf] = leaf_steps(rounded[is_leaf]) * LEAF_STEP
    return Forest(
        tuple(booster.feature_names or ()),
        np.array(feature, np.int16),
        rounded,
        np.array(left, np.int32),
        np.array(roots, np.int32),
        base,
    )


def _append(
    tree: Mapping[str, Any], feature: list[int], threshold: list[float], left: list[int]
) -> None:
    """Append one tree in breadth-first order, so that siblings are neighbours."""
    lefts, rights = tree["left_children"], tree["right_children"]
    split, condition = tree["split_indices"], tree["split_conditions"]
    start = len(feature)
    order = [0]
    for node in order:
        # a leaf has its value in place of a threshold
        if lefts[node] < 0:
            feature.append(-1)
            left.append(0)
        else:
            feature.append(split[node])
            left.append(start + len(order))
            order += (lefts[node], rights[node])
        threshold.append(condition[node])


def midway(forest: Forest, table: NDArray[np.float32]) -> Forest:
    """Return a forest with each threshold midway between the two values of ``table`` around it.

    XGBoost cuts at the upper value. A machine whose number is just below that value would then fall
    on the side of the lower value, however far that is. Rows of ``table`` fall as before.
    """
    threshold = forest.threshold.copy()
    for index in range(len(forest.names)):
        nodes = np.flatnonzero(forest.feature == index)
        values = np.unique(table[:, index]) if len(nodes) else table[:0, index]
        # position of the first value at the cut or above; cuts beyond all values stay
        above = np.searchsorted(values, threshold[nodes])
        inside = (above > 0) & (above < len(values))
        low, high = values[above[inside] - 1], values[above[inside]]
        middle = low + (high - low) / 2
        # neighbours in float32 have no number between them
        threshold[nodes[inside]] = np.where(middle > low, middle, high)
    return replace(forest, threshold=threshold)
