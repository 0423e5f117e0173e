"""Eagle, the predictor of BRP-NAS: graph convolutions with a global node.

Dudziak et al., "BRP-NAS: Prediction-based NAS using GCNs", NeurIPS 2020, Section 3.1.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.schema import Schema
from perfc.errors import PerfcError

from . import perf_graph, pmgns
from .networks.batches import Batch, GraphTensors
from .networks.message_passing import GCNConv
from .networks.network_predictor import NetworkPredictor
from .networks.node_features import Encoding, indicators, one_hot
from .networks.row_features import ROW
from .networks.train import TrainRecipe
from .operators import VOCABULARY

LAYERS = 4
"""Number of graph convolutions in the paper."""
DROPOUT = 0.2
"""Dropout of the paper; the authors' file for latency has 0.002."""
# columns of the variant `ONE_HOT`
OPERATORS = Schema("Eagle nodes", indicators(VOCABULARY))
ONE_HOT, PMGNS = "one-hot", "pmgns"
"""Names of variants, with other features of a node than PerfGraph's."""


def _operators(graph: ModelGraph, batch: float) -> Array:
    """Return the one-hot operators of a graph."""
    del batch  # the interface of a node table
    return one_hot(graph.ops.ops, VOCABULARY)


# features of a node by variant
ENCODINGS: dict[str, Encoding] = {
    "": Encoding(perf_graph.NODES, perf_graph.node_table),
    PMGNS: Encoding(pmgns.NODES, pmgns.node_table),
    ONE_HOT: Encoding(OPERATORS, _operators),
}


def with_global_nodes(edges: Tensor, graph_of_node: Tensor) -> Tensor:
    """Return edges with one from every node to the global node of its graph.

    Global nodes are numbered after all other nodes.
    """
    nodes = len(graph_of_node)
    each = torch.arange(nodes, device=edges.device)
    return torch.cat([edges, torch.stack([each, nodes + graph_of_node])], dim=1)


class EagleNetwork(nn.Module):
    """Four graph convolutions; a last layer reads the global node, which all others send to.

    Args:
        node: number of features of a node.
        width: width of the layers, 600 in the paper.
    """

    def __init__(self, node: int, width: int) -> None:
        super().__init__()
        widths = (node, *[width] * LAYERS)
        self.layers = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))
        self.dropout = nn.Dropout(DROPOUT)
        self.read = nn.Linear(width + len(ROW), 1)

    def forward(self, batch: Batch) -> Tensor:
        nodes = len(batch.x)
        # the global node of each graph starts without features and only receives messages
        blank = torch.zeros(batch.graphs, batch.x.shape[1], device=batch.x.device)
        x = torch.cat([batch.x, blank])
        edges = with_global_nodes(batch.edge_index, batch.graph_of_node)
        for layer in self.layers:
            x = self.dropout(torch.relu(layer(x, edges)))
        embedding = x[nodes:][batch.graph_of_row]
        out: Tensor = self.read(torch.cat([embedding, batch.row], dim=1))
        return out.squeeze(1)


class BrpNas(NetworkPredictor):
    """Settings of the paper's appendix: 600 wide, AdamW at 8·10⁻⁴, decay 5·10⁻⁴, dropout 0.2.

    The paper's nodes are one-hot operators, enough for the cells of one search space (variant
    ``one-hot``). For models of all kinds, PerfSeer's authors gave it the features of PerfGraph
    (Eagle-s, the default here) and of PMGNS (Eagle-p, variant ``pmgns``). The symmetric scaling of
    the convolution divides messages to the global node by the root of the number of nodes, so that
    the global node does not show that number.
    """

    name: ClassVar[str] = "brp-nas"
    title: ClassVar[str] = "BRP-NAS, Eagle (Dudziak et al., NeurIPS 2020)"
    variants: ClassVar[tuple[str, ...]] = (PMGNS, ONE_HOT)
    hidden: ClassVar[int] = 600
    recipe: ClassVar[TrainRecipe] = TrainRecipe(epochs=250, learning_rate=8e-4, weight_decay=5e-4)
    ours: ClassVar[TrainRecipe] = replace(recipe.annealed(patience=60), has_short_products=False)

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.encoding = ENCODINGS[variant]

    def raw(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return the tables of a graph; one without operators has no message to its global node."""
        if not len(graph.ops):
            raise PerfcError(f"{graph.name} has no operator", hint="nothing of it is computed")
        return super().raw(graph, batch)

    def network(self) -> nn.Module:
        return EagleNetwork(len(self.encoding.nodes), self.width)


PREDICTOR = BrpNas
