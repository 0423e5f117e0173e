"""Trains the predictor of whole steps of one way of running, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.artefacts.artefact import FORMAT, Artefact, Ready, schema_of
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.distance import nearest, place
from perfc.analyzers.features.rows import DataError, Protocol
from perfc.analyzers.intervals.conformal import (
    AT_ONCE,
    LEAST_SPREAD,
    Band,
    Bands,
    Calibration,
    Unseen,
    band,
)
from perfc.analyzers.intervals.unseen import LeftOut, learned
from perfc.analyzers.steps.launch_stack import SumStack
from perfc.analyzers.steps.predict import CLASS, MOST_SPREAD
from perfc.analyzers.steps.similarity import StepErrorProcess

from ...splitting import fold_of
from ...tables.architectures import family
from ...tables.timm import StepRow
from ..libraries import versions
from ..xgboost_forest import forest_of
from .sums import SumModel, SumRecipe, learn, spread_of, stacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

LEAST_MACHINES = 2
NOTES = (
    "factors of launches learned from the times of whole steps; no launch was timed alone",
    "intervals calibrated on families left out",
)


def train_steps(
    name: str,
    rows: Sequence[StepRow],
    recipe: SumRecipe,
    *,
    group: Callable[[str], str] = family,
    data: Mapping[str, str] | None = None,
    leave_machines_out: bool = True,
    ready: Ready | None = None,
) -> Artefact:
    """Train on all rows given; those held out for testing must not be among them.

    Args:
        name: name of the predictor.
        rows: rows of one way of running.
        recipe: how.
        group: group of an architecture; rows that calibrate share no group with those learned from.
        data: digests of the tables, for the card.
        leave_machines_out: calibrate for unseen machines too, which trains once for each.
        ready: told name and schema before anything is trained.
    """
    stack = stacked(rows)
    if ready is not None:
        ready(name, schema_of(CLASS, (), stack.names))
    groups = dealt_groups([r.architecture for r in rows], group, recipe.folds)
    spread, seen, likeness = calibrate(stack, groups, recipe)
    unseen = None
    if leave_machines_out and len({r.target for r in rows}) >= LEAST_MACHINES:
        unseen = calibrate_unseen(stack, rows, spread, recipe)
    model = learn(stack, recipe)
    factor = model.forest()
    values = stack.values
    return Artefact(
        _card(
            name, rows, stack, factor, spread,
            Calibration(Bands(seen, unseen)),
            data or {},
        ),
        factor,
        spread,
        values.min(axis=0).astype(np.float64),
        values.max(axis=0).astype(np.float64),
        np.median(values, axis=0).astype(np.float64),
        more={"multipliers": model.multipliers, **(likeness.arrays() if likeness else {})},
    )  # fmt: skip


def dealt_groups(
    architectures: Sequence[str], group: Callable[[str], str], folds: int
) -> list[str]:
    """The group of every row; architectures where groups are fewer than folds.

    Raises:
        DataError: of those too there are too few.
    """
    for by in (group, str):
        found = [by(a) for a in architectures]
        if len(set(found)) >= folds:
            return found
    count = len(set(architectures))
    raise DataError(f"{count} architectures", hint=f"intervals need at least {folds}")


def calibrate(
    stack: SumStack, groups: Sequence[str], recipe: SumRecipe
) -> tuple[Forest, Band, StepErrorProcess | None]:
    """Spread and band, from residuals of groups that the factors were not learned from.

    Where steps are corrected by like ones, residuals are what that leaves of groups whose steps
    are not among those known. The scores of a fold are divided by a spread learned from the other
    folds, which is nearly as good as the one that is kept, of all folds (Vovk, "Cross-conformal
    predictors", 2015).
    """
    dealt = fold_of(groups, recipe.folds, recipe.seed)
    fold = np.array([dealt[g] for g in groups])
    residual = np.zeros(len(stack))
    share = np.zeros(len(stack.row))
    for one in range(recipe.folds):
        out = fold == one
        if not out.any() or out.all():
            continue
        model = learn(stack.take(~out), recipe)
        residual[out], share[out[stack.row]] = tested(model, stack.take(out))
    likeness = None
    if recipe.likens:
        means, raw = stack.means(share), residual.copy()
        likeness = StepErrorProcess.learned(means, raw)
        for one in sorted(set(fold.tolist())):
            out = fold == one
            residual[out] -= StepErrorProcess.learned(means[~out], raw[~out]).error(means[out])
    scores = np.zeros(len(stack))
    for one in sorted(set(fold.tolist())):
        check = fold == one
        learner = _spread(stack, share, residual, ~check, recipe)
        scores[check] = residual[check] / widths(
            learner, stack.take(check), share[check[stack.row]]
        )
    everything = np.ones(len(stack), np.bool_)
    return _spread(stack, share, residual, everything, recipe), band(scores), likeness


def calibrate_unseen(
    stack: SumStack, rows: Sequence[StepRow], spread: Forest, recipe: SumRecipe
) -> Unseen:
    """Leave machines out one at a time."""
    target = np.array([r.target for r in rows])
    groups = []
    for name in sorted(set(target)):
        out = target == name
        part = stack.take(out)
        residual, share = tested(learn(stack.take(~out), recipe), part)
        expected = widths(spread, part, share)
        category = np.zeros(len(residual), np.intp)
        groups.append(
            [LeftOut(max(_apart(rows, str(name)), AT_ONCE), residual, expected, category)]
        )
    return learned(groups)[""]


def tested(model: SumModel, stack: SumStack) -> tuple[Array, Array]:
    """``log(measured / predicted)`` of steps, and the share of each launch."""
    launch_s = model.launch_s(stack)
    total = stack.total(launch_s)
    return np.log(stack.time_s / total), launch_s / total[stack.row]


def widths(spread: Forest, stack: SumStack, share: Array) -> Array:
    """Expected error of steps, as the predictor computes it."""
    from perfc.analyzers.steps.predict import walked

    log_width = stack.total(share * walked(spread, stack.values))
    found: Array = np.exp(np.clip(log_width, np.log(LEAST_SPREAD), MOST_SPREAD))
    return found


def _spread(
    stack: SumStack, share: Array, residual: Array, chosen: NDArray[np.bool_], recipe: SumRecipe
) -> Forest:
    part = stack.take(chosen)
    return forest_of(spread_of(part, share[chosen[stack.row]], residual[chosen], recipe))


def _apart(rows: Sequence[StepRow], target: str) -> float:
    """Distance of a machine to the nearest of the others."""
    dtype = rows[0].setting.precision.dtype
    here = place(target, dtype)
    others = {r.target for r in rows} - {target}
    return nearest(here, tuple(place(n, dtype) for n in others))


def _card(
    name: str,
    rows: Sequence[StepRow],
    stack: SumStack,
    factor: Forest,
    spread: Forest,
    calibration: Calibration,
    data: Mapping[str, str],
) -> Card:
    dtypes = tuple(sorted({r.setting.precision.dtype for r in rows}))
    targets = tuple(sorted({r.target for r in rows}))
    return Card(
        name=name,
        class_name=CLASS,
        format=FORMAT,
        schema=schema_of(CLASS, (), stack.names),
        parameters=(),
        features=stack.names,
        protocols=(Protocol.STEP,),
        frameworks=tuple(sorted({r.setting.framework for r in rows})),
        dtypes=dtypes,
        targets=targets,
        configurations=tuple((target, precision, name) for target, precision, name in stack.known),
        places={d: tuple(place(t, d) for t in targets) for d in dtypes},
        bases={"factor": factor.base, "spread": spread.base},
        calibration=calibration,
        split="architectures, 70 : 15 : 15 at random; families in seven parts, each tested once",
        data=data,
        metrics={},
        versions=versions(),
        rows=len(rows),
        notes=NOTES,
    )
