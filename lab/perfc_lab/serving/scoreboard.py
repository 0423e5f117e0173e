"""Build the board of served models: scores, biases, checks, and rows without a prediction."""

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
"""Phases of llama.cpp's runs, by the name of their quantity; both are in tokens a second."""
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
BIASES = SCORES[:-1]  # without an example of the call
CHECKS = columns(
    ("run", "row"),
    "quantity",
    ("measured", lambda c: f"{c.measured:.4g} s", ">"),
    ("predicted", lambda c: f"{c.predicted:.4g} s", ">"),
    ("error", "error", "+.1%"),
)


def board(every: Sequence[Answered], data: Path) -> Board:
    """Return the board of answers, and of checks on the tables in the folder ``data``."""
    reasons = Counter(f"{a.row.source}: {a.reason}" for a in every if a.reason)
    checks = (*replays(data), *llama_cpp(data))
    # the table of checks has the replayed requests; sentences below it sum up llama.cpp's rows
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
            # `checks` writes 2 for a model that fits and 1 for another: a right answer has no error
            right = sum(e == 0 for e in errors)
            yield f"llama.cpp: {right} of {len(errors)} fit or not as said"
        elif errors:
            errors_text = f"{mean(errors):.1%} mean, {median(errors):.1%} median error"
            yield f"llama.cpp {name}: {errors_text} of {plural(len(errors), 'row')}"
