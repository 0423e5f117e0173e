"""Message passing on graphs side by side: the layers and read-outs that the papers name."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

NEGATIVE_SLOPE = 0.2


def incoming(x: Tensor, edges: Tensor, nodes: int) -> Tensor:
    """Sum over edges of what their sources send, at each target, ``[nodes, features]``.

    Args:
        x: ``[edges, features]``, one message an edge.
        edges: source and target, ``[2, edges]``.
        nodes: how many.
    """
    return torch.zeros(nodes, x.shape[1], dtype=x.dtype, device=x.device).index_add(0, edges[1], x)


def in_degree(edges: Tensor, nodes: int) -> Tensor:
    """Edges that end at each node, ``[nodes]``."""
    return torch.bincount(edges[1], minlength=nodes)


def with_self_loops(edges: Tensor, nodes: int) -> Tensor:
    """Edges and one from every node to itself."""
    each = torch.arange(nodes, device=edges.device)
    return torch.cat([edges, torch.stack([each, each])], dim=1)


class Sage(nn.Module):
    """GraphSAGE with the mean (Hamilton et al., NeurIPS 2017, Algorithm 1): ``W₁x + W₂ mean(x)``.

    Args:
        width_in: features of a node.
        width_out: after the layer.
        is_normalised: whether each node's result is divided by its Euclidean norm, as line 7 of the
            algorithm does.
    """

    def __init__(self, width_in: int, width_out: int, *, is_normalised: bool = False) -> None:
        super().__init__()
        self.own = nn.Linear(width_in, width_out)
        self.neighbours = nn.Linear(width_in, width_out, bias=False)
        self.is_normalised = is_normalised

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        degree = in_degree(edges, len(x)).clamp(min=1)[:, None]
        out: Tensor = self.own(x) + self.neighbours(
            incoming(x.index_select(0, edges[0]), edges, len(x)) / degree
        )
        return nn.functional.normalize(out, dim=1) if self.is_normalised else out


class Gcn(nn.Module):
    """Graph convolution (Kipf and Welling, ICLR 2017, Eq. 2): ``D^-½ (A + I) D^-½ x W``.

    Degrees are those of incoming edges.
    """

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        looped = with_self_loops(edges, len(x))
        root = in_degree(looped, len(x)).rsqrt()
        weight = (root[looped[0]] * root[looped[1]])[:, None]
        h: Tensor = self.linear(x)
        return incoming(h[looped[0]] * weight, looped, len(x)) + self.bias


class Gat(nn.Module):
    """Graph attention, one head (Veličković et al., ICLR 2018, Eqs. 1, 3 and 4)."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width_out, bias=False)
        self.source = nn.Linear(width_out, 1, bias=False)
        self.target = nn.Linear(width_out, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        looped = with_self_loops(edges, len(x))
        h: Tensor = self.linear(x)
        score = self.source(h)[looped[0]] + self.target(h)[looped[1]]
        score = nn.functional.leaky_relu(score, NEGATIVE_SLOPE)
        weight = (score - score.detach().max()).exp()
        total = incoming(weight, looped, len(x)).clamp(min=1e-30)
        return incoming(h[looped[0]] * weight, looped, len(x)) / total + self.bias


class Gin(nn.Module):
    """Graph isomorphism network (Xu et al., ICLR 2019, Eq. 4.1): ``MLP((1 + ε)x + sum(x))``."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(
            nn.Linear(width_in, width_out), nn.ReLU(), nn.Linear(width_out, width_out)
        )

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        out: Tensor = self.mlp(
            (1 + self.epsilon) * x + incoming(x.index_select(0, edges[0]), edges, len(x))
        )
        return out


def pooled(
    x: Tensor, graph_of_node: Tensor, graphs: int, how: str, count: Tensor | None = None
) -> Tensor:
    """Nodes of each graph as one, ``[graphs, features]``.

    Args:
        x: ``[nodes, features]``, graphs one after another.
        graph_of_node: ``[nodes]``, sorted; every graph has a node.
        graphs: how many.
        how: ``sum``, ``mean`` or ``max``.
        count: ``[nodes]``, nodes that each stands for; None for one each.
    """
    each = membership(graph_of_node, graphs, x.dtype, count)
    match how:
        case "max":
            # segment_reduce gives wrong gradients for maxima that several nodes share, as equal
            # operators do: the mean of those that are as large shares them equally.
            is_highest = (x == _highest(x, graph_of_node, graphs)[graph_of_node]).to(x.dtype)
            return each @ (x * is_highest) / (each @ is_highest)
        case "mean":
            return each @ x / each.sum(1, keepdim=True)
        case _:
            return each @ x


def membership(
    graph_of_node: Tensor, graphs: int, dtype: torch.dtype, count: Tensor | None = None
) -> Tensor:
    """How many nodes of each graph a node stands for, ``[graphs, nodes]``.

    Dense, as a mini-batch has few graphs: its products are faster than reductions of segments.
    """
    found = torch.zeros(graphs, len(graph_of_node), dtype=dtype, device=graph_of_node.device)
    nodes = torch.arange(len(graph_of_node), device=graph_of_node.device)
    found[graph_of_node, nodes] = 1.0 if count is None else count.to(dtype)
    return found


def _highest(x: Tensor, graph_of_node: Tensor, graphs: int) -> Tensor:
    lengths = torch.bincount(graph_of_node, minlength=graphs)
    return torch.segment_reduce(x.detach(), "max", lengths=lengths, axis=0)


def softmax_pooled(
    x: Tensor, graph_of_node: Tensor, graphs: int, count: Tensor | None = None
) -> Tensor:
    """Mean of the nodes of each graph, weighted by the softmax of each feature over the nodes."""
    highest = _highest(x, graph_of_node, graphs)
    weight = (x - highest.index_select(0, graph_of_node)).exp()
    each = membership(graph_of_node, graphs, x.dtype, count)
    return each @ (weight * x) / (each @ weight)


def perceptron(widths: tuple[int, ...], dropout: float = 0.0) -> nn.Sequential:
    """Linear layers with ReLU and dropout behind each."""
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(widths):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
        if dropout:
            layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)
