"""Mini-batches for networks: a graph at one batch size is passed once for all rows measured on it.

`RowBatches` divides measured rows; a `Batch` is what a network is called with.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.ir.record import frozen

NODES_PER_BATCH = 8192
"""Default number of nodes of a mini-batch; a graph with more nodes is a mini-batch alone."""


@dataclass(frozen=True, eq=False)
class GraphTensors:
    """Features of one graph at one batch size.

    Args:
        x: features of nodes, ``[nodes, features]``.
        edge_index: source and target node of each edge, ``[2, edges]``.
        edge_attr: features of edges, ``[edges, features]``; None if the network reads none.
        u: features of the whole graph, ``[features]``; None if there are none.
        count: number of equal operators that a node stands for, ``[nodes]``; None for one each.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None = None
    u: Tensor | None = None
    count: Tensor | None = None

    @property
    def operators(self) -> int:
        """Return the number of operators in the graph, duplicates included."""
        return len(self.x) if self.count is None else int(self.count.sum())


@dataclass(frozen=True, eq=False)
class Batch:
    """Several graphs as one without edges between them, and the rows measured on each.

    Args:
        x: features of nodes, ``[nodes, features]``.
        edge_index: source and target of each edge among all nodes, ``[2, edges]``.
        edge_attr: features of edges, ``[edges, features]``, or None.
        u: features of whole graphs, ``[graphs, features]``, or None.
        graph_of_node: position of each node's graph, ``[nodes]``, sorted.
        graph_of_row: position of each row's graph, ``[rows]``.
        row: features of rows, as batch size, machine and setting, ``[rows, features]``.
        y: measured quantities, scaled, ``[rows]``.
        index: positions of the rows in the measurements, ``[rows]``.
        graphs: number of graphs.
        count: number of equal operators that a node stands for, ``[nodes]``; None for one each.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    u: Tensor | None
    graph_of_node: Tensor
    graph_of_row: Tensor
    row: Tensor
    y: Tensor
    index: Tensor
    graphs: int
    count: Tensor | None = None

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device; ``index`` stays on the host."""
        tensors = {n: t for n, t in vars(self).items() if isinstance(t, Tensor) and n != "index"}
        moved: dict[str, Any] = {n: t.to(device) for n, t in tensors.items()}
        return replace(self, **moved)


@frozen
class LogScale:
    """Scale of numbers of many magnitudes: their logarithm, standardised by that of training rows.

    Args:
        mean: mean of the logarithms.
        deviation: standard deviation of the logarithms.
    """

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> LogScale:
        """Return the scale of values that are trained on."""
        logs = [log(v) for v in values]
        mean = sum(logs) / len(logs)
        variance = sum((x - mean) ** 2 for x in logs) / len(logs)
        # equal values have a deviation of 0, and numbers are divided by it
        return cls(mean, max(variance**0.5, 1e-3))

    def scaled(self, value: float) -> float:
        """Return a number as a network sees it."""
        return (log(value) - self.mean) / self.deviation

    def value(self, scaled: float) -> float:
        """Return the number that a network predicts as ``scaled``."""
        # an untrained network may predict numbers that overflow; e^80 is beyond any quantity
        return exp(min(scaled * self.deviation + self.mean, 80.0))


@frozen
class UnitScale:
    """Scale of numbers that are learned in another unit, as in the authors' programs.

    These are the programs of DIPPM and TraPPM.

    Args:
        unit: size of that unit in the unit of the quantity.
    """

    unit: float

    def scaled(self, value: float) -> float:
        """Return a number in the unit."""
        return value / self.unit

    def value(self, scaled: float) -> float:
        """Return a number of the unit in the unit of the quantity."""
        return scaled * self.unit


Scale = LogScale | UnitScale


def scale_of(numbers: Sequence[float]) -> Scale:
    """Return the scale of the numbers in a card: mean and deviation of a logarithm, or one unit."""
    return UnitScale(*numbers) if len(numbers) == 1 else LogScale(*numbers)


@dataclass(frozen=True, eq=False)
class Standard:
    """Scale of a table that gives its columns the mean 0 and the deviation 1 over training rows.

    Args:
        mean: means of the columns, ``[features]``.
        deviation: their deviations, ``[features]``; infinite for a constant column.
    """

    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, parts: Sequence[Tensor]) -> Standard:
        """Return the standard of tables with equal columns, without concatenating them."""
        count = sum(len(p) for p in parts)
        mean = sum((p.double().sum(0) for p in parts), torch.zeros(1)) / max(count, 1)
        square = sum((((p.double() - mean) ** 2).sum(0) for p in parts), torch.zeros(1))
        deviation = (square / max(count, 1)).sqrt()
        # a constant column, divided by infinity, becomes 0
        return cls(mean.float(), torch.where(deviation < 1e-6, torch.inf, deviation).float())

    def __call__(self, table: Tensor) -> Tensor:
        """Return the table standardised, and clipped at ten deviations against outliers."""
        return ((table - self.mean) / self.deviation).clamp(-10.0, 10.0)


