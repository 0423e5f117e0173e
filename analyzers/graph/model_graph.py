"""Classes of a model as arrays: operators, tensors between them, and launches of frameworks.

`encode` builds them, `store` reads and writes them, predictors of whole runs read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import cached_entity

from ..steps.columns import LinearColumns, by_name
from .schema import Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

    Indices = NDArray[np.int64]

RANK = 6
"""Number of extents of a tensor in features; further extents are multiplied into the last."""
BATCHES = (32, 64)
"""The two batches at which everything is counted. A line through both gives the counts of all other
batches, as counts are affine in the batch."""
OP_FIXED = Schema(
    "operators",
    (
        "kernel_h",
        "kernel_w",
        "stride_h",
        "stride_w",
        "dilation_h",
        "dilation_w",
        "pad_h",
        "pad_w",
        "groups",
        "operands",
        "weights",
        "weight_elements",
        "rank_in",
        "rank_out",
        "weight_0",
        "weight_1",
        "weight_2",
        "weight_3",
        "has_bias",
        "bits",
    ),
)
"""Columns of an operator that do not depend on the batch; 0 if it has no such number. ``weight_i``
are the extents of its first stored tensor of two or more axes, ``pad_*`` the sum of both sides,
``operands`` and ``weights`` numbers of inputs that are not stored and that are."""
OP_SCALED = Schema(
    "operators by batch",
    (
        "mac",
        "floor_mac",
        "alu",
        "sfu",
        "integer",
        "read_bytes",
        "write_bytes",
        "input_elements",
        "output_elements",
        *(f"in_{i}" for i in range(RANK)),
        *(f"out_{i}" for i in range(RANK)),
    ),
)
"""Columns of an operator that grow with the batch: counts of one execution, then extents of two
tensors: of the input with most axes among those that are not stored, and of the first output."""
EDGE_SCALED = Schema(
    "tensors by batch", ("nbytes", "elements", *(f"extent_{i}" for i in range(RANK)))
)
"""Columns of an edge: the tensor that one operator writes and the other reads."""
WHOLE = Schema(
    "graph by batch",
    ("parameters", "weight_bytes", "peak_bytes", "input_elements", "output_elements"),
)
"""Totals of a graph. ``peak_bytes`` is the largest sum of live tensors, without stored ones."""


@cached_entity
class OpGraph:
    """Operators and the tensors between them, in execution order.

    Args:
        ops: mnemonic of each node.
        fixed: features of `OP_FIXED`, ``[nodes, len(OP_FIXED)]``.
        scaled: features of `OP_SCALED` at each of `BATCHES`, ``[2, nodes, len(OP_SCALED)]``.
        edges: index of the source and the target node, ``[2, edges]``.
        edge_scaled: features of tensors at each of `BATCHES`, ``[2, edges, len(EDGE_SCALED)]``.
        whole: totals of the graph at each of `BATCHES`, ``[2, len(WHOLE)]``.
    """

    ops: tuple[str, ...]
    fixed: Array
    scaled: Array
    edges: Indices
    edge_scaled: Array
    whole: Array

    def __len__(self) -> int:
        return len(self.ops)

    def at(self, batch: float) -> Mapping[str, Array]:
        """Return all columns of the nodes at a batch, by name."""
        scaled = interpolated(self.scaled, batch)
        return by_name(OP_FIXED.columns, self.fixed) | by_name(OP_SCALED.columns, scaled)

    def edges_at(self, batch: float) -> Mapping[str, Array]:
        """Return all columns of the edges at a batch, by name."""
        scaled = interpolated(self.edge_scaled, batch)
        return by_name(EDGE_SCALED.columns, scaled)

    def whole_at(self, batch: float) -> Mapping[str, float]:
        """Return the totals of the graph at a batch, by name."""
        totals = interpolated(self.whole, batch)
        return {name: float(totals[i]) for i, name in enumerate(WHOLE.columns)}


@cached_entity
class KernelGraph:
    """Launches of a framework in order, with the dependencies between them.

    Args:
        columns: counts of the launches, one row per launch.
        edges: index of the source and the target launch, ``[2, edges]``.
    """

    columns: LinearColumns
    edges: Indices

    def __len__(self) -> int:
        return len(self.columns.table)


@cached_entity
class ModelGraph:
    """One architecture at one input size.

    Args:
        name: name, unique among the graphs of a data set.
        ops: operators.
        kernels: launches, by `Setting.launch_key`.
    """

    name: str
    ops: OpGraph
    kernels: Mapping[str, KernelGraph]

    @cached_property
    def depth(self) -> int:
        """Return the number of operators on the longest path."""
        # edges are in the order of their sources, which is that of execution
        longest = [1] * len(self.ops)
        for source, target in self.ops.edges.T.tolist():
            longest[target] = max(longest[target], longest[source] + 1)
        return max(longest, default=0)


def interpolated(pair: Array, batch: float) -> Array:
    """Return counts at a batch from a pair of counts at `BATCHES`; never negative."""
    # a line from two large batches may fall below 0 at a small one
    low, high = BATCHES
    result: Array = np.maximum(pair[0] + (pair[1] - pair[0]) * ((batch - low) / (high - low)), 0.0)
    return result
