"""Train and score predictors of whole models under every protocol, on the same rows.

`perfc eval graph` and `perfc train graph` call it; a `Score` is a line of the scoreboard. The steps
are `learned` (fit and calibration), `adapted` (to a new machine), `scored` (estimates of the test
rows as `Scored`) and `figures` (a `Score` for each slice). `evaluate` runs the first three for all
folds; `trained` makes one predictor to publish, with the scores of its card (`tested`).
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.estimate.interval import HIGH_ERROR, MEDIUM_ERROR, MIDDLE_SHARE
from perfc.analyzers.graph.predictor import GraphPredictor, Say, TrainingBudget, predictor
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.graph.weights import narrowed
from perfc_lab.splitting import at_several_batches

from ...board import Score, kendall_tau, score
from ...tables.architectures import SEEDS, family
from .protocols import SAMPLES, Fold, GraphProtocol, folds, thinned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

# slices that every board has
SLICES: Mapping[str, Callable[[GraphRow], bool]] = {
    "all rows": lambda r: True,
    "inference": lambda r: not r.setting.training,
}
GRADES = {
    "graded high": (-np.inf, HIGH_ERROR),
    "graded medium": (HIGH_ERROR, MEDIUM_ERROR),
    "graded low": (MEDIUM_ERROR, np.inf),
}
"""Slices by grade, each with a range of `Scored.expected_error`, which grades a row.

The lower end is excluded, the upper end included.
"""
GOALS: Mapping[tuple[GraphProtocol, str], float] = {
    (GraphProtocol.RANDOM, "inference"): 0.06,
    (GraphProtocol.FAMILY, "inference"): 0.10,
    (GraphProtocol.DEVICE, "inference"): 0.18,
    (GraphProtocol.TRANSFER, "inference"): 0.08,
    (GraphProtocol.RANDOM, "training, rtx3090"): 0.08,
}
"""Goals of the mean error of the best predictor on timm's rows, by protocol and slice."""


@dataclass(frozen=True, eq=False)
class Scored:
    """Estimates of the tested rows of one fold, from which `figures` computes each `Score`.

    Args:
        fold: how rows were divided.
        rows: tested rows, in the order of the arrays.
        measured: measured numbers of the quantity, in its unit.
        value: estimated numbers.
        low: lower end of the 90 % interval; NaN if there is none.
        high: upper end of the 90 % interval; NaN if there is none.
        fit_s: wall time of the training.
        row_s: time of the estimate of one row.
    """

    fold: Fold
    rows: tuple[GraphRow, ...]
    measured: Array
    value: Array
    low: Array
    high: Array
    fit_s: float
    row_s: float

    @property
    def expected_error(self) -> Array:
        """Return for each row the error that half of the rows with its interval should stay within.

        NaN without intervals.
        """
        # half the interval's width in logarithms, scaled from 90 % to 50 % of the rows
        error: Array = np.expm1(MIDDLE_SHARE * np.log(self.high / self.low) / 2)
        return error

    def where(self, chosen: NDArray[np.bool_]) -> Scored:
        """Return the rows that a mask selects."""
        rows = tuple(r for r, is_chosen in zip(self.rows, chosen, strict=True) if is_chosen)
        columns = {n: getattr(self, n)[chosen] for n in ("measured", "value", "low", "high")}
        return replace(self, rows=rows, **columns)


def fitted(
    name: str, fold: Fold, quantity: Quantity, budget: TrainingBudget, say: Say
) -> GraphPredictor:
    """Return a predictor after both steps of its training: `learned`, then `adapted`."""
    return adapted(learned(name, fold, quantity, budget, say), fold)


def learned(
    name: str, fold: Fold, quantity: Quantity, budget: TrainingBudget, say: Say
) -> GraphPredictor:
    """Return a predictor fitted and calibrated on the training rows of a fold."""
    model = predictor(name, quantity)
    model.fit(fold.train, fold.validation, replace(budget, seed=fold.seed), say)
    model.calibrate(fold.validation)
    return model


def adapted(model: GraphPredictor, fold: Fold) -> GraphPredictor:
    """Return the predictor, or a copy adapted to a few rows of a new machine."""
    if not len(fold.few):
        return model
    # folds that share a training adapt it to different rows, so the trained model must not change
    copied = copy.deepcopy(model)
    copied.adapt(fold.few)
    return copied


def scored(model: GraphPredictor, fold: Fold, *, fit_s: float) -> Scored:
    """Return the estimates of the test rows of a fold by a trained predictor, with their times."""
    start = time.perf_counter()
    estimates = model.estimates(fold.test)
    row_s = (time.perf_counter() - start) / max(len(fold.test), 1)
    return Scored(
        fold,
        fold.test.rows,
        fold.test.values(model.quantity),
        estimates.value,
        estimates.low,
        estimates.high,
        fit_s,
        row_s,
    )


