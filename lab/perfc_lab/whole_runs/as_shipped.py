"""Score predictors of whole models as users call them: weights from a file, one model at a time.

`perfc eval graph --models` calls it; the bench of `training.graphs` predicts all rows at once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.graph.weights import save
from perfc.analyzers.whole_runs.estimate import WholeRunEstimate, estimate
from perfc.errors import PerfcError
from perfc.frontend import load

from ..board import Score
from ..splitting import grouped
from ..tables.architectures import SEEDS
from ..training.graphs.bench import Scored, by_family, figures, trained
from ..training.graphs.cards import card_of
from ..training.graphs.protocols import Fold, GraphProtocol, folds

ENDING = ".onnx.gz"
"""Suffix of files of graphs."""
WORDS = "random, seed {}; then every row"
"""Split that a card states, with the seed of the rows that calibrate the interval."""


def figures_as_shipped(
    names: Iterable[str],
    data: Measurements,
    protocols: Sequence[GraphProtocol],
    models: Path,
    *,
    quantity: Quantity = Quantity.TIME,
    seeds: Sequence[int] = SEEDS,
    budget: TrainingBudget | None = None,
    families: bool = False,
    say: Say = lambda _: None,
) -> list[Score]:
    """Return figures of every predictor under every protocol, predicted as `perfc.predict` does.

    Weights are trained and calibrated as ``perfc train graph --every-row`` does, on all rows that
    a fold does not test, written, and read back.

    Args:
        names: names of the predictors.
        data: measured rows.
        protocols: how rows are held out.
        models: folder of the models, ``GRAPH.onnx.gz``; rows of others are not tested.
        quantity: predicted quantity.
        seeds: seeds of the splits.
        budget: budget of each training.
        families: whether every family of enough rows gets a separate line.
        say: called with the progress.

    Raises:
        PerfcError: a predictor does not learn from every row, or keeps no weights.
    """
    scores: list[Score] = []
    for protocol in protocols:
        for name in names:
            every = folds(data.measured(quantity), protocol, seeds)
            scored_folds = [
                scored_as_shipped(name, fold, models, quantity, budget or TrainingBudget(), say)
                for fold in every
                if len(fold.train) and len(fold.test)
            ]
            scores += [
                *figures(name, scored_folds),
                *(by_family(name, scored_folds) if families else ()),
            ]
    return scores


def scored_as_shipped(
    name: str, fold: Fold, models: Path, quantity: Quantity, budget: TrainingBudget, say: Say
) -> Scored:
    """Return the scores of a fold, by weights that are trained on all other rows."""
    # shipped weights know every row, validation rows too; only tested ones are left out
    untested = fold.train.of([*fold.train.rows, *fold.validation.rows])
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        card = _shipped(name, untested, quantity, budget, say, Path(folder))
        fit_s = time.perf_counter() - start
        pairs = list(_estimates(fold.test.rows, card, models, say))
    rows = tuple(row for row, _ in pairs)
    value, low, high = (
        np.array([getattr(answer, field) for _, answer in pairs])
        for field in ("value", "low", "high")
    )
    row_s = sum(answer.taken_s for _, answer in pairs) / max(len(pairs), 1)
    measured = fold.test.of(rows).values(quantity)
    share = float(((measured >= low) & (measured <= high)).mean())
    say(f"{name}, {fold.protocol.value}, {fold.name}: {share:.1%} of {len(rows):,} rows inside")
    return Scored(fold, rows, measured, value, low, high, fit_s, row_s)


def model_of(models: Path, row: GraphRow) -> Path:
    """Return the file of a row's graph."""
    return models / f"{row.graph}{ENDING}"


def _shipped(
    name: str,
    data: Measurements,
    quantity: Quantity,
    budget: TrainingBudget,
    say: Say,
    folder: Path,
) -> Path:
    """Return the card of weights that know all rows."""
    # a split of these rows calibrates the interval; `finish` then learns from all of them
    inner = next(folds(data, GraphProtocol.RANDOM, (budget.seed,)))
    predictor, metrics = trained(name, inner, quantity, budget, say)
    predictor.finish(data, budget, say)
    return save(predictor, card_of(predictor, data, WORDS.format(budget.seed), metrics), folder)


def _estimates(
    rows: Sequence[GraphRow], card: Path, models: Path, say: Say
) -> Iterator[tuple[GraphRow, WholeRunEstimate]]:
    """Yield rows with their estimates; rows without a readable model are reported and left out."""
    by_model = grouped(rows, lambda row: model_of(models, row))
    for path, of_model in sorted(by_model.items()):
        if not path.is_file():
            say(f"left out {len(of_model)} rows: no {path.name}")
            continue
        try:
            module = load(path)
            estimates = [estimate(module, card, r.target, r.setting, r.batch) for r in of_model]
        except PerfcError as error:
            say(f"left out {len(of_model)} rows: {error}")
            continue
        yield from zip(of_model, estimates, strict=True)
