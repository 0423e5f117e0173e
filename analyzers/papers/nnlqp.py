"""NNLQP's predictor: GraphSAGE beside static features.

Liu et al., "NNLQP: A Multi-Platform Neural Network Latency Query and Prediction System", ICPP 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ..graph.model_graph import ModelGraph
from ..graph.schema import Schema
from .networks.batches import Batch
from .networks.message_passing import Sage, pooled
from .networks.network_predictor import NetworkPredictor, head, squared
from .networks.node_features import OTHER, indicators, logs, one_hot
from .networks.row_features import ROW
from .networks.train import Loss, TrainRecipe

if TYPE_CHECKING:
    from ..features.classes import Array

VOCABULARY = (
    "conv", "conv_transpose", "gemm", "matmul", "batch_norm", "layer_norm", "instance_norm",
    "softmax", "relu", "sigmoid", "hard_sigmoid", "hard_swish", "clip", "erf", "tanh", "add",
    "sub", "mul", "div", "pow", "concat", "split", "slice", "reshape", "transpose", "squeeze",
    "pad", "average_pool", "max_pool", "global_average_pool", "reduce_mean", OTHER,
)  # fmt: skip
ATTRIBUTES = (
    "kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "groups"
)  # fmt: skip
SHAPE = ("out_0", "out_1", "out_2", "out_3")
NODES = Schema("NNLQP nodes", (*indicators(VOCABULARY), *ATTRIBUTES, *SHAPE))
"""Operator, attributes, output shape: 32 + 8 + 4 numbers."""
STATIC = Schema("NNLQP static", ("flop", "parameters", "access_bytes", "batch"))
PER = 100.0
"""Node embeddings are summed in hundreds."""
DROPOUT = 0.05


def node_table(graph: ModelGraph, batch: float) -> Array:
    """``[nodes, 44]``."""
    facts = graph.ops.at(batch)
    return np.concatenate(
        [one_hot(graph.ops.ops, VOCABULARY), logs(facts, (*ATTRIBUTES, *SHAPE))], axis=1
    )


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """``[4]``, by their logarithm."""
    facts = graph.ops.at(batch)
    flop = 2 * facts["mac"] + facts["alu"] + facts["sfu"]
    access_bytes = facts["read_bytes"] + facts["write_bytes"]
    parameters = graph.ops.whole_at(batch)["parameters"]
    numbers = (float(flop.sum()), parameters, float(access_bytes.sum()), batch)
    return [log2(1 + n) for n in numbers]


class NnlqpNetwork(nn.Module):
    """Two normalised SAGE layers, a sum over nodes beside the static features, two layers.

    Args:
        node: features of a node.
        width: 512 in the paper.
    """

    def __init__(self, node: int, width: int) -> None:
        super().__init__()
        self.first = Sage(node, width, is_normalised=True)
        self.second = Sage(width, width, is_normalised=True)
        self.dropout = nn.Dropout(DROPOUT)
        self.head = head(width + len(STATIC) + len(ROW), width, DROPOUT)

    def forward(self, batch: Batch) -> Tensor:
        assert batch.u is not None
        x = self.dropout(torch.relu(self.first(batch.x, batch.edge_index)))
        x = self.dropout(torch.relu(self.second(x, batch.edge_index)))
        own = pooled(x, batch.graph_of_node, batch.graphs, "sum", batch.count) / PER
        embedding = torch.cat([own, batch.u], dim=1)[batch.graph_of_row]
        out: Tensor = self.head(torch.cat([embedding, batch.row], dim=1))
        return out.squeeze(1)


class Nnlqp(NetworkPredictor):
    """One encoder for all machines, as the paper's, and one head that reads the data sheet.

    The paper's has a head for each machine; one that was not trained on would have none.
    """

    name: ClassVar[str] = "nnlqp"
    title: ClassVar[str] = "NNLQP (Liu et al., ICPP 2022)"
    hidden: ClassVar[int] = 512
    recipe: ClassVar[TrainRecipe] = TrainRecipe(
        epochs=100, learning_rate=1e-3, patience=100, has_short_products=True
    )
    loss: ClassVar[Loss] = staticmethod(squared)
    nodes = NODES
    layers = 2
    whole = STATIC

    def node_table(self, graph: ModelGraph, batch: float) -> Array:
        return node_table(graph, batch)

    def graph_vector(self, graph: ModelGraph, batch: float) -> Sequence[float]:
        return static_features(graph, batch)

    def network(self) -> nn.Module:
        return NnlqpNetwork(len(self.nodes), self.width)


PREDICTOR = Nnlqp
