"""TraPPM's graph auto-encoder: embeddings from unlabelled graphs (thesis, Section 5.4.2).

Its decoder is the inner product of embeddings (Kipf and Welling, "Variational Graph Auto-Encoders",
2016).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from perfc.analyzers.graph.predictor import Say

from .networks.batches import GraphTensors
from .networks.message_passing import sage
from .networks.train import clock_s, short_products

EPSILON = 1e-15
"""Number that is added to the argument of a logarithm, as in torch_geometric's GAE."""
EPOCHS = 400
"""Passes over the graphs. Source: thesis, Section 5.5.3."""
LEARNING_RATE = 5e-4
"""Learning rate of Adam. Source: thesis, Section 5.5.3."""
DROPOUT = 0.5
"""Dropout after each layer except the last. Source: thesis, Section 5.4.2."""
NODES_PER_STEP = 8192
"""Nodes of a step of perfc's recipe; a step of the paper's has one graph."""


class GraphEncoder(nn.Module):
    """Encoder of four layers ``Dropout(ReLU(BatchNorm(SAGE(X, A))))``, 2c, c, c and c wide.

    The last layer has no dropout, as in the authors' program. ``width`` is c.
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        widths = (features, 2 * width, width, width, width)
        self.layers = nn.ModuleList(sage(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(b) for b in widths[1:])
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        last = len(self.layers) - 1
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            x = torch.relu(norm(layer(x, edges)))
            x = x if i == last else self.dropout(x)
        return x


def likeness(z: Tensor, pairs: Tensor) -> Tensor:
    """Return the inner product of the embeddings of each pair of nodes, ``[pairs]``.

    Its sigmoid ``Â`` is the predicted probability of an edge.
    """
    return (z[pairs[0]] * z[pairs[1]]).sum(1)


def reconstruction_loss(z: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Return ``L_BCE``: means of ``−log Â`` over edges, ``−log(1 − Â)`` over pairs without one.

    ``1 − σ(s)`` is computed as ``σ(−s)``, as for large ``s`` the difference is 0 in float32 and has
    no gradient.
    """
    loss = -(torch.sigmoid(likeness(z, positive)) + EPSILON).log().mean()
    return loss - (torch.sigmoid(-likeness(z, negative)) + EPSILON).log().mean()


def negatives(edges: Tensor, sizes: Sequence[int], generator: torch.Generator) -> Tensor:
    """Return random pairs of nodes without an edge, about as many as edges, ``[2, pairs]``.

    Both nodes are of one graph: pairs of different graphs would be too easy to recognize.
    """
    lengths = torch.tensor(sizes)
    starts = torch.cumsum(lengths, 0) - lengths
    nodes = int(lengths.sum())
    graph = torch.repeat_interleave(torch.arange(len(sizes)), lengths)
    # the source of each edge, with a random node of its graph as the target
    source = edges[0]
    share = torch.rand(edges.shape[1], generator=generator)
    graph_of_pair = graph[source]
    length = lengths[graph_of_pair]
    # float32 may round up to the length itself, which is the first node of the next graph
    target = starts[graph_of_pair] + torch.minimum((share * length).long(), length - 1)
    # a pair is one number here, for `isin`
    is_edge = torch.isin(source * nodes + target, edges[0] * nodes + edges[1])
    return torch.stack([source, target])[:, ~is_edge & (source != target)]


def pretrain(
    encoder: GraphEncoder,
    graphs: Sequence[GraphTensors],
    *,
    seed: int,
    limit_s: float,
    say: Say,
    is_faithful: bool = False,
) -> float:
    """Train and freeze an encoder in place, and return the mean loss of the last epoch.

    Args:
        encoder: encoder to train.
        graphs: features and edges of graphs; the sequence may read one on access.
        seed: random seed of the order and of pairs without an edge.
        limit_s: maximum processor time.
        say: gets the loss at the end.
        is_faithful: whether an update has one graph and 32 bits, as in the authors' program.
    """
    optimizer = torch.optim.Adam(encoder.parameters(), lr=LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)
    shuffler = random.Random(seed)
    start, mean, epoch = clock_s(), float("nan"), 0
    while epoch < EPOCHS and clock_s() - start < limit_s:
        encoder.train()
        losses: list[float] = []
        order = shuffler.sample(range(len(graphs)), len(graphs))
        # with a limit of one node every graph is a step by itself
        for part in _parts(graphs, order, 1 if is_faithful else NODES_PER_STEP):
            if losses and clock_s() - start > limit_s:
                break
            sizes = [len(g.x) for g in part]
            begins = [sum(sizes[:i]) for i in range(len(sizes))]
            x = torch.cat([g.x for g in part])
            edges = torch.cat([g.edge_index + b for g, b in zip(part, begins, strict=True)], 1)
            with short_products(x.device, wanted=not is_faithful):
                z = encoder(x, edges).float()
            loss = reconstruction_loss(z, edges, negatives(edges, sizes, generator))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(float(loss.detach()))
        mean, epoch = sum(losses) / max(len(losses), 1), epoch + 1
    seconds = clock_s() - start
    say(f"auto-encoder: {len(graphs):,} graphs, epoch {epoch} in {seconds:.0f} s, loss {mean:.4f}")
    for parameter in encoder.parameters():
        parameter.requires_grad_(False)
    encoder.eval()
    return mean


def _parts(
    graphs: Sequence[GraphTensors], order: Sequence[int], nodes: int
) -> Iterator[list[GraphTensors]]:
    """Yield lists of graphs with edges, each of at most ``nodes`` nodes or of one larger graph."""
    part: list[GraphTensors] = []
    filled = 0
    for i in order:
        graph = graphs[i]
        if not graph.edge_index.shape[1]:
            continue
        if part and filled + len(graph.x) > nodes:
            yield part
            part, filled = [], 0
        part.append(graph)
        filled += len(graph.x)
    if part:
        yield part
