"""PMGNS, the network of DIPPM (Panner Selvam and Brorsson, Euro-Par 2023; thesis, Chapter 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import Tensor, nn

from perfc.analyzers.graph.model_graph import OP_FIXED, OP_SCALED, ModelGraph
from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.graph.schema import Schema

from . import relay
from .networks.batches import Batch
from .networks.message_passing import GATConv, GCNConv, gin, sage
from .networks.node_features import HYPER_PARAMETERS, Encoding, indicators, logs, one_hot
from .networks.several import SeveralQuantities, TaskNetwork
from .networks.summed import PER, SummedNetwork
from .networks.train import TrainRecipe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array

# operators of the one-hot by their names in Relay, in its order
VOCABULARY = (
    "conv",
    "conv_transpose",
    "dense",
    "batched_matmul",
    "batch_norm",
    "layer_norm",
    "softmax",
    "relu",
    "add",
    "mul",
    "reshape",
    "transpose",
    "split",
    "squeeze",
    "average_pool",
    "max_pool",
)
SHAPE = ("out_0", "out_1", "out_2", "out_3")
NODES = Schema("PMGNS nodes 2", (*indicators(VOCABULARY), *HYPER_PARAMETERS, *SHAPE))
"""Features of a node: ``F_node = F_oh ⊕ F_attr ⊕ F_shape``, 32 numbers (Algorithm 1, line 7).

The paper states only their number; the three parts have 16, 12 and 4, as in the authors' program.
The program has dropout and biases in the one-hot, for which perfc has ReLU and batch normalisation:
a canonical graph has no dropout, and a bias is an input of its product or an addition. Other
operators have sixteen zeros, as in the program. Since version 2 of the columns, a mean over an
image is a pool; before, it had zeros.
"""
IMAGE_RANK = 4
"""Axes of feature maps: batch, channels, height and width."""
STATIC = Schema("PMGNS static", ("mac", "batch", "convolutions", "dense", "relu"))
"""``F_s`` of Eq. 4.1: MACs, batch, and the numbers of convolutions, dense layers and ReLUs."""
# layer of message passing by variant
CONVOLUTIONS: Mapping[str, Callable[[int, int], nn.Module]] = {
    "gcn": GCNConv,
    "gat": GATConv,
    "gin": gin,
}
# further variants: no graph; only the requested quantity
MLP, SINGLE = "mlp", "single"
BLOCKS = 3
"""Number of blocks of message passing, and of fully connected layers."""
LAYERS_OF_A_BLOCK = 2
"""Layers of a block in the authors' program, with which the network has the 3.45 M parameters of
PerfSeer's comparison."""


def relay_names(graph: ModelGraph) -> list[str]:
    """Return the operators by names of `VOCABULARY`; a product with stored weights is `dense`."""
    stored = graph.ops.fixed[:, OP_FIXED.index("weights")] > 0
    # operators with the name of a similar one of the vocabulary
    renamed = {"gemm": "dense", "global_average_pool": "average_pool", "sub": "add", "div": "mul"}
    names = []
    for op, is_stored, is_pool in zip(graph.ops.ops, stored, pooled_planes(graph), strict=True):
        name = renamed.get(op, op)
        if op == "matmul":
            name = "dense" if is_stored else "batched_matmul"
        elif op == "reduce_mean" and is_pool:
            name = "average_pool"
        names.append(name)
    return names


def pooled_planes(graph: ModelGraph) -> NDArray[np.bool_]:
    """Return a mask of nodes that read an image and write one number per channel, ``[nodes]``.

    Exporters write a global pool as `reduce_mean` over height and width, with or without axes of
    one element, with channels first or last. A mean over channels or tokens is no pool.
    """
    ops = graph.ops
    rank_in, rank_out = (ops.fixed[:, OP_FIXED.index(n)] for n in ("rank_in", "rank_out"))
    extents = ops.scaled[0][:, [OP_SCALED.index(n) for n in SHAPE]]
    ones = extents == 1
    # height and width are axes 2 and 3 with channels first, 1 and 2 with channels last
    mask = (ones[:, 2] & ones[:, 3]) | (ones[:, 1] & ones[:, 2])
    pooled: NDArray[np.bool_] = (rank_in == IMAGE_RANK) & (
        (rank_out == 2) | ((rank_out == IMAGE_RANK) & mask)
    )
    return pooled


