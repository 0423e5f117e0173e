"""Build the board of `perfc eval training`: errors of training runs, scaling, links, laws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perfc.analyzers.runs.run_law import LEARNED

from ..board import Board, BoardTable, columns
from .links import link_scores
from .questions import command, is_supported
from .scores import DistributedEvidence, Scaling, scalings, scored

RULE = (
    "Runs are predicted by `perfc.plan`, called as below, with a law fitted to the other models of "
    "the framework and generation of GPUs. Two kinds of runs are costed without `perfc.plan`: "
    "LoRA, and NeuSight's runs on four GPUs, whose law is fitted to its runs on one GPU. A `.json` "
    "is a configuration of `lab/perfc_lab/distributed/models.py`."
)
NETWORKS = "The source states no network: rates are those of p4d, DGX H100 and NC A100 v4."
RUNS = columns(
    "source",
    ("rows", "slice"),
    ("n", "rows", "d"),
    ("mean error", "mape", ".1%"),
    ("median", "median", ".1%"),
    ("bias", "bias", "+.1%"),
)
SCALING = columns(
    "model",
    "cluster",
    ("gpus", "gpus", "d"),
    ("measured", "measured", ".1%"),
    ("predicted", "predicted", ".1%"),
    ("points", lambda s: 100 * (s.predicted - s.measured), "+.1f"),
)
LINKS = columns(
    "system",
    "exchange",
    ("ranks", "ranks", "d"),
    ("nodes", "nodes", "d"),
    ("messages", "rows", "d"),
    ("measured over law", "ratio", ".2f"),
    ("from 4 MiB", "large", ".2f"),
)
ROWS = columns(
    ("question", lambda a: command(a.row)),
    ("measured", lambda a: a.row.step_s, ".3g"),
    ("predicted", lambda a: a.predicted_s, ".3g"),
    ("error", "error", "+.1%"),
)
SHOWN = 12
"""Number of rows that the board shows one by one."""
# name of the law, number of its rows, then every fitted number
LAWS = columns(
    ("law", 0),
    ("rows", 1, "d"),
    *((name.replace("_", " "), i, ".4g") for i, name in enumerate(LEARNED, 2)),
)


def board(evidence: DistributedEvidence, data: Path) -> Board:
    """Return accuracy tables of held-out runs, scaling and links, and the fitted constants."""
    scaling = tuple(scalings(evidence))
    laws = [(n, x.rows, *(getattr(x, k) for k in LEARNED)) for n, x in evidence.laws.items()]
    called = [a for a in evidence.answers if is_supported(a.row)]
    # every n-th answer, so that all sources are among them
    shown = called[:: max(1, len(called) // SHOWN)][:SHOWN]
    tables = (
        BoardTable("scores", "time of a step", RUNS, tuple(scored(evidence)), after=(RULE,)),
        BoardTable("rows", "some rows, in seconds of a step", ROWS, shown),
        BoardTable("scaling", "scaling", SCALING, scaling, after=(nearness(scaling),)),
        BoardTable(
            "links", "exchanges between nodes", LINKS, tuple(link_scores(data)), after=(NETWORKS,)
        ),
        # a law by group of rows, fitted to all rows of the group, unlike those of `RULE`
        BoardTable("laws", "laws of every row", LAWS, laws, data=evidence.laws),
    )
    return Board("Training runs", tables)


def nearness(scaling: Sequence[Scaling]) -> str:
    """Return a sentence on how near predicted scaling is to measured scaling.

    Scaling is the tokens a second of each GPU of a run, as a share of the tokens a second of each
    GPU of a run of the same model on eight GPUs.
    Within 4 percentage points of the measured share counts as near: that is the mark of the board,
    not a tolerance of the predictor.
    """
    points = [abs(s.predicted - s.measured) * 100 for s in scaling]
    # rounded as in the table, so that the sentence agrees with it
    near = sum(round(p, 1) <= 4 for p in points)
    words = f"{near} of {len(points)} within 4 points" if points else "no rows"
    average = f", {sum(points) / len(points):.1f} on average" if points else ""
    return f"Tokens a second of each GPU over those of eight: {words}{average}."
