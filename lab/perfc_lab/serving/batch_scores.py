"""Score `perfc.llm` on fixed batches, by GPU and runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..board import Board, BoardTable, Score, columns, score
from ..training.scoreboard import sentence
from .batch_laws import law_name, left_out, ratios_of, sampled
from .batches import TABLE, BatchAnswer, fixed_batches

SCORES = columns(
    ("GPU", "source"),
    ("runtime", "slice"),
    ("left out", "split"),
    ("n", "rows", "d"),
    ("mean error", "mape", ".1%"),
    ("median", "median", ".1%"),
    ("bias", "bias", "+.1%"),
    ("in range", "coverage", ".0%"),
)
EXAMPLES = columns(
    ("question", lambda a: a.row.command()),
    ("measured", lambda a: a.row.time_s, ".3g"),
    ("predicted", lambda a: a.time_s, ".3g"),
    ("error", lambda a: a.row.time_s / a.time_s - 1, "+.1%"),
)
SHOWN = 12
"""Number of rows that the board shows one by one."""
RULE = (
    "Errors are of tokens a second; seconds are of the whole batch. *Model*: host models are "
    "fitted to the other models of the table; *table*: nothing is learned from it."
)


def answers_of(data: Path, say: Callable[[str], None]) -> list[BatchAnswer]:
    """Return the answers of `perfc.llm` to all rows, each by laws without the row's model."""
    rows = list(fixed_batches(data))
    samples = sampled(rows)
    say(f"{TABLE}: {len(samples)} of {len(rows)} rows learn")
    # first predictions give ratios for intervals; then all rows are answered with these
    ratios = ratios_of(list(left_out([r for r in rows if law_name(r)], samples)))
    return list(left_out(rows, samples, ratios))


def scored(answers: Sequence[BatchAnswer]) -> Iterator[Score]:
    """Yield the score of each GPU and runtime."""
    keys = dict.fromkeys((a.row.target, a.row.runtime) for a in answers)
    for target, runtime in keys:
        same = [a for a in answers if (a.row.target, a.row.runtime) == (target, runtime)]
        times = np.array([(a.row.time_s, a.time_s, a.low_s, a.high_s) for a in same])
        # rates are inverse times: the lower end of the time is the upper end of the rate
        measured, predicted, high, low = (1 / times).T
        split = "model" if law_name(same[0].row) else "table"
        yield score(split, runtime, measured, predicted, low, high, source=target)


def board(answers: Sequence[BatchAnswer]) -> Board:
    """Return the board of the answers."""
    # every n-th answer, so that rows of all models are among them
    shown = answers[:: max(1, len(answers) // SHOWN)][:SHOWN]
    after = (RULE, sentence("batches"))
    tables = (
        BoardTable("scores", "", SCORES, tuple(scored(answers)), after=after),
        BoardTable("rows", "some rows", EXAMPLES, shown, data=answers),
    )
    return Board("Fixed batches", tables)
