"""SeerNet: PerfGraph, one SeerBlock and a head (Zhao et al., "PerfSeer", 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from ..graph.model_graph import ModelGraph
from . import perf_graph
from .networks.batches import Batch
from .networks.network_predictor import NetworkPredictor, head, squared
from .networks.row_features import ROW
from .networks.train import Loss, TrainRecipe
from .seer_block import SeerBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..features.classes import Array

MEAN, NO_GLOBAL_NODE, PLAIN, NO_EDGES, NO_GRAPH = (
    "mean", "no-global-node", "plain", "no-edge-features", "no-graph-features"
)  # fmt: skip


class SeerNetwork(nn.Module):
    """The graph's embedding beside the row, through two layers to one number.

    Args:
        block: gives ``[graphs, width]``.
        width: of the block and the head.
    """

    def __init__(self, block: SeerBlock, width: int) -> None:
        super().__init__()
        self.block = block
        self.head = head(width + len(ROW), width)

    def forward(self, batch: Batch) -> Tensor:
        embedding: Tensor = self.block(batch)
        out: Tensor = self.head(torch.cat([embedding[batch.graph_of_row], batch.row], dim=1))
        return out.squeeze(1)


class SeerNet(NetworkPredictor):
    """Trained as in Section 4.1, on the logarithm, as times span four orders of magnitude.

    Adam at 10⁻³, halved after five epochs without progress, squared error, up to 500 epochs.

    Variants are the ablations of Table 2 (``mean``, ``no-global-node``, ``plain`` for both) and two
    of Table 1 (``no-edge-features``, ``no-graph-features``).
    """

    name: ClassVar[str] = "seernet"
    title: ClassVar[str] = 'SeerNet (Zhao et al., "PerfSeer", 2025)'
    variants: ClassVar[tuple[str, ...]] = (MEAN, NO_GLOBAL_NODE, PLAIN, NO_EDGES, NO_GRAPH)
    hidden: ClassVar[int] = 256
    recipe: ClassVar[TrainRecipe] = TrainRecipe(
        epochs=500, learning_rate=1e-3, patience=50, halve_after=5
    )
    short: ClassVar[TrainRecipe | None] = TrainRecipe(learning_rate=1e-3, patience=200)
    loss: ClassVar[Loss] = staticmethod(squared)
    nodes = perf_graph.NODES
    layers = 1
    edges = perf_graph.EDGES
    whole = perf_graph.GRAPH

    def node_table(self, graph: ModelGraph, batch: float) -> Array:
        return perf_graph.node_table(graph, batch)

    def edge_table(self, graph: ModelGraph, batch: float) -> Array | None:
        return None if self.variant == NO_EDGES else perf_graph.edge_table(graph, batch)

    def graph_vector(self, graph: ModelGraph, batch: float) -> Sequence[float]:
        return () if self.variant == NO_GRAPH else perf_graph.graph_vector(graph, batch)

    def block(self) -> SeerBlock:
        """A fresh one, of the variant."""
        return SeerBlock(
            len(self.nodes),
            0 if self.variant == NO_EDGES else len(self.edges),
            0 if self.variant == NO_GRAPH else len(self.whole),
            self.width,
            has_syn_mm=self.variant not in (MEAN, PLAIN),
            has_global_node=self.variant not in (NO_GLOBAL_NODE, PLAIN),
        )

    def network(self) -> nn.Module:
        return SeerNetwork(self.block(), self.width)


PREDICTOR = SeerNet