GraphEncoder = Callable[[ModelGraph, float], GraphTensors]
"""Function that returns the features of a graph at a batch size."""
RowEncoder = Callable[[Measurements, GraphRow], "NDArray[np.float64] | Sequence[float]"]
"""Function that returns the features of a row that its graph does not have."""
GraphAtBatch = tuple[str, int]
"""Name of a graph, and the batch size of its features."""


class RowBatches:
    """Rows of measurements as mini-batches of whole graphs, each at the batch size of its rows.

    Args:
        data: rows and graphs.
        quantity: predicted quantity.
        graph_encoder: returns the features of a graph; called once for each batch size of its rows.
        row_encoder: returns the features of a row that its graph does not have.
        scale: scale of ``y``.
        nodes: maximum nodes of a mini-batch of several graphs; equal operators count each.
        rows: maximum rows of such a mini-batch, in place of nodes; 0 to limit nodes.
        cache: encoded graphs, shared between training and validation.
        filler: number that extends rows of features to the length of the longest.
    """

    def __init__(
        self,
        data: Measurements,
        quantity: Quantity,
        graph_encoder: GraphEncoder,
        row_encoder: RowEncoder,
        scale: Scale,
        *,
        nodes: int = NODES_PER_BATCH,
        rows: int = 0,
        cache: dict[GraphAtBatch, GraphTensors] | None = None,
        filler: float = 0.0,
    ) -> None:
        self.encode = graph_encoder
        self.data, self.quantity, self.scale = data, quantity, scale
        self.graphs = {} if cache is None else cache
        self.members: dict[GraphAtBatch, list[int]] = {}
        for i, row in enumerate(data.rows):
            key = row.graph, row.batch
            self.members.setdefault(key, []).append(i)
        self.sizes = {key: self.size(key) for key in self.members}
        # a mini-batch is limited in rows if a number is given, else in operators
        self.most = rows or nodes
        self.weights = {k: len(m) for k, m in self.members.items()} if rows else self.sizes
        encoded = [list(map(float, row_encoder(data, row))) for row in data.rows]
        width = max(map(len, encoded), default=0)
        filled = [[*row, *[filler] * (width - len(row))] for row in encoded]
        self.row = torch.tensor(filled, dtype=torch.float32).reshape(len(encoded), width)
        values = [row.value(quantity) for row in data.rows]
        # a row without the quantity has NaN
        scaled = [scale.scaled(v) if v == v and v > 0 else float("nan") for v in values]
        self.y = torch.tensor(scaled, dtype=torch.float32)

    def __len__(self) -> int:
        return len(self.data.rows)

    def size(self, key: GraphAtBatch) -> int:
        """Return the number of operators of a graph."""
        return self.tensors(key).operators

    def tensors(self, key: GraphAtBatch) -> GraphTensors:
        """Return the features of a graph at a batch size, which are encoded once."""
        if key not in self.graphs:
            graph, batch = key
            self.graphs[key] = self.encode(self.data.graphs[graph], float(batch))
        return self.graphs[key]

    def epoch(self, generator: random.Random | None = None) -> Iterator[Batch]:
        """Yield mini-batches with every row once; in random order if a generator is given."""
        keys = sorted(self.members, key=lambda k: (self.sizes[k], k))
        chunks: list[list[GraphAtBatch]] = []
        if generator is not None:
            # graphs of similar size are in one mini-batch, but other ones in each epoch
            jitter = {k: self.sizes[k] * generator.uniform(0.5, 2.0) for k in keys}
            keys.sort(key=jitter.__getitem__)
        filled = self.most  # full, so that the first graph opens the first chunk
        for key in keys:
            weight = self.weights[key]
            if filled + weight > self.most:
                chunks.append([])
                filled = 0
            chunks[-1].append(key)
            filled += weight
        if generator is not None:
            generator.shuffle(chunks)
        for chunk in chunks:
            yield self.collated(chunk)

    def collated(self, keys: Sequence[GraphAtBatch]) -> Batch:
        """Return the graphs and all their rows as one batch."""
        graphs = [self.tensors(k) for k in keys]
        sizes = torch.tensor([len(g.x) for g in graphs])
        starts = torch.cumsum(sizes, 0) - sizes
        index = [i for k in keys for i in self.members[k]]
        counts = torch.tensor([len(self.members[k]) for k in keys])
        # all graphs have these features, or none has
        edge_attr = [g.edge_attr for g in graphs if g.edge_attr is not None]
        u = [g.u for g in graphs if g.u is not None]
        count = [g.count for g in graphs if g.count is not None]
        rows = torch.tensor(index)
        every = torch.arange(len(keys))  # positions of the graphs
        return Batch(
            torch.cat([g.x for g in graphs]),
            torch.cat([g.edge_index + s for g, s in zip(graphs, starts, strict=True)], dim=1),
            torch.cat(edge_attr) if edge_attr else None,
            torch.stack(u) if u else None,
            torch.repeat_interleave(every, sizes),
            torch.repeat_interleave(every, counts),
            self.row[rows],
            self.y[rows],
            rows,
            len(keys),
            torch.cat(count) if count else None,
        )
