"""Measure the time of a whole training by the papers' recipes, from one epoch at their width.

On a processor the epoch is that of a tenth of the architectures, times as many rows as they leave.
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
"""TraPPM without its first phase, which depends on the pool and not on the rows."""
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
    """One epoch of a network, and the whole of its recipe.

    Args:
        name: name of the predictor.
        width: width of its layers.
        parameters: weights.
        timed: rows of the epoch that was timed.
        rows: trained on.
        epoch_s: processor time of an epoch of all rows, its validation included.
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
    """Yield one epoch of each network at the paper's width, on the rows of PerfSeer's tables."""
    # a table without lines, for its choice of rows alone
    rows = PaperTable("", "", "", "", RowSelection.BOTH, (), ())
    data = chosen_rows(
        Job(rows, PublishedLine("", ""), 0, graphs, PRESETS["paper"], is_faithful=True)
    )
    fold = next(folds(data, GraphProtocol.RANDOM, (0,)))
    share = 1.0 if device().type == "cuda" else CPU_SHARE
    timed, checked = thinned(fold, share).train, fold.validation
    architectures = checked.architectures[: max(round(share * len(checked.architectures)), 1)]
    checked = checked.where(lambda row: row.architecture in architectures)
    # the time of an epoch grows with its rows, those of validation included
    row_ratio = (len(fold.train) + len(fold.validation)) / (len(timed) + len(checked))
    for name in names:
        model = predictor(name)
        assert isinstance(model, NetworkPredictor)
        # seed 0, and so much time that the one epoch ends the training
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
