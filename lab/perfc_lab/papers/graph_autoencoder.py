"""TraPPM's graph auto-encoder: embeddings learned from graphs that nobody measured (Section 5.4.2).

Also Kipf and Welling, "Variational Graph Auto-Encoders", 2016, for the inner-product decoder.
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
"""Addend below a logarithm, as in torch_geometric, GAE."""
EPOCHS = 400
"""Passes over the graphs. Source: thesis, Section 5.5.3."""
LEARNING_RATE = 5e-4
"""Rate of Adam. Source: thesis, Section 5.5.3."""
DROPOUT = 0.5
"""Dropout after each layer but the last. Source: thesis, Section 5.4.2."""
NODES_PER_STEP = 8192
"""Nodes of a step where the recipe is not followed, which takes one graph."""


class GraphEncoder(nn.Module):
    """Four times ``Dropout(ReLU(BatchNorm(SAGE(X, A))))``: features → 2c → c → c → c.

    After the last there is no dropout, as in the authors' program.
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
    """Return the inner product of the embeddings of each pair, ``[pairs]``.

    ``Â`` is its sigmoid.
    """
    return (z[pairs[0]] * z[pairs[1]]).sum(1)


def reconstruction_loss(z: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Return ``L_BCE``: means of ``−log Â`` over edges, ``−log(1 − Â)`` over pairs without one.

    ``1 − σ(s)`` is taken as ``σ(−s)``: the difference loses every digit, and with them its
    gradient, where ``s`` is large.
    """
    loss = -(torch.sigmoid(likeness(z, positive)) + EPSILON).log().mean()
    return loss - (torch.sigmoid(-likeness(z, negative)) + EPSILON).log().mean()


def negatives(edges: Tensor, sizes: Sequence[int], generator: torch.Generator) -> Tensor:
    """Return pairs without an edge, about as many as there are edges, ``[2, pairs]``.

    Both ends are of one graph, so that no pair is recognized by being of different graphs.
    """
    lengths = torch.tensor(sizes)
    starts = torch.cumsum(lengths, 0) - lengths
    nodes = int(lengths.sum())
    graph = torch.repeat_interleave(torch.arange(len(sizes)), lengths)
    source = edges[0]
    share = torch.rand(edges.shape[1], generator=generator)
    of = graph[source]  # graph of each pair
    # rounding of float32 may reach the length itself, which is the next graph's first node
    target = starts[of] + torch.minimum((share * lengths[of]).long(), lengths[of] - 1)
    # a pair as one number
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
    """Train in place, freeze and return the mean loss of the last epoch. No label is read.

    Args:
        encoder: to be trained.
        graphs: features and edges; may be read on access.
        seed: random seed of order and negative pairs.
        limit_s: processor time.
        say: called with the loss.
        is_faithful: whether an update is of one graph, in 32 bits, as in the authors' program.
    """
    optimiser = torch.optim.Adam(encoder.parameters(), lr=LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)
    shuffler = random.Random(seed)
    start, mean, epoch = clock_s(), float("nan"), 0
    while epoch < EPOCHS and clock_s() - start < limit_s:
        encoder.train()
        losses: list[float] = []
        order = shuffler.sample(range(len(graphs)), len(graphs))
        # every graph has a node or more: with a limit of 1 each makes a step alone
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
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
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
    """Yield the graphs that have an edge, those of at most ``nodes`` nodes at a time."""
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
