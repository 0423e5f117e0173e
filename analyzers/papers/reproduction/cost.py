"""What a whole training by the papers' recipes takes: one epoch at their width, measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perfc.ir.record import frozen

from ...graph.predictor import Budget, Say, predictor
from ...training.graphs.protocols import Protocol, folds
from ...training.scoreboard import table
from ..networks.network_predictor import NetworkPredictor
from ..networks.train import device
from .published import Line, PaperTable, Rows
from .runs import PRESETS, Job, chosen_rows

NETWORKS = (
    "pmgns", "trappm:without-embedding", "nnlqp", "static-mlp", "seernet", "seernet-multi",
    "mlp-node", "brp-nas",
)  # fmt: skip
"""TraPPM without its first phase, which depends on the pool and not on the rows."""
HEAD = ("network", "width", "weights", "rows", "an epoch in s", "epochs", "whole in h")


@frozen
class EpochCost:
    """One epoch of a network, and the whole of its recipe.

    Args:
        name: of the predictor.
        width: of its layers.
        parameters: weights.
        rows: trained on.
        epoch_s: processor time of an epoch, its validation included.
        epochs: of the recipe.
    """

    name: str
    width: int
    parameters: int
    rows: int
    epoch_s: float
    epochs: int

    @property
    def whole_h(self) -> float:
        """Hours of the whole recipe."""
        return self.epoch_s * self.epochs / 3600


def costs(graphs: Path, say: Say, names: Sequence[str] = NETWORKS) -> Iterator[EpochCost]:
    """One epoch of each network at the paper's width, on the rows of PerfSeer's tables."""
    rows = PaperTable("", "", "", "", Rows.BOTH, (), ())
    data = chosen_rows(Job(rows, Line("", ""), 0, graphs, PRESETS["paper"], is_faithful=True))
    fold = next(folds(data, Protocol.RANDOM, (0,)))
    for name in names:
        model = predictor(name)
        assert isinstance(model, NetworkPredictor)
        model.fit(fold.train, fold.validation, Budget(0, 1e9, is_faithful=True, epochs=1), say)
        assert model.made is not None
        assert model.trained is not None
        weights = sum(p.numel() for p in model.made.parameters())
        yield EpochCost(
            name, model.width, weights, len(fold.train), model.trained.seconds, model.recipe.epochs
        )


def page(found: Sequence[EpochCost], origin: str) -> str:
    """A page of Markdown."""
    cells = [
        (
            c.name, str(c.width), f"{c.parameters / 1e6:.2f} M", f"{c.rows:,}", f"{c.epoch_s:.1f}",
            f"{c.epochs:,}", f"{c.whole_h:.2f}",
        )
        for c in found
    ]  # fmt: skip
    where = "a GPU" if device().type == "cuda" else "one core"
    words = f"One epoch at the papers' width and by their recipes, on {where}; the whole follows."
    return (
        "\n\n".join(["# Time of the papers' recipes", words, origin, table(HEAD, cells, range(1))])
        + "\n"
    )