def node_table(graph: ModelGraph, batch: float) -> Array:
    """Return the features of the nodes, ``[nodes, 32]``."""
    facts = graph.ops.at(batch)
    return np.concatenate(
        [one_hot(relay_names(graph), VOCABULARY), logs(facts, (*HYPER_PARAMETERS, *SHAPE))], axis=1
    )


def static_features(graph: ModelGraph, batch: float) -> list[float]:
    """Return the logarithms of the columns of `STATIC`, ``[5]``."""
    names = relay_names(graph)
    counts = [names.count(n) for n in ("conv", "dense", "relu")]
    mac = float(graph.ops.at(batch)["mac"].sum())
    return [log2(1 + mac), log2(batch), *(log2(1 + c) for c in counts)]


ENCODING = Encoding(NODES, node_table, STATIC, static_features)


class PmgnsNetwork(TaskNetwork):
    """PMGNS's network: a summed network with an output for each quantity.

    Args:
        summed: network with an output for each task.
        tasks: names of the tasks.
        quantity: quantity that a call returns.
        is_raw: whether outputs are plain positive numbers, as in the authors' program.
    """

    def __init__(
        self, summed: SummedNetwork, tasks: tuple[str, ...], quantity: Quantity, *, is_raw: bool
    ) -> None:
        super().__init__(tasks, quantity, is_raw=is_raw)
        self.summed = summed

    def every(self, batch: Batch) -> Tensor:
        return self.positive(self.summed.every(batch))


class Pmgns(SeveralQuantities):
    """PMGNS: width 512, dropout 0.05, Adam at 2.754·10⁻⁵, Huber loss, 500 epochs (Table 4.3).

    It learns memory, latency and energy together, as far as rows have them (Section 4.3.4). The
    variant ``single`` learns only the requested quantity, as in PerfSeer's comparison. The other
    variants are the lines of Table 4.4: ``gcn``, ``gat``, ``gin``, and ``mlp`` without the graph. A
    faithful predictor has the features, the training and the dropout of the authors' program
    (`relay`): numbers without logarithms, calls in a chain, one graph per step. Otherwise it reads
    logarithms and the edges of the graph.
    """

    name: ClassVar[str] = "pmgns"
    title: ClassVar[str] = "PMGNS (Panner Selvam and Brorsson, DIPPM, Euro-Par 2023)"
    variants: ClassVar[tuple[str, ...]] = ("gcn", "gat", "gin", MLP, SINGLE)
    hidden: ClassVar[int] = 512
    recipe: ClassVar[TrainRecipe] = TrainRecipe(epochs=500, learning_rate=2.754e-5, rows=1)
    ours: ClassVar[TrainRecipe] = recipe.annealed(learning_rate=1e-3)
    error = nn.HuberLoss
    encoding = ENCODING
    raw_encoding: ClassVar[Encoding | None] = relay.ENCODING
    units: ClassVar[Mapping[Quantity, float]] = relay.UNITS

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        # one more hop: GCN reads the number of edges into the sources of the first layer's messages
        self.layers = BLOCKS * LAYERS_OF_A_BLOCK + (variant == "gcn")

    def quantities(self) -> tuple[Quantity, ...]:
        """Return the quantities of Figure 4.2, and the requested one."""
        if self.variant == SINGLE:
            return (self.quantity,)
        every = (Quantity.MEMORY, Quantity.TIME, Quantity.ENERGY)
        return every if self.quantity in every else (*every, self.quantity)

    def network(self) -> nn.Module:
        count = 0 if self.variant == MLP else BLOCKS * LAYERS_OF_A_BLOCK
        widths = pairwise((len(self.encoding.nodes), *[self.width] * count))
        summed = SummedNetwork(
            [self._convolution(a, b) for a, b in widths],
            len(STATIC),
            self.width,
            layers=BLOCKS,
            per=1.0 if self.is_faithful else PER,
            outputs=len(self.tasks),
            dropped=LAYERS_OF_A_BLOCK if self.is_faithful else 1,
        )
        return PmgnsNetwork(summed, self.tasks, self.quantity, is_raw=self.is_raw)

    def _convolution(self, width_in: int, width_out: int) -> nn.Module:
        if self.variant in CONVOLUTIONS:
            return CONVOLUTIONS[self.variant](width_in, width_out)
        return sage(width_in, width_out, is_normalised=True)


PREDICTOR = Pmgns
