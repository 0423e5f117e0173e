"""Calibrates intervals: spread, and the bands of machines seen, near and far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..conformal import LEAST_SPREAD, Band, Bands, Calibration, band, of_category
from ..forest import Forest
from ..rows import Rows
from ..table import class_of
from .growing import Recipe, Stack, boost, grow, protocols_of, stacked
from .machines import LEAST_MACHINES, NOWHERE, Growth, Memory, unseen_machines
from .protocols import folds, targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..classes import Array


@dataclass(frozen=True)
class Calibrating:
    """How intervals are calibrated.

    Args:
        parts: into which groups are cut; each forest that calibrates sees all but one of them.
            Other than five, so that they cut the folds that test.
        turns: how many parts are left out in turn, two or more.
        turns_apart: the same where a machine is left out as well, to be tested.
        growth: of errors with the distance of a machine that nobody measured.
    """

    parts: int = 10
    turns: int = 4
    turns_apart: int = 2
    growth: Growth = field(default_factory=Growth)


Residual = tuple[Stack, "Array"]
"""Rows that were held out, and what a forest of the others missed of them."""


def calibrate(
    blocks: Sequence[Rows],
    recipe: Recipe,
    group: tuple[str, ...],
    known: tuple[str, ...],
    *,
    leave_machines_out: bool,
    how: Calibrating,
    memory: Memory | None = None,
) -> tuple[Forest, Calibration]:
    """The spread and the bands.

    Args:
        blocks: all rows that may be trained on.
        recipe: of the factor.
        group: shape parameters that make a group; calibration rows share none with the others.
        known: frameworks.
        leave_machines_out: calibrate for unseen machines too, which trains once for each.
        how: folds are cut.
        memory: forests of machines left out, kept between calls that leave out the same.
    """
    spread, seen = _unseen_shapes(blocks, recipe, group, known, how)
    power, apart = 1.0, NOWHERE
    if leave_machines_out and len(targets(blocks)) >= LEAST_MACHINES:
        power, apart = unseen_machines(blocks, recipe, known, spread, how.growth, memory)
    bands = {name: Bands(one, apart.get(name, apart[""])) for name, one in seen.items()}
    return spread, Calibration(bands.pop(""), power, bands)


def _unseen_shapes(
    blocks: Sequence[Rows],
    recipe: Recipe,
    group: tuple[str, ...],
    known: tuple[str, ...],
    how: Calibrating,
) -> tuple[Forest, dict[str, Band]]:
    """Spread, and bands by category, from groups that a forest of the others has not seen.

    What ships is trained on all groups, and a forest that misses many of them is worse: each that
    calibrates must miss few. The spread of one half of the turns is judged on the other (Vovk,
    "Cross-conformal predictors", 2015; Barber, Candès, Ramdas and Tibshirani, "Predictive
    inference with the jackknife+", 2021, section 3).
    """
    import numpy as np

    fold = [folds(b, group, how.parts) for b in blocks]
    present = sorted({int(i) for f in fold for i in np.unique(f)})
    protocols = protocols_of(blocks)
    plain = replace(recipe, unnamed=0.0)
    found: list[Residual] = []
    for one in present[: how.turns]:
        rest = [b.take(f != one) for b, f in zip(blocks, fold, strict=True)]
        part = [b.take(f == one) for b, f in zip(blocks, fold, strict=True)]
        taught = [b for b in rest if len(b)]
        factor = grow(stacked(taught, known, recipe, protocols), recipe)
        stack = stacked([b for b in part if len(b)], known, plain, protocols)
        found.append((stack, stack.log_factor - factor(stack.table.values)))
    scores, category = [], []
    for turn, (stack, residual) in enumerate(found):
        others = [*found[:turn], *found[turn + 1 :]]
        scores.append(residual / width(_spread(others or found, recipe), stack))
        category.append(stack.table.category)
    names = class_of(blocks[0].class_name).categories
    return _spread(found, recipe), _bands(np.concatenate(scores), np.concatenate(category), names)


def _bands(scores: Array, category: NDArray[np.intp], names: Sequence[str]) -> dict[str, Band]:
    """The band of all rows, under ``""``, and of every category that has some."""
    found = {"": band(scores)}
    for index, name in enumerate(names):
        own = category == index
        if own.any():
            found[name] = of_category(scores[own], scores)
    return found


def _spread(found: Sequence[Residual], recipe: Recipe) -> Forest:
    """The forest of the log of expected absolute error."""
    import numpy as np

    return boost(
        np.concatenate([stack.table.values for stack, _ in found]),
        np.log(np.abs(np.concatenate([residual for _, residual in found])) + LEAST_SPREAD),
        np.concatenate([stack.weight for stack, _ in found]),
        found[0][0].table.names,
        {"max_depth": 5, "eta": 0.15, "min_child_weight": 50.0, "subsample": 0.8},
        recipe.spread_trees,
    )


def width(spread: Forest, stack: Stack) -> Array:
    """Expected absolute error of rows."""
    import numpy as np

    found: Array = np.maximum(np.exp(spread(stack.table.values)), LEAST_SPREAD)
    return found
