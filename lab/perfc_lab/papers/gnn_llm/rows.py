"""Mini-batches of rows for short trainings: graphs are encoded when drawn, epochs may be parts."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..networks.batches import Batch, GraphAtBatch, RowBatches


class DrawnRows(RowBatches):
    """Mini-batches of rows, of which an epoch in random order may end after `rows_per_epoch`.

    The next epoch has another order, so that all rows are seen over several epochs.

    Attributes:
        rows_per_epoch: about how many; 0 for all.
    """

    rows_per_epoch = 0

    def size(self, key: GraphAtBatch) -> int:
        """Return the operators, known without encoding."""
        return len(self.data.graphs[key[0]].ops)

    def epoch(self, generator: random.Random | None = None) -> Iterator[Batch]:
        """Yield some of the rows if a generator is given, else every row once."""
        seen = 0
        for batch in super().epoch(generator):
            yield batch
            seen += len(batch.index)
            if generator is not None and 0 < self.rows_per_epoch <= seen:
                return
