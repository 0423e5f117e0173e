"""The board of the comparison with chapter 6 of K. Panner Selvam's thesis.

`perfc eval trees` writes it; the numbers are those of `experiment`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..board import DASH, RIGHT, Board, BoardColumn, BoardTable, Score, columns
from ..training.scoreboard import sentence
from . import thesis
from .experiment import GNN, PLAIN, Speed, TreeComparison
from .folds import HeldOutKind
from .predictors import MOST_CHOICE_ROWS
from .rows import Target
from .scores import LEAST_FOLDS

UNITS = {Target.THROUGHPUT: "tokens/s", Target.MEMORY: "GB", Target.ENERGY: "J a token"}
NOTES = (
    (
        "The thesis's figures are of its own rows: encoders on one V100, A100 or H100, random "
        "folds; MB of memory and samples a second. "
        "They stand beside ours and were not measured on the same rows."
    ),
    (
        "A random fifth has rows of every model and machine in its training. An unseen model has "
        "none of its configuration in any table, an unseen machine none of its target."
    ),
    (
        "In range: the share of rows between the ends that hold nine in ten of what the other "
        "folds left, so that no row tells of its own interval. Where a table has fewer than "
        f"{LEAST_FOLDS} other models or machines, the ends are at least as far as all tables' are."
    ),
    (
        "Settings of the plain trees are chosen once for each kind of folds, on what the "
        f"first fold leaves, of which {MOST_CHOICE_ROWS:,} rows are drawn where there are more. "
        "The thesis chose its own on all folds."
    ),
    (
        "Trees on the kernel sum choose inside each training, by rows that it leaves out in turn. "
        "They choose which sums, depths and losses answer together, how much each counts in their "
        "mean, and whether half or all of a correction is believed. Where random fifths are left "
        "out, trees without a sum are among them, and Gaussian processes on the sum, which tell a "
        "row from those of its setting with more and with fewer users. "
        "What they choose among, and their features, were thought of while looking at these rows."
    ),
    (
        "One kernel sum lets workers of disaggregated prefill keep up with answers if their number "
        "is unknown: one alone would keep answers waiting."
    ),
    (
        "Disaggregated prefill: by the rows, or by the publisher's lists of runs, which give the "
        "number of workers and of drafted tokens. Of rows partly given no list has the run, or "
        "several that differ do."
    ),
    (
        "The graph network of a random fold stops after the seconds of `--gnn-s`; folds of any "
        "other kind share as much. That is far from convergence on thousands of rows, so that "
        "its errors are upper ends, most of all on unseen models."
    ),
    (
        "Throughput of aic_serving follows from its two latencies and its users. Memory "
        "is that of one user of Qwen2.5 under transformers. Carbon and formats of weights "
        "are of random folds."
    ),
    sentence("trees"),
)


def _rmse(s: Score) -> str:
    """Return the root mean square error with its unit; bytes of memory as GB."""
    target = Target(s.quantity)
    return f"{s.rmse / 1e9 if target is Target.MEMORY else s.rmse:.3g} {UNITS[target]}"


def _published(s: Score) -> str:
    """Return the thesis's figure of the same predictor, for whole tables on random folds."""
    cells = {PLAIN: thesis.TREES, GNN: thesis.GNN}.get(s.predictor)
    # the name of a part of a table has a comma
    if cells is None or s.split != HeldOutKind.RANDOM.value or "," in s.slice:
        return DASH
    cell = cells[Target(s.quantity)]
    return f"{cell.mape:.2%}, {cell.rmse:g}, {cell.tau:g}"


SCORES = columns(
    ("target", "quantity"),
    ("left out", "split"),
    ("rows of", "slice"),
    "predictor",
    ("n", "rows", "d"),
    ("MAPE", "mape", ".1%"),
    ("median", "median", ".1%"),
    ("RMSE", _rmse, RIGHT),
    ("tau", "tau", ".2f"),
    ("in range", "coverage", ".1%"),
    ("range, high over low", "width", ".2f"),
    ("thesis: MAPE, RMSE, tau", _published),
)
SPEEDS = columns(("predictor", "method"), ("rows a second", "rows_per_s", ",.0f"))
QUANTISED = columns(
    "target",
    "weights",
    ("n", "count", "d"),
    ("measured over BF16", "measured", ".3f"),
    ("predicted over BF16", "predicted", ".3f"),
)
CARBON = columns(
    "model",
    ("n", "count", "d"),
    ("g CO2 a million tokens, of measured energy", "measured_g", ".3g"),
    ("of predicted energy", "predicted_g", ".3g"),
    ("error", lambda c: c.predicted_g / c.measured_g - 1, "+.1%"),
)
# positions in a row of `ablation`: target, features, an error for each kind of folds, the thesis's
ABLATION = columns(
    ("target", 0),
    ("features", 1),
    *((kind.value, i, ".1%") for i, kind in enumerate(HeldOutKind, 2)),
    ("thesis", 2 + len(HeldOutKind), ".1%"),
)
BITS = "The thesis states 4,848.55 MB of memory for LLaMA 7B in 4 bits on one A100."
FASTER = f"In the thesis trees answer {thesis.FASTER:g} times the rows of the graph network."


def board(comparison: TreeComparison) -> Board:
    """Return the board of a comparison."""
    tables = (
        BoardTable("scores", "errors by what is left out", SCORES, comparison.scores, after=NOTES),
        BoardTable(
            "ablation",
            "features of Table 6.6",
            ABLATION,
            ablation(comparison.ablation),
            data=comparison.ablation,
        ),
        BoardTable("checks", "rows that nothing was learned from", SCORES, comparison.checks),
        BoardTable(
            "quantised",
            "formats of weights, Figure 6.6",
            QUANTISED,
            comparison.quantised,
            after=(BITS,),
        ),
        BoardTable("carbon", "carbon, Section 6.3.2", CARBON, comparison.carbon),
        BoardTable(
            "speeds",
            "rows a second, Figure 6.7",
            (*SPEEDS, ratio(comparison.speeds)),
            comparison.speeds,
            after=(FASTER,),
        ),
    )
    return Board("Accuracy: trees for language models", tables)


def ratio(speeds: Iterable[Speed]) -> BoardColumn:
    """Return the column of speeds over the least of them."""
    least = min((s.rows_per_s for s in speeds), default=math.nan)
    return BoardColumn("ratio", lambda s: s.rows_per_s / least, ".1f")


def ablation(scores: Iterable[Score]) -> list[tuple[str | float, ...]]:
    """Return rows of a target and its features, with the errors of each kind of folds."""
    # scores of the ablation have the set of features as the name of their predictor
    errors = {(s.quantity, s.predictor, s.split): s.mape for s in scores}
    return [
        (
            target,
            name,
            *(errors.get((target, name, k.value), math.nan) for k in HeldOutKind),
            thesis.ABLATION[Target(target)].get(name, math.nan),
        )
        for target, name in dict.fromkeys((t, n) for t, n, _ in errors)
    ]
