"""Graph layers of PyTorch Geometric against sums over edges by hand: time of a step, in turn.

    python -m benchmarks.graph_layers --threads 2

Each layer is called forward and backward on a drawn graph of as many nodes and edges as a
mini-batch of the papers' networks has. Both kinds hold the same weights and must give the same
numbers. Prints the least time of each and the median ratio of neighbouring runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import GATConv, GCNConv, GINConv, SAGEConv

from benchmarks.arguments import parser_of
from perfc_lab.papers.networks.message_passing import gin, in_degree, incoming, sage

NEGATIVE_SLOPE = 0.2
Layer = Callable[[Tensor, Tensor], Tensor]


def with_self_loops(edges: Tensor, nodes: int) -> Tensor:
    """Return the edges and one from every node to itself."""
    every = torch.arange(nodes)
    return torch.cat([edges, torch.stack([every, every])], dim=1)


def sage_by_hand(layer: SAGEConv, *, is_normalised: bool = False) -> Layer:
    """Return a layer that adds products of the node and of the mean of its neighbors."""

    def call(x: Tensor, edges: Tensor) -> Tensor:
        degree = in_degree(edges, len(x)).clamp(min=1)[:, None]
        mean = incoming(x.index_select(0, edges[0]), edges, len(x)) / degree
        out: Tensor = layer.lin_r(x) + layer.lin_l(mean)
        return nn.functional.normalize(out, dim=1) if is_normalised else out

    return call


def gcn_by_hand(layer: GCNConv) -> Layer:
    """Return the layer ``D^-½ (A + I) D^-½ x W`` with degrees of incoming edges."""

    def call(x: Tensor, edges: Tensor) -> Tensor:
        looped = with_self_loops(edges, len(x))
        root = in_degree(looped, len(x)).rsqrt()
        weight = (root[looped[0]] * root[looped[1]])[:, None]
        h: Tensor = layer.lin(x)
        return incoming(h[looped[0]] * weight, looped, len(x)) + layer.bias

    return call


def gat_by_hand(layer: GATConv) -> Layer:
    """Return a layer of one head of attention over incoming edges."""

    def call(x: Tensor, edges: Tensor) -> Tensor:
        looped = with_self_loops(edges, len(x))
        h: Tensor = layer.lin(x)
        source, target = h @ layer.att_src.reshape(-1), h @ layer.att_dst.reshape(-1)
        score = (source[looped[0]] + target[looped[1]])[:, None]
        score = nn.functional.leaky_relu(score, NEGATIVE_SLOPE)
        # the softmax over the edges of a node is the same after subtracting any constant
        weight = (score - score.detach().max()).exp()
        total = incoming(weight, looped, len(x)).clamp(min=1e-30)
        return incoming(h[looped[0]] * weight, looped, len(x)) / total + layer.bias

    return call


def gin_by_hand(layer: GINConv) -> Layer:
    """Return a layer that applies a perceptron to the node plus the sum of its neighbors."""

    def call(x: Tensor, edges: Tensor) -> Tensor:
        total = incoming(x.index_select(0, edges[0]), edges, len(x))
        out: Tensor = layer.nn((1 + layer.eps) * x + total)
        return out

    return call


def layers(width: int) -> dict[str, tuple[nn.Module, Layer]]:
    """Return layers of PyTorch Geometric and the same by hand, on the same weights."""
    plain, normalised = sage(width, width), sage(width, width, is_normalised=True)
    gcn, gat, isomorphism = GCNConv(width, width), GATConv(width, width), gin(width, width)
    return {
        "SAGE": (plain, sage_by_hand(plain)),
        "SAGE, normalised": (normalised, sage_by_hand(normalised, is_normalised=True)),
        "GCN": (gcn, gcn_by_hand(gcn)),
        "GAT": (gat, gat_by_hand(gat)),
        "GIN": (isomorphism, gin_by_hand(isomorphism)),
    }


def step_s(layer: Layer, x: Tensor, edges: Tensor) -> float:
    """Return the wall time of a forward and a backward call."""
    start = time.perf_counter()
    layer(x, edges).square().mean().backward()
    return time.perf_counter() - start


def main() -> None:
    """Print a line a layer."""
    parser = parser_of(__doc__, nodes=8000, edges=10000, width=128, threads=1, rounds=31)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    x = torch.randn(given.nodes, given.width, requires_grad=True)
    edges = torch.randint(given.nodes, (2, given.edges))
    edges = edges[:, edges[0] != edges[1]]
    print(f"{'layer':18s} {'PyG ms':>8s} {'by hand ms':>11s} {'ratio':>6s}")
    for name, (layer, by_hand) in layers(given.width).items():
        assert torch.allclose(layer(x, edges), by_hand(x, edges), atol=1e-4), name
        # in turn, as the machine's speed drifts; the first pair is warm-up
        pairs = [(step_s(layer, x, edges), step_s(by_hand, x, edges)) for _ in range(given.rounds)][
            1:
        ]
        ours, theirs = (min(p[i] for p in pairs) for i in (0, 1))
        ratio = median(a / b for a, b in pairs)
        print(f"{name:18s} {1e3 * ours:8.2f} {1e3 * theirs:11.2f} {ratio:6.2f}")


if __name__ == "__main__":
    main()
