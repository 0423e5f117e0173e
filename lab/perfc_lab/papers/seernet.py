"""SeerNet: PerfGraph, one SeerBlock and a head (Zhao et al., "PerfSeer", 2025)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from perfc.analyzers.graph.rows import Quantity

from . import perf_graph
from .networks.batches import Batch
from .networks.network_predictor import NetworkPredictor, head, squared
from .networks.row_features import ROW
from .networks.train import Loss, TrainRecipe
from .seer_block import SeerBlock

# variants, which the class describes
MEAN, NO_GLOBAL_NODE, PLAIN, NO_EDGES, NO_GRAPH, ONE_HOT, FREQUENCY = (
    "mean",
    "no-global-node",
    "plain",
    "no-edge-features",
    "no-graph-features",
    "one-hot",
    "frequency",
)
TABLE_1 = {f"table-1-{line}": line for line in range(1, len(perf_graph.FeatureGroup) + 1)}
"""Number of groups of features by variant, for the lines of Table 1."""


class SeerNetwork(nn.Module):
    """A block, and a head of two layers on the embedding of the graph and the features of the row.

    Args:
        block: returns the embedding, ``[graphs, width]``.
        width: width of the block and the head.
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
    """SeerNet, trained on the logarithm, as times span four orders of magnitude.

    The training is that of Section 4.1: Adam at 10⁻³, which halves after five epochs without
    progress, squared error, up to 500 epochs.

    Variants are the ablations of Table 2 (``mean``, ``no-global-node``, and ``plain`` for both),
    those of Table 1 (``table-1-1`` to ``table-1-12``, on the plain network as in the paper), nodes
    with their operators (``one-hot``, ``frequency``), and the network without features of edges
    (``no-edge-features``) or of the graph (``no-graph-features``).
    """

    name: ClassVar[str] = "seernet"
    title: ClassVar[str] = 'SeerNet (Zhao et al., "PerfSeer", 2025)'
    variants: ClassVar[tuple[str, ...]] = (
        MEAN,
        NO_GLOBAL_NODE,
        PLAIN,
        NO_EDGES,
        NO_GRAPH,
        ONE_HOT,
        FREQUENCY,
        *TABLE_1,
    )
    hidden: ClassVar[int] = 256
    recipe: ClassVar[TrainRecipe] = TrainRecipe(
        epochs=500, learning_rate=1e-3, rows=128, halve_after=5, least_rate=1e-6
    )
    ours: ClassVar[TrainRecipe] = replace(recipe.annealed(), has_short_products=False)
    loss: ClassVar[Loss] = staticmethod(squared)
    layers = 1

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.encoding = perf_graph.ENCODING
        if variant in TABLE_1:
            self.encoding = perf_graph.first_groups(TABLE_1[variant])
        elif variant == NO_EDGES:
            self.encoding = replace(self.encoding, edge_table=None)
        elif variant == NO_GRAPH:
            self.encoding = replace(self.encoding, graph_vector=None)
        elif variant in (ONE_HOT, FREQUENCY):
            self.encoding = perf_graph.with_categories(is_frequency=variant == FREQUENCY)

    def block(self) -> SeerBlock:
        """Return an untrained block with the parts of the variant."""
        read = self.encoding
        return SeerBlock(
            len(read.nodes),
            # 0 for features that the block does not read
            0 if read.edge_table is None else len(read.edges),
            0 if read.graph_vector is None else len(read.whole),
            self.width,
            has_syn_mm=self.variant not in (MEAN, PLAIN, *TABLE_1),
            has_global_node=self.variant not in (NO_GLOBAL_NODE, PLAIN, *TABLE_1),
        )

    def network(self) -> nn.Module:
        return SeerNetwork(self.block(), self.width)


PREDICTOR = SeerNet
