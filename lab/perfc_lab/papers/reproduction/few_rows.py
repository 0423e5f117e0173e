"""Adapt a trained predictor to few rows of a new machine or family, and score it.

`tested_folds` returns the folds of a paper's table, with the number of tested rows limited.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from perfc.analyzers.graph.predictor import GraphPredictor
from perfc.analyzers.graph.rows import Measurements

from ...board import Score
from ...training.graphs.bench import Scored, adapted, figures, scored
from ...training.graphs.protocols import Fold, folds
from .published import PaperTable


def tested_folds(table: PaperTable, data: Measurements, seed: int) -> Iterator[Fold]:
    """Yield the folds that test machines of a table, with its maximum of tested rows."""
    most_seen = max((table.samples, *table.curve))
    for fold in folds(data, table.protocol, (seed,), most_seen):
        machines = {row.target for row in fold.test.rows}
        is_wanted = not table.machines or bool(machines & set(table.machines))
        if len(fold.train) and len(fold.test) and is_wanted:
            yield replace(fold, test=drawn(fold.test, table.most_tested, seed))


def drawn(data: Measurements, most: int, seed: int) -> Measurements:
    """Return at most ``most`` rows, drawn at random and in their order; all rows for 0."""
    if not most or len(data) <= most:
        return data
    chosen = sorted(random.Random(seed).sample(range(len(data)), most))
    return data.of([data.rows[i] for i in chosen])


class FewRows:
    """Scores at several numbers of rows of a new machine or family.

    A training is copied for each number, and the copy adapted to so many rows.

    Args:
        counts: numbers of rows; a smaller number has the first rows of a larger one.
    """

    def __init__(self, counts: tuple[int, ...]) -> None:
        self.scores: dict[int, list[Scored]] = {count: [] for count in counts}

    def score(self, model: GraphPredictor, fold: Fold) -> tuple[GraphPredictor, Scored]:
        """Adapt and test a model with each number of rows, or without numbers with all of the fold.

        Returns:
            The model with the most rows, and its scores.
        """
        if not self.scores:
            adapted_model = adapted(model, fold)
            return adapted_model, scored(adapted_model, fold, fit_s=0.0)
        for count, scores in self.scores.items():
            seen = replace(fold, few=fold.few.of(fold.few.rows[:count]))
            # each count starts from the trained model, so that points do not build on each other
            adapted_model = adapted(model, seen)
            scores.append(scored(adapted_model, seen, fit_s=0.0))
        return adapted_model, scores[-1]

    def slices(self, name: str) -> dict[str, Score]:
        """Return the figure of all tested rows at each number of rows, by ``32 rows``."""
        lines = {count: figures(name, scores) for count, scores in self.scores.items() if scores}
        # the first figure is that of all tested rows
        return {f"{count} rows": next(iter(of_count)) for count, of_count in lines.items()}
