"""Mini-batches of rows for short trainings: an epoch may be a part of the rows.

Graphs are encoded when their mini-batch is drawn, not before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..networks.batches import Batch, GraphAtBatch, RowBatches


class DrawnRows(RowBatches):
    """Mini-batches of rows, whose epochs in random order may end after a number of rows.

    The next epoch has another order, so that several epochs have all rows.

    Attributes:
        rows_per_epoch: approximate rows of such an epoch; 0 for all.
    """

    rows_per_epoch = 0

    def size(self, key: GraphAtBatch) -> int:
        """Return the number of operators of a graph, which needs no encoding."""
        graph, _ = key
        return len(self.data.graphs[graph].ops)

    def epoch(self, generator: random.Random | None = None) -> Iterator[Batch]:
        """Yield some of the rows if a generator is given, else every row once."""
        seen = 0
        for batch in super().epoch(generator):
            yield batch
            seen += len(batch.index)
            if generator is not None and 0 < self.rows_per_epoch <= seen:
                return
