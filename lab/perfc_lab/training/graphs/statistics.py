"""Describe a data set in lines of text: rows by machine and mode, sizes of graphs, digests.

A line of a quantity or size has its least value, its median and its largest value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from perfc.analyzers.graph.model_graph import EDGE_SCALED, OP_FIXED, OP_SCALED, WHOLE
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.graph.store import LAUNCHES

from ...tables.architectures import family


def statistics(data: Measurements) -> Iterator[str]:
    """Yield the description of a data set, line by line."""
    architectures = data.architectures
    families = {family(a) for a in architectures}
    yield f"{data.dataset}, digest {data.digest}"
    yield (
        f"  {len(data):,} rows, {len(data.graphs):,} graphs, "
        f"{len(architectures):,} architectures, {len(families):,} families"
    )
    for (target, part), count in sorted(Counter((r.target, r.part) for r in data.rows).items()):
        yield f"  {count:7,} rows  {target}, {part}"
    for quantity in Quantity:
        values = data.measured(quantity).values(quantity)
        if len(values):
            low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
            yield (
                f"  {len(values):7,} rows  {quantity.value}: {low:.4g} … {middle:.4g} … {high:.4g}"
            )
    sizes = {
        "operators": [len(g.ops) for g in data.graphs.values()],
        "tensors": [g.ops.edges.shape[1] for g in data.graphs.values()],
        "launches": [len(k) for g in data.graphs.values() for k in g.kernels.values()],
    }
    for name, counts in sizes.items():
        low, middle, high = np.quantile(counts or [0], [0.0, 0.5, 1.0])
        yield f"  {name} of a graph: {low:,.0f} … {middle:,.0f} … {high:,.0f}"
    for schema in (OP_FIXED, OP_SCALED, EDGE_SCALED, WHOLE, LAUNCHES):
        yield f"  {schema.name}: {len(schema)} columns, digest {schema.digest}"
