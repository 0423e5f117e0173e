"""SeerBlock: edges, nodes, a global node and the graph in turn (PerfSeer, Section 3.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .batches import Batch
from .message_passing import in_degree, incoming, perceptron, pooled, softmax_pooled


class SynMM(nn.Module):
    """Synergistic max-mean aggregation: a linear map of the maximum beside the mean (Figure 3)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(2 * width, width)

    def forward(self, x: Tensor, graph_of_node: Tensor, graphs: int) -> Tensor:
        both = [pooled(x, graph_of_node, graphs, how) for how in ("max", "mean")]
        out: Tensor = self.linear(torch.cat(both, dim=1))
        return out


class SeerBlock(nn.Module):
    """Equations 1–8 of PerfSeer; gives ``u'``, ``[graphs, width]``.

    The sums ``v + z`` (Eq. 4) and ``v̄ + z`` (Eq. 6) need vectors of one width, which the paper does
    not say how to come by: here a linear map takes nodes, edges and graphs to the hidden width
    first. With 256 that gives about the 1.02 M parameters that the paper states.

    Args:
        node: features of a node.
        edge: features of an edge; 0 leaves out their own features, not the edges.
        whole: features of the graph; 0 for none.
        width: 256 in the paper.
        has_syn_mm: else nodes are averaged for the graph (the ablation of Table 2).
        has_global_node: else there is no ``z`` (the ablation of Table 2).
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
        v = self.node_in(batch.x)
        of, graphs = batch.graph_of_node, batch.graphs
        u = [] if self.whole_in is None else [self.whole_in(batch.u)]
        z = softmax_pooled(v, of, graphs) if self.phi_z is not None else None

        received = self.received(batch, v)
        seen = v if z is None else v + z[of]
        v = self.phi_v(torch.cat([received, seen, *(x[of] for x in u)], dim=1))  # Eq. 4

        parts = [
            pooled(v, of, graphs, "mean") if self.syn_mm is None else self.syn_mm(v, of, graphs)
        ]  # Eq. 7
        if self.phi_z is not None and z is not None:
            parts.append(self.phi_z(softmax_pooled(v, of, graphs) + z))  # Eqs. 5 and 6
        out: Tensor = self.phi_u(torch.cat([*parts, *u], dim=1))  # Eq. 8
        return out

    def received(self, batch: Batch, v: Tensor) -> Tensor:
        """Updated edges (Eq. 2), averaged at the node they end at (Eq. 3)."""
        source, target = batch.edge_index
        ends = [v[source], v[target]]
        own = [] if self.edge_in is None else [self.edge_in(batch.edge_attr)]
        e: Tensor = self.phi_e(torch.cat([*own, *ends], dim=1))
        degree = in_degree(batch.edge_index, len(v)).clamp(min=1)[:, None]
        return incoming(e, batch.edge_index, len(v)) / degree
