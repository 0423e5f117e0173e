"""Rows of served models as graphs, for the graph network of Section 6.5.2.

The network is `papers.llm_sage`; it learns from the graph of a prompt and the features of the row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.analyzers.graph.predictor import GraphPredictor, TrainingBudget, predictor
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.steps.setting import Setting

from ..serving.replay import model_of
from .folds import HeldOutKind
from .hardware import HARDWARE
from .model_features import prompts_of
from .predictors import inner_folds
from .rows import COLUMNS, DEPLOYMENT, Target, TreeRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# what the network learns of each target
QUANTITIES = {
    Target.THROUGHPUT: Quantity.TIME,
    Target.MEMORY: Quantity.MEMORY,
    Target.ENERGY: Quantity.ENERGY,
}
NAME = "llm-sage"
STATIC = tuple(COLUMNS.index(name) for name in ("BS", "SL", *HARDWARE, *DEPLOYMENT))
"""Features of a row besides the graph, as the thesis has them, and those of its deployment."""


class GraphNetwork:
    """The graph network; a throughput is learned as the seconds of a token.

    Args:
        limit_s: longest training.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.network: GraphPredictor | None = None

    def fit(self, rows: Sequence[TreeRow], kind: HeldOutKind) -> None:
        """Train; rows of one inner fold, left out in the same way, decide when to stop."""
        self.network = network_of(rows[0].target)
        folds = inner_folds(rows, kind)
        every = measurements(rows)
        pairs = list(zip(every.rows, folds, strict=True))
        validation = [row for row, fold in pairs if fold == folds[-1]]
        # with a single fold there is nothing else to train on
        train = [row for row, fold in pairs if fold != folds[-1]] or validation
        budget = TrainingBudget(limit_s=self.limit_s)
        self.network.fit(every.of(train), every.of(validation), budget, lambda _: None)

    def predict(self, rows: Sequence[TreeRow]) -> Array:
        """Return the target of each row."""
        assert self.network is not None
        predicted = self.network.predict(measurements(rows))
        return 1 / predicted if rows[0].target is Target.THROUGHPUT else predicted


def network_of(target: Target) -> GraphPredictor:
    """Return the network that learns a target, untrained.

    Raises:
        MissingExtraError: PyTorch is not installed.
    """
    return predictor(NAME, QUANTITIES[target])


def measurements(rows: Sequence[TreeRow]) -> Measurements:
    """Return the rows with the graphs of their prompts; a row's features come with it."""
    from perfc_lab.papers.llm_sage import NumberedRow

    graphs, rows_of_graphs = {}, []
    for row in rows:
        model = model_of(row.served.model)
        assert model is not None
        graph = prompts_of(model, row.served.isl)
        graphs[graph.name] = graph
        rows_of_graphs.append(
            NumberedRow(
                graph.name,
                row.model,
                Setting(),  # the deployment is among the numbers
                row.machine,
                max(row.served.concurrency, 1),
                1 / row.value if row.target is Target.THROUGHPUT else math.nan,
                row.value if row.target is Target.MEMORY else math.nan,
                row.value if row.target is Target.ENERGY else math.nan,
                known=tuple([row.features[i] for i in STATIC]),
            )
        )
    return Measurements("language models", graphs, tuple(rows_of_graphs))
