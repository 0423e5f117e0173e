"""NNLQP's predictor: GraphSAGE with static features of the graph.

Liu et al., "NNLQP: A Multi-Platform Neural Network Latency Query and Prediction System", ICPP 2022.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import nn

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.schema import Schema
from perfc.common.fitted import data_next_to

from .networks.message_passing import sage
from .networks.network_predictor import NetworkPredictor, squared
from .networks.node_features import OTHER, Encoding, indicators, logs, one_hot
from .networks.summed import PER, SummedNetwork
from .networks.train import Loss, TrainRecipe

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

_DATA = data_next_to(__file__)
VOCABULARY: tuple[str, ...] = (*_DATA["operators"], OTHER)
ATTRIBUTES: tuple[str, ...] = (*_DATA["attributes"],)
SHAPE = ("out_0", "out_1", "out_2", "out_3")
NODES = Schema("NNLQP nodes", (*indicators(VOCABULARY), *ATTRIBUTES, *SHAPE))
"""One-hot operator, attributes and extents of the output: 32 + 8 + 4 numbers."""
STATIC = Schema("NNLQP static", ("flop", "parameters", "access_bytes", "batch"))


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return the features of the nodes, ``[nodes, 44]``."""
    facts = graph.ops.at(batch)
    return np.concatenate(
        [one_hot(graph.ops.ops, VOCABULARY), logs(facts, (*ATTRIBUTES, *SHAPE))], axis=1
    )


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """Return the logarithms of the columns of `STATIC`, ``[4]``."""
    facts = graph.ops.at(batch)
    flop = 2 * facts["mac"] + facts["alu"] + facts["sfu"]  # a multiply-accumulate has two
    access_bytes = facts["read_bytes"] + facts["write_bytes"]
    parameters = graph.ops.whole_at(batch)["parameters"]
    numbers = (float(flop.sum()), parameters, float(access_bytes.sum()), batch)
    return [log2(1 + n) for n in numbers]


ENCODING = Encoding(NODES, node_table, STATIC, static_features)


def two_sage_layers(
    nodes: int, whole: int, width: int, *, is_faithful: bool = False
) -> SummedNetwork:
    """Return a network of two SAGE layers, a sum over nodes, and two fully connected layers.

    Each node's result is divided by its norm, as in the programs of NNLQP and TraPPM. The fully
    connected layers also read the static features.

    Args:
        nodes: number of features of a node.
        whole: number of static features.
        width: width of every layer.
        is_faithful: whether the sum is not divided by `PER`, as in the papers.
    """
    blocks = [sage(a, width, is_normalised=True) for a in (nodes, width)]
    return SummedNetwork(blocks, whole, width, per=1.0 if is_faithful else PER)


class Nnlqp(NetworkPredictor):
    """One encoder for all machines, as in the paper, and one head that reads the data sheet.

    The paper has a head for each machine, so that a new machine would have no head.
    """

    name: ClassVar[str] = "nnlqp"
    title: ClassVar[str] = "NNLQP (Liu et al., ICPP 2022)"
    hidden: ClassVar[int] = 512
    recipe: ClassVar[TrainRecipe] = TrainRecipe(epochs=100, learning_rate=1e-3)
    ours: ClassVar[TrainRecipe] = recipe.annealed(patience=100)
    loss: ClassVar[Loss] = staticmethod(squared)
    encoding = ENCODING
    layers = 2

    def network(self) -> nn.Module:
        nodes = len(self.encoding.nodes)
        return two_sage_layers(nodes, len(STATIC), self.width, is_faithful=self.is_faithful)


PREDICTOR = Nnlqp