def tested(model: GraphPredictor, fold: Fold) -> dict[str, float]:
    """Return the scores of the test rows that the card of the weights shows.

    Of further quantities it shows only the number of measured rows and the MAPE.
    """
    # the first slice is all rows
    line = next(iter(figures(model.name, [scored(model, fold, fit_s=0.0)])))
    names = ("rows", "mape", "median", "within_5", "within_10", "tau", "coverage")
    scores = {n: float(getattr(line, n)) for n in names}
    for quantity, value in model.other_quantities(fold.test).items():
        measured = fold.test.values(quantity)
        # tables have NaN or 0 where a quantity was not measured
        is_known = np.isfinite(measured) & (measured > 0)
        if is_known.any():
            scores[f"{quantity.value}_rows"] = float(is_known.sum())
            residual = np.abs(value[is_known] / measured[is_known] - 1)
            scores[f"{quantity.value}_mape"] = float(residual.mean())
    return scores


def trained(
    name: str, fold: Fold, quantity: Quantity, budget: TrainingBudget, say: Say
) -> tuple[GraphPredictor, dict[str, float]]:
    """Return a predictor (`fitted`), and the scores of the test rows for its card (`tested`)."""
    model = fitted(name, fold, quantity, budget, say)
    return model, tested(model, fold)


def rounded(model: GraphPredictor) -> GraphPredictor:
    """Return a predictor with its weights rounded to half precision, and its interval as it was."""
    # `restore` resets ``factor``: the correction by `adapt`, and the two ends of the interval
    factor = model.factor
    model.restore(narrowed(model.arrays()), model.meta())
    model.factor = factor
    return model


def evaluate(
    name: str,
    data: Measurements,
    protocol: GraphProtocol,
    *,
    quantity: Quantity = Quantity.TIME,
    seeds: Sequence[int] = SEEDS,
    budget: TrainingBudget | None = None,
    share: float = 1.0,
    samples: int = SAMPLES,
    say: Say = lambda _: None,
) -> list[Scored]:
    """Return the estimates of all folds (`scored`).

    The predictor of each fold is trained on ``share`` of the fold's training architectures.
    """
    estimated: list[Scored] = []
    # training rows, model and training time of the fold before
    last: tuple[Measurements, GraphPredictor, float] | None = None
    for fold in folds(data.measured(quantity), protocol, seeds, samples):
        if not len(fold.train) or not len(fold.test):
            continue
        fold_budget = budget or TrainingBudget()
        if fold_budget.folder is not None:
            place = (
                f"{name.replace(':', '-')}-{protocol.value}-{fold.name.replace(' ', '-')}-{share}"
            )
            # a folder for each training: none resumes from the checkpoint of another
            fold_budget = replace(fold_budget, folder=Path(fold_budget.folder) / place)
        # folds that differ in tested rows alone share a training
        if last is None or last[0] is not fold.train:
            start = time.perf_counter()
            model = learned(name, thinned(fold, share), quantity, fold_budget, say)
            last = fold.train, model, time.perf_counter() - start
        estimated.append(scored(adapted(last[1], fold), fold, fit_s=last[2]))
        error = mean_error(estimated[-1])
        say(f"{name}, {protocol.value}, {fold.name}: {error:.1%} of {len(fold.test)} rows")
    return estimated


def mean_error(score: Scored) -> float:
    """Return the mean relative error of all rows of a fold, as a fraction."""
    return float(np.abs(score.value / score.measured - 1).mean())


def figures(name: str, scores: Sequence[Scored]) -> Iterator[Score]:
    """Yield a score for each slice that has rows: those of `slices`, then the grades."""
    for part, which in slices(scores).items():
        line = _figure(name, part, which, scores)
        if line is not None:
            yield line
    yield from by_grade(name, scores)


def by_grade(name: str, scores: Sequence[Scored]) -> Iterator[Score]:
    """Yield the figures of rows that would be graded high, medium and low by their intervals."""
    for grade, (least, most) in GRADES.items():
        graded = [
            fold.where((fold.expected_error > least) & (fold.expected_error <= most))
            for fold in scores
        ]
        line = _figure(name, grade, lambda _: True, graded)
        if line is not None:
            yield line


def slices(scores: Sequence[Scored]) -> Mapping[str, Callable[[GraphRow], bool]]:
    """Return slices by name: all rows, inference, batches if several, modes with machines."""
    rows = [r for score in scores for r in score.rows]
    batches = sorted({r.batch for r in rows}) if at_several_batches(rows) else []
    pairs = sorted({(r.part, r.target) for r in rows})

    def of(part: str, target: str) -> Callable[[GraphRow], bool]:
        return lambda r: r.part == part and r.target == target

    def at(batch: int) -> Callable[[GraphRow], bool]:
        return lambda r: r.batch == batch

    return {
        **SLICES,
        **{f"batch {batch}": at(batch) for batch in batches},
        **{f"{part}, {target}": of(part, target) for part, target in pairs},
    }


