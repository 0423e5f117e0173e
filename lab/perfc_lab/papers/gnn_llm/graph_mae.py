"""Stage 1, GraphMAE: a network learns graphs by restoring hidden operators (Section 7.4.3).

Hou et al., "GraphMAE: Self-Supervised Masked Graph Autoencoders", KDD 2022; settings of Table 7.7.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from ..networks.batches import GraphTensors
from ..networks.message_passing import incoming

MASK_RATE = 0.5
"""Share of the operators that are hidden. Source: thesis, Table 7.7."""
REPLACE_RATE = 0.1
"""Share of the hidden operators that get the features of another operator in place of the mask."""
ALPHA = 2.0
"""Exponent of the scaled cosine error. Source: thesis, Table 7.7."""
LAYERS = 5
"""Layers of the encoder. Source: thesis, Table 7.7."""
INPUT_DROPOUT = 0.2
"""Dropout of the features. Source: thesis, Table 7.7."""
LEARNING_RATE = 5e-4
"""Learning rate of Adam, without a schedule. Source: thesis, Table 7.7."""
EPOCHS = 500
"""Epochs of the training. Source: thesis, Table 7.7."""
GRAPHS_PER_STEP = 128
"""Graphs of a step in the preset ``paper``. Source: thesis, Table 7.7."""


class GinLayer(nn.Module):
    """Layer of Eq. 7.4: ``(A + (1 + ε)I) MLP(H)``, ``MLP(Z) = ReLU(BN(ZW₁ + b₁))W₂ + b₂``.

    ``ε`` is learned and starts at 0, as Xu et al. have it; the equation leaves the 1 out.
    """

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.first = nn.Linear(width_in, width_out)
        self.norm = nn.BatchNorm1d(width_out)
        self.second = nn.Linear(width_out, width_out)
        self.epsilon = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.second(torch.relu(self.norm(self.first(x))))
        # messages are the sources' values, summed at the targets
        return (1 + self.epsilon) * h + incoming(h[edges[0]], edges, len(h))


class GinEncoder(nn.Module):
    """Encoder: dropout of the features, then layers, each with batch normalisation and PReLU.

    Args:
        features: number of features of an operator, 44.
        width: hidden units, 1,024 in Table 7.7.
        layers: number of layers.
    """

    def __init__(self, features: int, width: int, layers: int = LAYERS) -> None:
        super().__init__()
        widths = (features, *[width] * layers)
        self.dropout = nn.Dropout(INPUT_DROPOUT)
        self.layers = nn.ModuleList(GinLayer(widths[i], width) for i in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
        self.activations = nn.ModuleList(nn.PReLU() for _ in range(layers))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = self.dropout(x)
        for layer, norm, activation in zip(self.layers, self.norms, self.activations, strict=True):
            x = leaky(norm(layer(x, edges)), activation.get_parameter("weight"))
        return x


def leaky(x: Tensor, slope: Tensor) -> Tensor:
    """Return PReLU with one slope; the gradient of PyTorch's takes four times as long on a CPU."""
    return slope * x + (1 - slope) * torch.relu(x)


class GraphMae(nn.Module):
    """An encoder, and a decoder of one GIN layer that restores the features of hidden operators.

    Args:
        features: number of features of an operator.
        width: hidden units.
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.encoder = GinEncoder(features, width)
        self.mask = nn.Parameter(torch.zeros(1, features))
        self.bridge = nn.Linear(width, width, bias=False)
        self.decoder = GinLayer(width, features)

    def loss(self, x: Tensor, edges: Tensor, generator: torch.Generator) -> Tensor:
        """Return the scaled cosine error of the hidden operators, a random half of all.

        Args:
            x: features of the operators, ``[nodes, features]``.
            edges: source and target of each edge, ``[2, edges]``.
            generator: random generator that chooses the hidden operators.
        """
        hidden = torch.randperm(len(x), generator=generator)[: max(round(MASK_RATE * len(x)), 1)]
        # some get the features of others in place of the mask, as in the paper, since no operator
        # has the mask when the encoder is used
        replaced = hidden[: round(REPLACE_RATE * len(hidden))]
        others = torch.randint(len(x), (len(replaced),), generator=generator)
        is_hidden = torch.zeros(len(x), 1)
        is_hidden[hidden[len(replaced) :]] = 1.0
        hidden, is_hidden = hidden.to(x.device), is_hidden.to(x.device)
        shown = x.index_copy(0, replaced.to(x.device), x[others.to(x.device)])
        z = self.encoder(shown * (1 - is_hidden) + self.mask * is_hidden, edges)
        # hidden operators are set to 0 again, so that the decoder restores them from their
        # neighbours
        keep = torch.ones(len(x), 1, device=x.device).index_fill(0, hidden, 0.0)
        restored = self.decoder(self.bridge(z) * keep, edges)
        return scaled_cosine_error(restored[hidden], x[hidden])


def scaled_cosine_error(restored: Tensor, x: Tensor) -> Tensor:
    """Return the mean of ``(1 − cos)^α`` over nodes, from two tables ``[nodes, features]``."""
    cosine = nn.functional.cosine_similarity(restored.float(), x.float(), dim=1)
    return (1 - cosine).clamp_min(0.0).pow(ALPHA).mean()


def side_by_side(
    graphs: Sequence[GraphTensors], generator: random.Random, most: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the features and the edges of ``most`` graphs at a time as one graph, in random order.

    Every graph comes once. Features are ``[nodes, features]``, edges ``[2, edges]``.

    Args:
        graphs: graphs as tensors; the sequence may encode one on access.
        generator: random generator of the order.
        most: number of graphs at a time.
    """
    order = generator.sample(range(len(graphs)), len(graphs))
    for start in range(0, len(order), most):
        part = [graphs[i] for i in order[start : start + most]]
        # numbers of nodes in edges continue from graph to graph
        begin, edges = 0, []
        for graph in part:
            edges.append(graph.edge_index + begin)
            begin += len(graph.x)
        yield torch.cat([g.x for g in part]), torch.cat(edges, dim=1)
