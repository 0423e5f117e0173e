"""Estimate the time of whole trainings by the papers' recipes, from one epoch at the papers' width.

Without a GPU the epoch is measured on a tenth of the architectures, and its time is multiplied by
all rows over these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perfc.analyzers.graph.predictor import Say, TrainingBudget, predictor
from perfc.ir.record import frozen

from ...board import RIGHT, Board, BoardTable, columns
from ...training.graphs.protocols import GraphProtocol, folds, thinned
from ..networks.network_predictor import NetworkPredictor
from ..networks.train import device
from .published import PaperTable, PublishedLine, RowSelection
from .runs import PRESETS, Job, chosen_rows

# predictors whose recipes are timed
NETWORKS = (
    "pmgns",
    "trappm:without-embedding",
    "nnlqp",
    "static-mlp",
    "seernet",
    "seernet-multi",
    "mlp-node",
    "brp-nas",
)
"""Predictors of the papers; TraPPM without its first phase, whose time depends on the pool, not on
rows."""
COLUMNS = columns(
    ("network", "name"),
    ("width", "width", "d"),
    ("weights", lambda c: f"{c.parameters / 1e6:.2f} M", RIGHT),
    ("rows timed", "timed", ","),
    ("rows", "rows", ","),
    ("an epoch in s", "epoch_s", ".1f"),
    ("epochs", "epochs", ","),
    ("whole in h", "whole_h", ".2f"),
)
CPU_SHARE = 0.1
"""Share of the architectures that an epoch is timed on without a GPU."""


@frozen
class EpochCost:
    """Time of one epoch of a network, and of all epochs of its recipe.

    Args:
        name: name of the predictor.
        width: width of its layers.
        parameters: number of weights.
        timed: training rows of the epoch that was measured.
        rows: training rows of a whole epoch.
        epoch_s: estimated processor time of a whole epoch, with its validation.
        epochs: number of epochs of the recipe.
    """

    name: str
    width: int
    parameters: int
    timed: int
    rows: int
    epoch_s: float
    epochs: int

    @property
    def whole_h(self) -> float:
        """Return the hours of the whole recipe."""
        return self.epoch_s * self.epochs / 3600


def costs(graphs: Path, say: Say, names: Sequence[str] = NETWORKS) -> Iterator[EpochCost]:
    """Yield the cost of each network at the paper's width, on the rows of PerfSeer's tables."""
    # a table and a line without content, as the rows of a job are those of its table
    rows = PaperTable("", "", "", "", RowSelection.BOTH, (), ())
    data = chosen_rows(
        Job(rows, PublishedLine("", ""), 0, graphs, PRESETS["paper"], is_faithful=True)
    )
    fold = next(folds(data, GraphProtocol.RANDOM, (0,)))
    share = 1.0 if device().type == "cuda" else CPU_SHARE
    timed, checked = thinned(fold, share).train, fold.validation
    architectures = checked.architectures[: max(round(share * len(checked.architectures)), 1)]
    checked = checked.where(lambda row: row.architecture in architectures)
    # the time of an epoch is taken as proportional to its rows, with those of validation
    row_ratio = (len(fold.train) + len(fold.validation)) / (len(timed) + len(checked))
    for name in names:
        model = predictor(name)
        assert isinstance(model, NetworkPredictor)
        # seed 0, and a time limit beyond one epoch, which ends the training
        model.fit(timed, checked, TrainingBudget(0, 1e9, is_faithful=True, epochs=1), say)
        assert model.made is not None
        assert model.trained is not None
        weights = sum(p.numel() for p in model.made.parameters())
        cost = EpochCost(
            name,
            model.width,
            weights,
            len(timed),
            len(fold.train),
            row_ratio * model.trained.seconds,
            model.recipe.epochs,
        )
        say(f"{name}: {cost.epoch_s:.0f} s an epoch")
        yield cost


def board(epochs: Sequence[EpochCost]) -> Board:
    """Return the board of the time of each network's recipe."""
    where = "a GPU" if device().type == "cuda" else "one core"
    words = (
        f"One epoch at the papers' width and by their recipes, on {where}, with the validation "
        "after it. Where less rows are timed than there are, the epoch is theirs times as many "
        "rows. The whole is the epochs of the recipe, of one seed."
    )
    table = BoardTable("costs", "", COLUMNS, epochs)
    return Board("Time of the papers' recipes", (table,), (words,))
