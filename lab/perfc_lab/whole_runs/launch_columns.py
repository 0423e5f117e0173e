"""Runs as sums over their launches: columns in which a run's time is linear.

A launch takes its roofline time times a factor that depends on its kind and, within the kind, on
its roofline time, intensity, operands, window and stride. Each of these dependencies is a sum of
columns: hat functions of the time and of the intensity (piecewise linear, adding up to one), and
indicators of operands, window and stride. So a run's time over the sum of its roofline times is
linear in the columns of its launches, weighted by their share of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.graph.rows import Measurements
from perfc.analyzers.graph.schema import Schema
from perfc.analyzers.steps.launch_kind import LaunchKind
from perfc.analyzers.whole_runs.kernel_sums import KINDS, LaunchSums, tabulated_runs

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

HOST_S = 2e-6
"""Nominal time of a launch on the host, which its column's weight scales.

The column counts where launches, not kernels, set the time.
"""
DOUBLINGS = tuple(float(x) for x in range(-19, -3, 2))
"""Knots of log₂ of a launch's roofline time in seconds, from 2 µs to 31 ms."""
INTENSITIES = tuple(float(x) for x in range(-4, 10, 2))
"""Knots of log₂ of operations per byte, from 1/16 to 256."""
OPERANDS = (0, 1, 2, 3)
"""Numbers of operands with a column each."""
WINDOWS = (1, 9, 25)
"""Elements of windows with a column each: 1×1, 3×3 and 5×5."""
LAUNCH = (
    "one",
    "host",
    *(f"doubling_{x:g}" for x in DOUBLINGS),
    *(f"intensity_{x:g}" for x in INTENSITIES),
    *(f"operands_{x}" for x in OPERANDS),
    *(f"window_{x}" for x in WINDOWS),
    "strided",
)
"""Columns of a launch within its kind; ``one`` is the constant of the kind."""
# columns of a run: two over all kinds of launches, then those of each kind
RUNS = Schema(
    "linear runs",
    ("all", "all_host", *(f"{k.name.lower()}_{name}" for k in LaunchKind for name in LAUNCH)),
)


@dataclass(frozen=True, eq=False)
class LinearRuns:
    """Runs as `RUNS` has them.

    Args:
        table: ``[runs, len(RUNS)]``.
        roofline_s: sum of the roofline times of a run's launches, ``[runs]``.
    """

    table: Array
    roofline_s: Array


def linear_runs(data: Measurements) -> LinearRuns:
    """Return the table of rows: columns of launches, weighted by their share of the roofline."""
    # measured times are not read here
    runs = tabulated_runs(data, np.ones(len(data)))
    stack = runs.stack
    total = np.maximum(stack.total(stack.scale_s), 1e-12)
    share = stack.scale_s / total[stack.row]
    table = np.zeros((len(data), len(RUNS)))
    for column, amounts in zip(LAUNCH, launch_table(runs).T, strict=True):
        # kinds follow each other in `RUNS`, `len(LAUNCH)` columns each
        first = RUNS.index(f"{next(iter(LaunchKind)).name.lower()}_{column}")
        flat = np.bincount(stack.row * KINDS + stack.kind, share * amounts, len(data) * KINDS)
        table[:, first :: len(LAUNCH)] = flat.reshape(len(data), KINDS)
    # the first two columns are sums over all kinds
    table[:, 0] = 1.0
    host = RUNS.index(f"{next(iter(LaunchKind)).name.lower()}_host")
    table[:, 1] = table[:, host :: len(LAUNCH)].sum(axis=1)
    return LinearRuns(table, total)


def launch_table(runs: LaunchSums) -> Array:
    """Return the columns of every launch, ``[launches, len(LAUNCH)]``, in the order of `LAUNCH`."""
    stack = runs.stack
    one_s = stack.scale_s / np.maximum(runs.times, 1.0)  # of a single launch
    values = {n: stack.values[:, stack.names.index(n)].astype(np.float64) for n in READ}
    return np.column_stack(
        [
            np.ones(len(one_s)),
            HOST_S / one_s,
            hats(np.log2(one_s), DOUBLINGS),
            hats(values["log2_intensity"], INTENSITIES),
            values["operands"][:, None] == np.array(OPERANDS),
            values["window"][:, None] == np.array(WINDOWS),
            values["stride"] > 1,
        ]
    )


READ = ("log2_intensity", "operands", "window", "stride")
"""Features of launches (`perfc.analyzers.steps.features`) that the columns are made of."""


def hats(values: Array, knots: tuple[float, ...]) -> Array:
    """Return the hat functions at evenly spaced knots, ``[values, knots]``.

    They are constant beyond the outer knots.

    >>> import numpy as np
    >>> hats(np.array([0.5, 9.0]), (0.0, 2.0)).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    centres = np.array(knots)
    inside = np.clip(values, centres[0], centres[-1])
    result: Array = np.maximum(
        1 - np.abs(inside[:, None] - centres) / (centres[1] - centres[0]), 0.0
    )
    return result
