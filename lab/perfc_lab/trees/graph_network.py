"""Rows of served models as graphs, for the graph network of K. Panner Selvam's thesis.

The network (Section 6.5.2) is `papers.llm_sage`; it learns from the graph of a prompt and the
features of the row.
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

# quantity of the network for each target
QUANTITIES = {
    Target.THROUGHPUT: Quantity.TIME,
    Target.MEMORY: Quantity.MEMORY,
    Target.ENERGY: Quantity.ENERGY,
}
NAME = "llm-sage"
"""Name of the network among the predictors of graphs."""
STATIC = tuple(COLUMNS.index(name) for name in ("BS", "SL", *HARDWARE, *DEPLOYMENT))
"""Positions of the features that the network reads in addition to the graph.

They are those of the thesis's network, and those of the deployment.
"""


class GraphNetwork:
    """The graph network; of a throughput it learns the reciprocal, seconds per token.

    Args:
        limit_s: time limit of a training.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.network: GraphPredictor | None = None

    def fit(self, rows: Sequence[TreeRow], kind: HeldOutKind) -> None:
        """Train on inner folds of the tested kind; the error of the last decides when to stop.

        The last fold is not trained on, unless it is the only one.
        """
        self.network = network_of(rows[0].target)
        folds = inner_folds(rows, kind)
        every = measurements(rows)
        pairs = list(zip(every.rows, folds, strict=True))
        validation = [row for row, fold in pairs if fold == folds[-1]]
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
    """Return the rows with the graphs of their prompts, and their features as numbers."""
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
                Setting(),  # `known` has the deployment
                row.machine,
                max(row.served.concurrency, 1),
                time_s=1 / row.value if row.target is Target.THROUGHPUT else math.nan,
                memory_bytes=row.value if row.target is Target.MEMORY else math.nan,
                energy_j=row.value if row.target is Target.ENERGY else math.nan,
                known=tuple([row.features[i] for i in STATIC]),
            )
        )
    return Measurements("language models", graphs, tuple(rows_of_graphs))
