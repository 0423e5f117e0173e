"""Layers of message passing and read-outs that the papers name, for several graphs in one batch.

Layers are those of PyTorch Geometric. Read-outs count a node as often as the operators it stands
for (`equal_nodes`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import GATConv, GCNConv, GINConv, SAGEConv

__all__ = ("GATConv", "GCNConv", "gin", "in_degree", "incoming", "pooled", "sage", "softmax_pooled")


def incoming(x: Tensor, edges: Tensor, nodes: int) -> Tensor:
    """Return the sum of the messages that each node receives, ``[nodes, features]``.

    Args:
        x: message of each edge, ``[edges, features]``.
        edges: source and target node of each edge, ``[2, edges]``.
        nodes: number of nodes.
    """
    return torch.zeros(nodes, x.shape[1], dtype=x.dtype, device=x.device).index_add(0, edges[1], x)


def in_degree(edges: Tensor, nodes: int) -> Tensor:
    """Return the number of edges that end at each node, ``[nodes]``."""
    return torch.bincount(edges[1], minlength=nodes)


def sage(width_in: int, width_out: int, *, is_normalised: bool = False) -> nn.Module:
    """Return GraphSAGE with the mean (Hamilton et al. 2017, Algorithm 1): ``W₁x + W₂ mean(x)``.

    Args:
        width_in: features of a node before the layer.
        width_out: features of a node after it.
        is_normalised: whether each node's result is divided by its Euclidean norm, as line 7 of the
            algorithm does.
    """
    return SAGEConv(width_in, width_out, normalize=is_normalised)


def gin(width_in: int, width_out: int) -> nn.Module:
    """Return a graph isomorphism layer (Xu et al. 2019, Eq. 4.1): ``MLP((1 + ε)x + sum(x))``."""
    layers = (nn.Linear(width_in, width_out), nn.ReLU(), nn.Linear(width_out, width_out))
    return GINConv(nn.Sequential(*layers), train_eps=True)


def pooled(
    x: Tensor, graph_of_node: Tensor, graphs: int, how: str, count: Tensor | None = None
) -> Tensor:
    """Return the sum, mean or maximum over the nodes of each graph, ``[graphs, features]``.

    Args:
        x: features of nodes, the graphs one after another, ``[nodes, features]``.
        graph_of_node: number of each node's graph, ``[nodes]``, sorted; every graph has a node.
        graphs: number of graphs.
        how: ``sum``, ``mean`` or ``max``.
        count: number of operators that each node stands for, ``[nodes]``; None for one each.
    """
    members = membership(graph_of_node, graphs, x.dtype, count)
    match how:
        case "max":
            # the mean of all nodes that have the maximum: segment_reduce gives wrong gradients
            # where several nodes share it, as equal operators do, and a mean divides the gradient
            # equally
            is_highest = (x == _highest(x, graph_of_node, graphs)[graph_of_node]).to(x.dtype)
            return members @ (x * is_highest) / (members @ is_highest)
        case "mean":
            return members @ x / members.sum(1, keepdim=True)
        case _:
            return members @ x


def membership(
    graph_of_node: Tensor, graphs: int, dtype: torch.dtype, count: Tensor | None = None
) -> Tensor:
    """Return a matrix that sums nodes by graph: the count of a node in the row of its graph.

    It is dense, ``[graphs, nodes]``: a mini-batch has few graphs, and products with it are faster
    than reductions of segments.
    """
    matrix = torch.zeros(graphs, len(graph_of_node), dtype=dtype, device=graph_of_node.device)
    nodes = torch.arange(len(graph_of_node), device=graph_of_node.device)
    matrix[graph_of_node, nodes] = 1.0 if count is None else count.to(dtype)
    return matrix


def _highest(x: Tensor, graph_of_node: Tensor, graphs: int) -> Tensor:
    """Return the maximum of each feature over the nodes of a graph, without a gradient."""
    lengths = torch.bincount(graph_of_node, minlength=graphs)
    return torch.segment_reduce(x.detach(), "max", lengths=lengths, axis=0)


def softmax_pooled(
    x: Tensor, graph_of_node: Tensor, graphs: int, count: Tensor | None = None
) -> Tensor:
    """Return the mean over each graph's nodes, weighted by each feature's softmax over them."""
    # less the maximum, so that exponentials do not overflow
    highest = _highest(x, graph_of_node, graphs)
    weight = (x - highest.index_select(0, graph_of_node)).exp()
    members = membership(graph_of_node, graphs, x.dtype, count)
    return members @ (weight * x) / (members @ weight)
