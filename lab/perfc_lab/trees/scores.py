"""Score predictors of served models on rows that were left out of their training.

`experiment` calls `scores_of` for each target, predictor and kind of folds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..board import Score, coverage_by_fold, score
from ..serving.scores import edges
from ..splitting import leave_out
from .cache import NOTHING, NumberCache, digest_of
from .folds import HeldOutKind, folds_of
from .predictors import TreePredictor
from .rows import PARTLY, TreeRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Say = Callable[[str], None]
ALL, ALL_GIVEN = "all tables", "all tables, all given"
"""Names of totals; the second leaves out rows with unknown settings."""
LEAST_RATIOS = 20
"""Minimum rows of other folds for a 90 % interval; 5 % quantiles by `edges` need 19."""
LEAST_FOLDS = 4
"""Minimum other models or machines of a table for an interval of an unseen one by them alone."""


# returns an untrained predictor
Maker = Callable[[], TreePredictor]


def left_out(
    rows: Sequence[TreeRow],
    make: Maker,
    kind: HeldOutKind,
    say: Say = lambda _: None,
    cache: NumberCache = NOTHING,
    method: str = "",
) -> tuple[Array, float]:
    """Return the prediction of each row by a training without its fold, and CPU seconds.

    Args:
        rows: rows of one target.
        make: returns an untrained predictor.
        kind: kind of folds.
        say: called with the processor time of all folds.
        cache: cache of the predictions.
        method: name of the method in keys of the cache, with all its settings.
    """
    folds, every = folds_of(rows, kind), digest_of(rows) if cache.folder else ""
    predicted = np.full(len(rows), math.nan)
    seconds = 0.0
    for fold, train, test in leave_out(range(len(rows)), folds):
        seen = [rows[i] for i in train]
        if not seen:
            continue

        # defaults bind this turn's rows; the function runs only if the cache has no such numbers
        def numbers(seen: Sequence[TreeRow] = seen, test: list[int] = test) -> list[float]:
            start = time.process_time()
            predictor = make()
            predictor.fit(seen, kind)
            values = predictor.predict([rows[i] for i in test]).tolist()
            return [time.process_time() - start, *values]

        # seconds are stored with the predictions, as a cached fold takes none
        cpu_s, *values = cache.numbers((method, kind.value, fold, every), numbers)
        seconds += cpu_s
        predicted[test] = values
    say(f"{rows[0].target.value}, {kind.value}: {seconds:.0f} s")
    return predicted, seconds


def scores_of(
    rows: Sequence[TreeRow],
    method: str,
    make: Maker,
    kind: HeldOutKind,
    say: Say = lambda _: None,
    cache: NumberCache = NOTHING,
    wording: str = "",
) -> Iterator[Score]:
    """Yield the scores of one predictor on rows of one target: by table, then totals.

    Args:
        rows: rows of one target.
        method: name of the predictor.
        make: returns an untrained predictor.
        kind: kind of folds.
        say: called with the processor time of all folds.
        cache: cache of the predictions.
        wording: settings of the predictor, as part of the cache's keys.
    """
    predicted, seconds = left_out(
        rows, make, kind, lambda line: say(f"{method}, {line}"), cache, f"{method} {wording}"
    )
    folds = np.array(folds_of(rows, kind))
    ratios = np.array([row.value for row in rows]) / predicted
    for source, tables in groups_of(rows).items():
        is_own = np.array([row.source in tables for row in rows])
        chosen = [rows[i] for i in np.flatnonzero(is_own).tolist()]
        coverage, width = held_of(ratios, folds, is_own)
        plain = score_of(chosen, predicted[is_own], method, kind, source, seconds)
        yield replace(plain, coverage=coverage, width=width)


def groups_of(rows: Sequence[TreeRow]) -> dict[str, list[str]]:
    """Return the tables of each score by the name of the score: single tables, then totals."""
    sources = list(dict.fromkeys(row.source for row in rows))
    given = [source for source in sources if not source.endswith(PARTLY)]
    totals = {ALL_GIVEN: given} if 1 < len(given) < len(sources) else {}
    return {s: [s] for s in sources} | totals | ({ALL: sources} if len(sources) > 1 else {})


def held_of(
    ratios: Array, folds: NDArray[np.str_], is_own: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return coverage and width of an interval calibrated without the rows of the tested fold.

    Its ends are quantiles of measured over predicted values in the other folds. If these folds are
    few, the interval also spans the quantiles of all tables' rows in other folds.

    Args:
        ratios: measured over predicted, of all rows.
        folds: folds of all rows.
        is_own: which rows are tested.
    """
    # rows without kernels have no sum, and so no ratio
    is_answered = np.isfinite(ratios) & (ratios > 0)
    is_tested = is_answered & is_own
    few = len(set(folds[is_own].tolist())) <= LEAST_FOLDS
    groups = [is_tested, is_answered] if few else [is_tested]

    def ends(fold: Hashable) -> tuple[float, float] | None:
        of_others = [ratios[group & (folds != fold)].tolist() for group in groups]
        intervals = [edges(values) for values in of_others if len(values) >= LEAST_RATIOS]
        return (
            (min(low for low, _ in intervals), max(high for _, high in intervals))
            if intervals
            else None
        )

    return coverage_by_fold(ratios[is_tested].tolist(), folds[is_tested].tolist(), ends)


def score_of(
    rows: Sequence[TreeRow],
    said: Array,
    method: str,
    kind: HeldOutKind,
    source: str,
    seconds: float,
) -> Score:
    """Return the score of rows of a target; rows without a prediction are only counted."""
    value, is_answered = np.array([row.value for row in rows]), np.isfinite(said)
    return score(
        kind.value,
        source,
        value[is_answered],
        said[is_answered],
        has_order=True,
        predictor=method,
        quantity=rows[0].target.value,
        fit_s=seconds,
        unanswered=int((~is_answered).sum()),
    )
