"""Merge operators of a graph that a network of a number of layers cannot distinguish.

A message-passing layer distinguishes two nodes by their features and messages. The blocks of a
model repeat, so that most of its nodes have equals: for timm's models and two layers a quarter of
the nodes remains. The method is color refinement (Weisfeiler and Leman, 1968) along the edges.
Layers give the same numbers as on the whole graph, up to rounding, with two exceptions in training:
dropout drops equal nodes together, and batch normalization counts a class once, so that a readout
may differ by a factor of two. Graphs are not merged with ``--faithful``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

import torch

from .batches import GraphTensors


def merged(graph: GraphTensors, layers: int) -> GraphTensors:
    """Return a graph with one node per class of equal nodes, and the number of nodes of each class.

    A class has the edges into its first node, each from the class of its source.

    Args:
        graph: graph to merge.
        layers: number of times that a network passes messages along the edges.
    """
    number = classes(graph, layers)
    first: dict[int, int] = {}
    for node, group in enumerate(number):
        first.setdefault(group, node)
    indices = torch.tensor(list(first.values()), dtype=torch.int64)
    is_first = torch.zeros(len(number), dtype=torch.bool)
    is_first[indices] = True
    class_of_node = torch.tensor(number, dtype=torch.int64)
    # nodes of a class receive equal messages, so that the edges into one of them suffice
    into_first = is_first[graph.edge_index[1]]
    return replace(
        graph,
        x=graph.x[indices],
        edge_index=class_of_node[graph.edge_index[:, into_first]],
        edge_attr=None if graph.edge_attr is None else graph.edge_attr[into_first],
        count=torch.bincount(class_of_node, minlength=len(indices)).to(graph.x.dtype),
    )


def classes(graph: GraphTensors, layers: int) -> list[int]:
    """Return the class of each node; classes are numbered in the order of their first node."""
    # a color is the number of a class: at first of equal features, then of equal messages as well
    colors = _numbered(row.tobytes() for row in graph.x.numpy())
    edge_labels = [0] * graph.edge_index.shape[1]
    if graph.edge_attr is not None:
        edge_labels = _numbered(row.tobytes() for row in graph.edge_attr.numpy())
    sources, targets = graph.edge_index.tolist()
    for _ in range(layers):
        received: list[list[tuple[int, int]]] = [[] for _ in colors]
        for source, target, label in zip(sources, targets, edge_labels, strict=True):
            received[target].append((label, colors[source]))
        # messages are sorted, as a layer sums them in any order
        colors = _numbered(
            (color, *sorted(messages)) for color, messages in zip(colors, received, strict=True)
        )
    return colors


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    """Return a number for each key, equal for equal keys, counted from 0 as they first occur."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
