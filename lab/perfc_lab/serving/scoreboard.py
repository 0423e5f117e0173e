"""Build the board of served models: scores, biases, checks, and rows without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median

from perfc.view.report.units import plural

from ..board import Board, BoardTable, columns
from ..training.scoreboard import sentence
from .checks import RunCheck, llama_cpp, replays
from .scores import Answered, biases, scored

SPEEDS = "generate", "prompt"
"""Phases of llama.cpp's runs, each in tokens a second."""
SCORES = columns(
    ("table", "source"),
    "quantity",
    ("rows", "slice"),
    ("n", "rows", "d"),
    ("unanswered", "unanswered", "d"),
    ("mean error", "mape", ".1%"),
    ("median", "median", ".1%"),
    ("bias", "bias", "+.1%"),
    ("in range", "coverage", ".0%"),
    ("for example", "predictor"),
)
BIASES = SCORES[:-1]
CHECKS = columns(
    ("run", "row"),
    "quantity",
    ("measured", lambda c: f"{c.measured:.4g} s", ">"),
    ("predicted", lambda c: f"{c.predicted:.4g} s", ">"),
    ("error", "error", "+.1%"),
)


def board(every: Sequence[Answered], data: Path) -> Board:
    """Return the board of answers, and of the checks of a folder of tables."""
    reasons = Counter(f"{a.row.source}: {a.reason}" for a in every if a.reason)
    checks = (*replays(data), *llama_cpp(data))
    # the table has replayed requests; rows of llama.cpp are summed up in sentences below it
    single = [c for c in checks if c.quantity in ("TTFT", "TPOT", "makespan")]
    missed = tuple(f"{count} × {reason}" for reason, count in reasons.items())
    tables = (
        BoardTable(
            "scores",
            "answers of perfc llm, model left out",
            SCORES,
            tuple(scored(every)),
            after=(sentence("serving"),),
        ),
        BoardTable("biases", "by model and machine", BIASES, tuple(biases(every))),
        BoardTable("checks", "checks", CHECKS, single, after=tuple(_sums(checks)), data=checks),
        BoardTable("unanswered", "rows without an answer", after=missed, data=reasons),
    )
    return Board("Served language models", tables)


def _sums(checks: Sequence[RunCheck]) -> Iterator[str]:
    """Yield the errors of llama.cpp's runs, in sentences."""
    # whether runs fit, then each phase alone, then both phases together
    for names in (("fits",), *((speed,) for speed in SPEEDS), SPEEDS):
        name, errors = " and ".join(names), [abs(c.error) for c in checks if c.quantity in names]
        if errors and name == "fits":
            # fits are coded 1 and 2 (`checks`): a right answer has no error at all
            right = sum(e == 0 for e in errors)
            yield f"llama.cpp: {right} of {len(errors)} fit or not as said"
        elif errors:
            errors_text = f"{mean(errors):.1%} mean, {median(errors):.1%} median error"
            yield f"llama.cpp {name}: {errors_text} of {plural(len(errors), 'row')}"
