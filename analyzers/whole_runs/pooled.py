"""Features of a run for its residual: times, counts and features of kernels, pooled over it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..features.classes import Array
from ..graph.rows import Measurements
from ..graph.schema import Schema
from ..steps.launch_kind import LaunchKind
from .kernel_sums import KINDS, LaunchSums, by_kind

_KINDS = tuple(k.name.lower() for k in LaunchKind)
SHARES_START = 10
"""Column of the first share of a kind of launch (`few_rows` reads them)."""
LEAST_S = 1e-12
"""Least time of which logarithms and shares are taken, for runs without launches (time 0)."""
LONG_WINDOW = 26.0
"""Least elements of a filter that is larger than 5 × 5 = 25; libraries have fewer kernels for such
filters."""


def pooled_schema(launch_features: tuple[str, ...]) -> Schema:
    """Return the names of the pooled features for given launch features.

    Times are of kernels: ``sum`` with all factors, ``plain`` with the multipliers of kinds only.
    """
    return Schema(
        "pooled launches",
        (
            "log_sum",
            "log_floor_per_sum",
            "log_plain_per_sum",
            "log_launches",
            "log_launches_s",
            "log_batch",
            "log_operators",
            "depth",
            "foldable",
            "long_window",
            *(f"share_{k}" for k in _KINDS),
            *(f"log_count_{k}" for k in _KINDS),
            *(f"mean_{n}" for n in launch_features),
        ),
    )


def pooled(
    data: Measurements, runs: LaunchSums, by_kinds: Array, plain: Array
) -> NDArray[np.float32]:
    """Return the pooled features, ``[runs, features]``, as `pooled_schema` names them.

    Args:
        data: rows and graphs.
        runs: launches of the rows.
        by_kinds: predicted time of each kind of launch, ``[runs, kinds]``.
        plain: sum with the multipliers of kinds only, ``[runs]``.
    """
    from ..graph.branches import foldable_share

    stack = runs.stack
    # a graph that consists of views has no launches
    total = np.maximum(by_kinds.sum(axis=1), LEAST_S)
    plain = np.maximum(plain, LEAST_S)
    # features of launches are averaged, each launch with the weight of its share of time
    share = stack.scale_s / np.maximum(stack.total(stack.scale_s), LEAST_S)[stack.row]
    means = [stack.total(share * stack.values[:, j]) for j in range(stack.values.shape[1])]
    counts = by_kind(stack, runs.times)
    launched = counts.sum(axis=1)
    window = stack.values[:, stack.names.index("window")]
    graphs = [data.graph(r) for r in data.rows]
    columns = [
        np.log(total),
        np.log(np.maximum(stack.total(stack.floor_s), LEAST_S) / total),
        np.log(plain / total),
        np.log1p(launched),
        np.log(np.maximum(launched, 1.0) / total),
        np.log([r.batch for r in data.rows]),
        np.log([max(len(g.ops), 1) for g in graphs]),
        np.array([g.depth for g in graphs], np.float64),
        np.array([foldable_share(g.ops) for g in graphs]),
        stack.total(share * (window >= LONG_WINDOW)),
        *(by_kinds / total[:, None]).T,
        *np.log1p(counts).T,
        *means,
    ]
    # after the ten columns: shares and counts by kind, then the means
    assert len(columns) == SHARES_START + 2 * KINDS + len(stack.names)
    return np.stack(columns, axis=1).astype(np.float32)
