"""SeerBlock: updates of edges, nodes, a global node and the graph (PerfSeer, Section 3.2).

`seernet` and `seernet_multi` have heads that read its result.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .networks.batches import Batch
from .networks.message_passing import in_degree, incoming, pooled, softmax_pooled
from .networks.network_predictor import perceptron


class SynMM(nn.Module):
    """Synergistic max-mean aggregation: a linear map of the maximum and the mean (Figure 3)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(2 * width, width)

    def forward(
        self, x: Tensor, graph_of_node: Tensor, graphs: int, count: Tensor | None = None
    ) -> Tensor:
        both = [pooled(x, graph_of_node, graphs, kind, count) for kind in ("max", "mean")]
        out: Tensor = self.linear(torch.cat(both, dim=1))
        return out


class SeerBlock(nn.Module):
    """Equations 1–8 of PerfSeer, which return the updated graph ``u'``, ``[graphs, width]``.

    The sums ``v + z`` (Eq. 4) and ``v̄ + z`` (Eq. 6) need vectors of one width, and the paper does
    not state how nodes get it. Here, linear maps of nodes, edges and graphs to the hidden width
    come first. With width 256 the network has 1.00 M parameters; in the paper it has 1.02 M.

    Args:
        node: number of features of a node.
        edge: number of features of an edge; with 0, messages have only features of nodes.
        whole: number of features of the graph; with 0, it has none.
        width: width of the layers, 256 in the paper.
        has_syn_mm: whether nodes are summed up by `SynMM`; by their mean in an ablation of Table 2.
        has_global_node: whether there is a global node ``z``; not in an ablation of Table 2.
    """

    def __init__(
        self,
        node: int,
        edge: int,
        whole: int,
        width: int,
        *,
        has_syn_mm: bool = True,
        has_global_node: bool = True,
    ) -> None:
        super().__init__()
        self.width = width
        self.has_global_node = has_global_node
        self.node_in = nn.Linear(node, width)
        self.edge_in = nn.Linear(edge, width) if edge else None
        self.whole_in = nn.Linear(whole, width) if whole else None
        self.phi_e = perceptron(((3 if edge else 2) * width, width))
        self.phi_v = perceptron(((3 if whole else 2) * width, width))
        self.phi_z = perceptron((width, width, width)) if has_global_node else None
        parts = 1 + has_global_node + bool(whole)
        self.phi_u = perceptron((parts * width, width))
        self.syn_mm = SynMM(width) if has_syn_mm else None

    def forward(self, batch: Batch) -> Tensor:
        of, graphs, count = batch.graph_of_node, batch.graphs, batch.count
        u = [] if self.whole_in is None else [self.whole_in(batch.u)]
        z = None
        if self.phi_z is not None:
            z = softmax_pooled(self.node_in(batch.x), of, graphs, count)

        v = self.updated(batch, z, u)

        parts = [
            pooled(v, of, graphs, "mean", count)
            if self.syn_mm is None
            else self.syn_mm(v, of, graphs, count)
        ]  # Eq. 7
        if self.phi_z is not None and z is not None:
            parts.append(self.phi_z(softmax_pooled(v, of, graphs, count) + z))  # Eqs. 5 and 6
        out: Tensor = self.phi_u(torch.cat([*parts, *u], dim=1))  # Eq. 8
        return out

    def updated(self, batch: Batch, z: Tensor | None, u: list[Tensor]) -> Tensor:
        """Return the nodes, updated by messages, the global node and the graph (Eq. 4).

        ``W [ē, v + z, u]`` is computed as ``W₀ē + W₁v + (W₁z + W₂u)``, with the last part once per
        graph.
        """
        linear = first_of(self.phi_v)
        by_part = torch.split(linear.weight, self.width, dim=1)
        whole = linear.bias.expand(batch.graphs, -1)
        if z is not None:
            whole = whole + z @ by_part[1].T
        for vector, weight in zip(u, by_part[2:], strict=True):
            whole = whole + vector @ weight.T
        received = self.received(batch) @ by_part[0].T
        from_nodes = through(batch.x, self.node_in, by_part[1])
        return torch.relu(received + from_nodes + whole.index_select(0, batch.graph_of_node))

    def received(self, batch: Batch) -> Tensor:
        """Return the mean of the updated edges (Eq. 2) that end at each node (Eq. 3).

        ``W [e, s, t]`` is computed as ``W₀e + W₁s + W₂t``, so that products of nodes are computed
        once per node and not once per edge.
        """
        source, target = batch.edge_index
        linear = first_of(self.phi_e)
        *of_edge, of_source, of_target = torch.split(linear.weight, self.width, dim=1)
        x, nodes = batch.x, len(batch.x)
        e = through(x, self.node_in, of_source).index_select(0, source)
        e = e + (through(x, self.node_in, of_target) + linear.bias).index_select(0, target)
        if self.edge_in is not None and batch.edge_attr is not None:
            e = e + through(batch.edge_attr, self.edge_in, of_edge[0])
        degree = in_degree(batch.edge_index, nodes).clamp(min=1)[:, None]
        return incoming(torch.relu(e), batch.edge_index, nodes) / degree


def first_of(layers: nn.Sequential) -> nn.Linear:
    """Return the first layer."""
    layer = layers[0]
    assert isinstance(layer, nn.Linear)
    return layer


def through(x: Tensor, first: nn.Linear, weight: Tensor) -> Tensor:
    """Return ``weight @ first(x)``; weights are multiplied first, as ``x`` has more rows."""
    return nn.functional.linear(x, weight @ first.weight, weight @ first.bias)