def by_family(name: str, scores: Sequence[Scored], least: int = 20) -> list[Score]:
    """Return the figures of families with enough rows, worst first."""
    names = sorted({family(r.architecture) for score in scores for r in score.rows})
    # `n=n` binds the family of this turn, not of the last one
    lines = [
        _figure(name, n, lambda r, n=n: family(r.architecture) == n, scores)  # type: ignore[misc]
        for n in names
    ]
    chosen = [replace(x, is_family=True) for x in lines if x and x.rows >= least]
    return sorted(chosen, key=lambda x: -x.mape)


def _figure(
    name: str, part: str, which: Callable[[GraphRow], bool], scores: Sequence[Scored]
) -> Score | None:
    """Return the score of a slice over all folds; None if no tested row is in it."""
    masks = [np.array([which(r) for r in fold.rows], np.bool_) for fold in scores]
    parts = [fold.where(m) for fold, m in zip(scores, masks, strict=True) if m.any()]
    if not parts:
        return None
    measured, value, low, high = (
        np.concatenate([getattr(fold, n) for fold in parts])
        for n in ("measured", "value", "low", "high")
    )
    # every fold has the same weight in MAPE, its spread and τ; other figures are of pooled rows
    means = [mean_error(fold) for fold in parts]
    taus = [rank_agreement(fold.rows, fold.measured, fold.value) for fold in parts]
    has_intervals = any(np.isfinite(fold.low).any() for fold in scores)
    ends = (low, high) if has_intervals else (None, None)
    protocol, dataset = scores[0].fold.protocol, scores[0].fold.test.dataset
    return score(
        protocol.value,
        part,
        measured,
        value,
        *ends,
        source=dataset,
        predictor=name,
        folds=len(parts),
        mape=float(np.mean(means)),
        spread=float(np.std(means)),
        tau=float(np.nanmean(taus)) if np.isfinite(taus).any() else math.nan,
        fit_s=float(np.mean([fold.fit_s for fold in scores])),
        row_s=float(np.mean([fold.row_s for fold in scores])),
        goal=GOALS.get((protocol, part)) if dataset == "timm" else None,
    )


def rank_agreement(rows: Sequence[GraphRow], measured: Array, value: Array) -> float:
    """Return the mean over machines and settings of Kendall's τ-b of the time per image.

    NaN if no machine and setting has three rows. Where a graph was measured at several batches,
    each batch is ranked alone.
    """
    by_batch = at_several_batches(rows)
    groups: dict[object, list[int]] = {}
    for i, row in enumerate(rows):
        key = (row.target, row.setting, row.batch if by_batch else 0)
        groups.setdefault(key, []).append(i)
    batch = np.array([r.batch for r in rows], np.float64)
    agreements = [
        (len(g), kendall_tau((measured / batch)[g], (value / batch)[g]))
        for g in groups.values()
        if len(g) > 2
    ]
    # a group whose times are all equal has no order: its τ is NaN
    weight = sum(n for n, tau in agreements if tau == tau)
    return sum(n * tau for n, tau in agreements if tau == tau) / weight if weight else float("nan")


def evaluated(
    names: Iterable[str],
    data: Measurements,
    protocols: Sequence[GraphProtocol],
    *,
    quantity: Quantity = Quantity.TIME,
    seeds: Sequence[int] = SEEDS,
    budget: TrainingBudget | None = None,
    shares: Sequence[float] = (1.0,),
    families: bool = False,
    samples: int = SAMPLES,
    say: Say = lambda _: None,
) -> list[Score]:
    """Return figures of every predictor under every protocol, at every share of the training data.

    Args:
        names: names of the predictors.
        data: measured rows.
        protocols: how rows are held out.
        quantity: predicted quantity.
        seeds: seeds of the splits.
        budget: budget of each training.
        shares: shares of the training architectures; several make a learning curve.
        families: whether every family of enough rows gets a separate line.
        samples: rows of a new machine that a transfer sees.
        say: called with what is trained.
    """
    rows: list[Score] = []
    for protocol in protocols:
        for name in names:
            for share in shares:
                scored_folds = evaluate(
                    name,
                    data,
                    protocol,
                    quantity=quantity,
                    seeds=seeds,
                    budget=budget,
                    share=share,
                    samples=samples,
                    say=say,
                )
                lines = [
                    *figures(name, scored_folds),
                    *(by_family(name, scored_folds) if families else ()),
                ]
                rows += [replace(line, share=share) for line in lines]
    return rows
