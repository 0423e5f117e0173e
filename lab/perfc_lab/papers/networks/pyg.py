"""Data sets as PyG reads them: one item a measured row."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data, Dataset

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import Measurements

from .batches import GraphEncoder, GraphTensors


def every_fact(graph: ModelGraph, batch: float) -> GraphTensors:
    """Return all facts of nodes and tensors as they were counted, by the logarithm of one more."""
    nodes = np.stack(list(graph.ops.at(batch).values()), axis=1)
    edges = np.stack(list(graph.ops.edges_at(batch).values()), axis=1)
    return GraphTensors(
        torch.from_numpy(np.log1p(nodes)).float(),
        torch.from_numpy(graph.ops.edges),
        torch.from_numpy(np.log1p(edges)).float(),
    )


class MeasuredModels(Dataset):  # type: ignore[misc]
    """Rows of a data set with the graphs they ran.

    Item: ``x`` ``[nodes, features]``, ``edge_index`` ``[2, edges]``, ``edge_attr``
    ``[edges, features]``, ``y`` seconds, ``batch_size``, ``row`` the position in ``data.rows``.

    Args:
        data: rows, as `perfc.analyzers.graph.dataset.load` reads them or a split has them.
        graph_encoder: features; every fact by default.
    """

    def __init__(self, data: Measurements, graph_encoder: GraphEncoder = every_fact) -> None:
        super().__init__()
        self.data, self.graph_encoder = data, graph_encoder

    def len(self) -> int:
        """Return the number of rows, as PyG asks for it."""
        return len(self.data)

    def get(self, index: int) -> Data:
        """Return one row with its graph as PyG's item."""
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
