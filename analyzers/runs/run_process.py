"""Residual of whole runs over the sums of their kernels, as a Gaussian process.

``log(T / sum of kernels)`` is a sum of functions. One correlates runs of one runtime, one runs of
similar sizes under one runtime, and so on: `TERMS` lists them
(`perfc.analyzers.features.process`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..features.process import NOBODY, Near, Process, SimilarityAspects
from ..features.process import RowPositions as Runs
from ..steps.launch_kind import LaunchKind
from .run_table import IS_RUNTIME, LEAST_S, OF_MACHINE, VERSION, RunTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array


class Aspect(Enum):
    """Properties in which two runs may be similar."""

    RUNTIME = auto()
    PRECISION = auto()
    VERSION = auto()
    """Runtime and its version."""
    GRAPH = auto()
    """The model itself; a predicted run has none of the fitted models."""
    MACHINE = auto()
    SIZES = auto()
    """Sizes of the run, of its launches and of its matrix products."""
    SHARES = auto()
    """Shares of the kernels' time by kind of launch."""


_ENGINE = (Aspect.RUNTIME, Aspect.PRECISION)
TERMS: tuple[tuple[Aspect, ...], ...] = (
    (),
    (Aspect.RUNTIME,),
    _ENGINE,
    (Aspect.RUNTIME, Aspect.MACHINE),
    (*_ENGINE, Aspect.MACHINE),
    (Aspect.VERSION,),
    (Aspect.VERSION, Aspect.PRECISION, Aspect.MACHINE),
    (Aspect.SIZES,),
    (Aspect.RUNTIME, Aspect.SIZES),
    (*_ENGINE, Aspect.MACHINE, Aspect.SIZES),
    (Aspect.SHARES,),
    (Aspect.SHARES, Aspect.SIZES),
    (Aspect.RUNTIME, Aspect.SHARES),
    (Aspect.RUNTIME, Aspect.SHARES, Aspect.SIZES),
    (*_ENGINE, Aspect.SHARES),
    (Aspect.GRAPH,),
    (Aspect.RUNTIME, Aspect.GRAPH),
    (*_ENGINE, Aspect.MACHINE, Aspect.GRAPH),
)
SUMS = ("log_kernels", "log_launch")
"""Sizes computed here: logarithms of the sum of the kernels and of its mean launch."""
SIZES = (
    *SUMS, "log_launches", "log_batch", "log_floor_per_sum", "log_roof_per_sum", "log2_attended",
    "time_in_10us", "launches_in_10us", "time_in_50us", "product_m", "product_n", "product_k",
    "product_waves", "product_fill", "forest_share",
)  # fmt: skip
SHARES = tuple(f"time_{kind.name.lower()}" for kind in LaunchKind)
COLUMNS = (*SIZES, *OF_MACHINE, *SHARES)
GROUPS: Mapping[Aspect, slice] = {
    Aspect.SIZES: slice(0, len(SIZES)),
    Aspect.MACHINE: slice(len(SIZES), len(SIZES) + len(OF_MACHINE)),
    Aspect.SHARES: slice(len(SIZES) + len(OF_MACHINE), len(COLUMNS)),
}
KINDS = (Aspect.RUNTIME, Aspect.PRECISION, Aspect.VERSION, Aspect.GRAPH)
LEAST_RATE = 1e-9
PUBLICATIONS, PUBLICATION = "publications", "publication"
"""Titles of publications of fitted runs, one a line in UTF-8, and the number of that of each."""
ROUNDING = float(np.finfo(np.float16).eps) * 10
"""Largest difference of equal columns, in widths: rows are stored in f16."""
FORM = SimilarityAspects(
    TERMS,
    {
        Aspect.RUNTIME: (0,), Aspect.PRECISION: (1,), Aspect.VERSION: (0, 2), Aspect.GRAPH: (3,),
    },
    {
        Aspect.SIZES: Near(GROUPS[Aspect.SIZES], has_each=True, start=1.0),
        Aspect.MACHINE: Near(GROUPS[Aspect.MACHINE]),
        Aspect.SHARES: Near(GROUPS[Aspect.SHARES], start=-0.5, is_one_unit=True),
    },
    len(COLUMNS),
    Aspect.GRAPH,
)  # fmt: skip


