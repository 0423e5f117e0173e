"""LLM-GraphSAGE: a graph network for language models (Panner Selvam's thesis, Section 6.5.2).

Chapter 6 of the thesis compares its boosted trees with it. `trees.graph_network` trains it on rows
of served models.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import ClassVar

import torch
from torch import Tensor, nn

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.graph.schema import Schema
from perfc.ir.record import record

from .networks.batches import Batch, Standard
from .networks.message_passing import pooled, sage
from .networks.network_predictor import NODE, ROWS, WHOLE, NetworkPredictor, squared
from .networks.node_features import Encoding
from .networks.row_features import row_features
from .networks.summed import DROPOUT, PER
from .networks.train import Loss, TrainRecipe
from .trappm import NODES, node_table

STATIC = Schema("LLM GraphSAGE static", ("mac", "parameters", "memory"))
"""Total MACs, parameters and memory of a graph, ``TM``, ``TP`` and ``TM_mem`` in the thesis. Batch,
length and machine are features of the row."""


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """Return the logarithms of the columns of `STATIC`, ``[3]``."""
    facts, whole = graph.ops.at(batch), graph.ops.whole_at(batch)
    memory = whole["weight_bytes"] + float(facts["write_bytes"].sum())
    return [log2(1 + n) for n in (float(facts["mac"].sum()), whole["parameters"], memory)]


@record
class NumberedRow(GraphRow):
    """A row with its deployment as numbers.

    Args:
        known: numbers of the batch, the length, the hardware and the rest; NaN for unknown ones.
    """

    known: tuple[float, ...] = ()


class LlmSage(NetworkPredictor):
    """Two GraphSAGE layers next to a layer of static features, 512 wide, with dropout 0.05.

    It is trained with Adam at 10⁻³ on squared errors, as in the thesis. Features of a node are
    those of TraPPM. Features of a `NumberedRow` are its numbers; those of other rows are `ROW`, as
    for other networks.
    """

    name: ClassVar[str] = "llm-sage"
    title: ClassVar[str] = (
        "GraphSAGE for language models (Panner Selvam, thesis, 2025, Section 6.5.2)"
    )
    hidden: ClassVar[int] = 512
    recipe: ClassVar[TrainRecipe] = TrainRecipe(epochs=200, learning_rate=1e-3, rows=16)
    ours: ClassVar[TrainRecipe] = recipe.annealed(patience=200)
    loss: ClassVar[Loss] = staticmethod(squared)
    encoding = Encoding(NODES, node_table, STATIC, static_features)
    layers = 2

    def network(self) -> nn.Module:
        static = len(STATIC) + len(self.standards[ROWS].mean)
        return SageBesideStatic(len(NODES), static, self.width, is_faithful=self.is_faithful)

    def numbers(self, data: Measurements, row: GraphRow) -> list[float]:
        """Return the features of a row: logarithms, and 0 for unknown numbers."""
        if not isinstance(row, NumberedRow):
            return row_features(data, row)
        # NaN is not equal to itself
        return [log2(1 + abs(n)) if n == n else 0.0 for n in row.known]

    def _row(self, data: Measurements, row: GraphRow) -> list[float]:
        features = torch.tensor(self.numbers(data, row), dtype=torch.float32)
        standardised: list[float] = self.standards[ROWS](features).tolist()
        return standardised

    def _standardise(self, train: Measurements) -> None:
        # graphs at each batch that they were measured at
        pairs = sorted({(r.graph, r.batch) for r in train.rows})
        raw = [self.raw(train.graphs[name], batch) for name, batch in pairs]
        rows = torch.tensor([self.numbers(train, r) for r in train.rows], dtype=torch.float32)
        self.standards = {
            NODE: Standard.of([g.x for g in raw]),
            WHOLE: Standard.of([torch.stack([g.u for g in raw if g.u is not None])]),
            ROWS: Standard.of([rows]),
        }

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, object]) -> None:
        """Restore weights; the number of a row's features is that of their stored means."""
        # `network` needs the number of features; the deviations are restored after it is built
        mean = arrays[f"standard.{ROWS}.mean"]
        self.standards[ROWS] = Standard(torch.tensor(mean), torch.ones(len(mean)))
        super().restore(arrays, meta)


class SageBesideStatic(nn.Module):
    """The network ``FC(ReLU(FC([sum of X'', S'])))``.

    ``X''`` are the nodes after two layers of GraphSAGE, and ``S'`` the static features after one
    layer.

    Args:
        nodes: number of features of a node.
        static: number of features of a graph and a row.
        width: width of every layer.
        is_faithful: whether the sum over nodes is not divided, as in the thesis.
    """

    def __init__(self, nodes: int, static: int, width: int, *, is_faithful: bool = False) -> None:
        super().__init__()
        self.per = 1.0 if is_faithful else PER
        self.first = sage(nodes, width, is_normalised=True)
        self.second = sage(width, width, is_normalised=True)
        self.static = nn.Linear(static, width)
        self.hidden = nn.Linear(2 * width, width)
        self.last = nn.Linear(width, 1)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, batch: Batch) -> Tensor:
        assert batch.u is not None
        x = torch.relu(self.dropout(self.first(batch.x, batch.edge_index)))
        x = torch.relu(self.dropout(self.second(x, batch.edge_index)))
        graphs = pooled(x, batch.graph_of_node, batch.graphs, "sum", batch.count) / self.per
        # layers run once for a graph, whose result is repeated for its rows
        row = torch.cat([batch.u[batch.graph_of_row], batch.row], dim=1)
        static = torch.relu(self.dropout(self.static(row)))
        both = torch.cat([graphs[batch.graph_of_row].float(), static.float()], dim=1)
        out: Tensor = self.last(torch.relu(self.hidden(both)))
        return out.squeeze(1)


PREDICTOR = LlmSage
