"""The data sets as PyG's: raw tables beside processed graphs, one item a measured row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch_geometric.data import Data, Dataset

from perfc.analyzers.graph.dataset import CARD, ROWS, load
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.rows import Measurements

from ...datasets import dataset
from .batches import GraphTensors

if TYPE_CHECKING:
    from .batches import GraphEncoder, RowEncoder


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
        root: folder of the data sets, as `perfc data build` writes it.
        name: name of the data set.
        tables: folder of the raw tables; only read where the data set is not built yet.
        data: rows already loaded, for a split; all by default.
        graph_encoder: features; every fact by default.
        row_encoder: further features of a row, as ``row_attr`` ``[1, features]``.
    """

    def __init__(
        self,
        root: Path,
        name: str,
        *,
        tables: Path | None = None,
        data: Measurements | None = None,
        graph_encoder: GraphEncoder = every_fact,
        row_encoder: RowEncoder | None = None,
    ) -> None:
        self.folder, self.name, self.tables = Path(root), name, tables
        self.graph_encoder, self.row_encoder = graph_encoder, row_encoder
        self.cache: dict[tuple[str, int], GraphTensors] = {}
        super().__init__(str(self.folder / name))
        self.data = load(self.folder, name) if data is None else data

    @property
    def raw_dir(self) -> str:
        """Return the tables' folder."""
        return str(self.tables or self.folder)

    @property
    def processed_dir(self) -> str:
        """Return the path of the folder that holds the processed graphs, measurements and card."""
        return str(self.folder / self.name / "processed")

    @property
    def raw_file_names(self) -> list[str]:
        """Return the names of the source tables; an empty list once the data set is built."""
        return list(dataset(self.name).files) if self.tables else []

    @property
    def processed_file_names(self) -> list[str]:
        """Return the rows and the card with the digests."""
        return [ROWS, CARD]

    def process(self) -> None:
        """Encode what is not encoded yet."""
        dataset(self.name).build(Path(self.raw_dir), self.folder, lambda _: None)

    def len(self) -> int:
        """Return the rows."""
        return len(self.data)

    def get(self, index: int) -> Data:
        """Return one row; features of a graph at a batch are made once."""
        row = self.data.rows[index]
        key = (row.graph, row.batch)
        cached = self.cache.get(key)
        if cached is None:
            cached = self.graph_encoder(self.data.graph(row), float(row.batch))
            self.cache[key] = cached
        item = Data(
            x=cached.x,
            edge_index=cached.edge_index,
            edge_attr=cached.edge_attr,
            y=torch.tensor([row.time_s]),
        )
        item.batch_size, item.row = row.batch, index
        if self.row_encoder is not None:
            attributes = list(map(float, self.row_encoder(self.data, row)))
            item.row_attr = torch.tensor([attributes])
        return item