def tabulated(
    values: NDArray[np.float32],
    names: Sequence[str],
    kernels_s: Array,
    graph: NDArray[Any] | None = None,
) -> Runs:
    """Return the positions of runs in the process, from their features.

    Args:
        values: ``[runs, features]``.
        names: names of the features.
        kernels_s: sum of the kernels of each run.
        graph: number of each run's model; by default none of the fitted ones.
    """
    wanted, runtimes = columns_of(tuple(names))
    at = {name: values[:, i].astype(np.float64) for name, i in wanted}
    none = np.zeros(len(values))
    sums = np.log(kernels_s)
    columns = {**at, SUMS[0]: sums, SUMS[1]: sums - at["log_launches"]}
    columns |= {name: np.log(np.maximum(at[name], LEAST_RATE)) for name in OF_MACHINE}
    columns |= {name: np.sqrt(np.maximum(at.get(name, none), 0.0)) for name in SHARES}
    kinds = [
        values[:, runtimes].argmax(axis=1), at["precision"], at["runtime_version"],
        np.full(len(values), NOBODY) if graph is None else graph,
    ]  # fmt: skip
    return Runs(
        np.stack(kinds, axis=1).astype(np.float32),
        np.stack([columns[name] for name in COLUMNS], axis=1).astype(np.float32),
    )


@lru_cache(maxsize=8)
def columns_of(names: tuple[str, ...]) -> tuple[list[tuple[str, int]], list[int]]:
    """Return the features that positions need, with their columns, and the runtimes' columns."""
    wanted = {*COLUMNS, "precision", "runtime_version"}
    runtimes = [i for i, name in enumerate(names) if name.startswith(IS_RUNTIME)]
    return [(name, i) for i, name in enumerate(names) if name in wanted], runtimes


def publications_of(more: Mapping[str, Any], process: Process, row: Runs) -> tuple[str, ...]:
    """Return the titles of publications with runs of a network in a deployment.

    Args:
        more: arrays of the weights.
        process: of the fitted runs.
        row: the run, as `tabulated` gives it.
    """
    if PUBLICATION not in more:
        return ()
    kinds = [KINDS.index(one) for one in (Aspect.RUNTIME, Aspect.PRECISION, Aspect.GRAPH)]
    same = (process.known.kinds[:, kinds] == row.kinds[0, kinds]).all(axis=1)
    titles = bytes(more[PUBLICATIONS]).decode().splitlines()
    return tuple(titles[i] for i in np.unique(more[PUBLICATION][same & of_machine(process, row)]))


def of_machine(process: Process, row: Runs) -> NDArray[np.bool_]:
    """Return the fitted runs of a run's machine, ``[rows]``."""
    at = GROUPS[Aspect.MACHINE]
    difference = np.abs(process.known.places[:, at] - process.placed(row).places[0, at])
    return np.asarray(difference.max(axis=1) <= ROUNDING)


def newest_version(process: Process, row: Runs) -> float:
    """Return the newest version among fitted runs of a run's runtime; 0 without versions.

    Runs of its machine in its precision come first, then of its precision.

    Args:
        process: of the fitted runs.
        row: the run, as `tabulated` gives it.
    """
    runtime, precision, version = process.known.kinds[:, :3].T
    same = (runtime == row.kinds[0, 0]) & (precision == row.kinds[0, 1])
    for chosen in (same & of_machine(process, row), same, runtime == row.kinds[0, 0]):
        if chosen.any() and version[chosen].max() > 0:
            return float(version[chosen].max())
    return 0.0


def with_version(run: RunTable, names: Sequence[str], process: Process) -> RunTable:
    """Return a run without a version of its runtime as one with the newest of the fitted runs."""
    if run.run[VERSION]:
        return run
    row = tabulated(run.run_values(names), names, np.maximum(run.kernels_s, [LEAST_S]))
    return replace(run, run={**run.run, VERSION: newest_version(process, row)})
