"""Data sets for PyTorch Geometric (PyG): an item for each measured row."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data, Dataset

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import Measurements

from .batches import GraphEncoder, GraphTensors


def every_fact(graph: ModelGraph, batch: float) -> GraphTensors:
    """Return all counts of nodes and tensors as features, each x as log(1 + x)."""
    nodes = np.stack(list(graph.ops.at(batch).values()), axis=1)
    edges = np.stack(list(graph.ops.edges_at(batch).values()), axis=1)
    return GraphTensors(
        torch.from_numpy(np.log1p(nodes)).float(),
        torch.from_numpy(graph.ops.edges),
        torch.from_numpy(np.log1p(edges)).float(),
    )


class MeasuredModels(Dataset):  # type: ignore[misc]
    """Rows of a data set, each with the graph of its model.

    An item has ``x`` ``[nodes, features]``, ``edge_index`` ``[2, edges]``, ``edge_attr``
    ``[edges, features]``, ``y`` in seconds, ``batch_size``, and ``row``, its position in
    ``data.rows``.

    Args:
        data: rows, as `perfc.analyzers.graph.dataset.load` reads them, or a part of them.
        graph_encoder: returns the features of a graph; by default all counts.
    """

    def __init__(self, data: Measurements, graph_encoder: GraphEncoder = every_fact) -> None:
        super().__init__()
        self.data, self.graph_encoder = data, graph_encoder

    def len(self) -> int:
        """Return the number of rows; PyG calls it."""
        return len(self.data)

    def get(self, index: int) -> Data:
        """Return the item of one row; PyG calls it."""
        row = self.data.rows[index]
        tensors = self.graph_encoder(self.data.graph(row), float(row.batch))
        item = Data(
            x=tensors.x,
            edge_index=tensors.edge_index,
            edge_attr=tensors.edge_attr,
            y=torch.tensor([row.time_s]),
        )
        item.batch_size, item.row = row.batch, index
        return item
