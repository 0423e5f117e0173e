"""What is learned of whole runs: factors of their kernels, and what a run takes beyond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.runs.run_process import FORM, tabulated
from perfc.ir.record import frozen

from ..libraries import xgboost
from ..process_fit import ProcessRecipe, fitted_process
from ..xgboost_forest import forest_of
from .run_stack import RunStack, sums_of
from .sums import SumRecipe, boost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array
    from perfc.analyzers.features.process import Process, RowPositions


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
        process: how what like runs took is learned.
    """

    factors: SumRecipe = field(
        default_factory=lambda: SumRecipe(trees=150, depth=6, learning_rate=0.1, knee=0.1)
    )
    parts: int = 3
    folds: int = 5
    rounds: int = 200
    depth: int = 7
    learning_rate: float = 0.06
    process: ProcessRecipe = ProcessRecipe()
    seed: int = 0


@dataclass(frozen=True, eq=False)
class RunForests:
    """What was learned of runs.

    Args:
        factor: of kernels.
        residual: of runs, beyond kernels with their factors.
        process: of runs, beyond their kernels' estimates.
    """

    factor: Forest
    residual: Forest
    process: Process

    def wrong(self, stack: RunStack) -> Array:
        """Return residuals on measured machines by the process and by forests, ``[runs, 2]``."""
        sums_s = sums_of(self.factor, stack.launches)
        forests = np.log(sums_s) + self.residual(stack.with_sums(sums_s))
        process = np.log(stack.kernels_s) + self.process.beyond(places_of(stack))
        return np.log(stack.launches.time_s)[:, None] - np.stack([process, forests], 1)

    def deviation(self, stack: RunStack) -> Array:
        """Of runs from what the process expects of them, ``[runs]``."""
        return self.process.deviation(places_of(stack))


def places_of(stack: RunStack) -> RowPositions:
    """Where runs stand of whose graphs none is known."""
    return tabulated(stack.values, stack.names, stack.kernels_s)


def factors(stack: RunStack, recipe: RuntimeRecipe) -> tuple[Forest, Array]:
    """Factors of kernels, and the sum of each run by factors that have not seen its graph.

    What is predicted by is the mean of all parts.
    """
    part = stack.dealt(recipe.parts, recipe.seed + 1)
    sums_s = np.zeros(len(stack))
    forests: list[Forest] = []
    for one in range(recipe.parts):
        out = part == one
        forests.append(grown(stack.take(~out), recipe))
        sums_s[out] = sums_of(forests[-1], stack.launches.take(out))
    return mean(forests), sums_s


def fitted(stack: RunStack, recipe: RuntimeRecipe) -> RunForests:
    """Factors of kernels, the forest of runs on sums by other graphs' factors, and the process."""
    factor, sums_s = factors(stack, recipe)
    wrong = np.log(stack.launches.time_s / sums_s)
    places = tabulated(stack.values, stack.names, stack.kernels_s, stack.graph)
    beyond = np.log(stack.launches.time_s / stack.kernels_s)
    return RunForests(
        factor,
        residual(stack, stack.with_sums(sums_s), wrong, recipe),
        fitted_process(FORM, places, beyond, recipe.process),
    )


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
    return of_all(forest_of(boost(part, part.scale_s, recipe.factors)), stack.names)


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
    return of_all(forest_of(library.train(every, matrix, rounds)), stack.names)
