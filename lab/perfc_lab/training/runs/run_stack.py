"""Measured runs as two tables, from which factors of kernels and of runs are learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.distance import SAME_CHIP, distance, place
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.runs.run_table import IS_RUNTIME
from perfc.analyzers.runs.runtime_runs import RATIO, SPREAD_OF
from perfc.analyzers.steps.launch_stack import SumStack

from ...splitting import fold_of
from .measured_runs import MeasuredRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.artefacts.forest import Forest
    from perfc.analyzers.features.classes import Array

LEAST_LEFT_OUT = 50
"""Rows of a chip that is left out to calibrate others."""
LEAST_GRAPHS = 10
"""Of which some can be left out twice."""


@dataclass(frozen=True, eq=False)
class RunStack:
    """Runs as two tables, one row a kernel and one row a run.

    Args:
        launches: the kernels, with the rows of what runs take beside them.
        values: of the runs, ``[runs, features]``.
        kernels_s: sum of the kernels' estimates, ``[runs]``.
        graph: index of each run's graph.
        weight: of each run; a graph of many rows counts for the fourth root of them.
    """

    launches: SumStack
    values: NDArray[np.float32]
    kernels_s: Array
    graph: NDArray[np.int64]
    weight: Array

    def __len__(self) -> int:
        return len(self.launches)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the features, of kernels and runs alike."""
        return self.launches.names

    def take(self, chosen: NDArray[np.bool_]) -> RunStack:
        """The runs of a mask."""
        return RunStack(
            self.launches.take(chosen), self.values[chosen], self.kernels_s[chosen],
            self.graph[chosen], self.weight[chosen],
        )  # fmt: skip

    def dealt(self, parts: int, seed: int) -> NDArray[np.int64]:
        """The part of every run, by chance; runs of one graph are in one."""
        part = fold_of(map(str, self.graph.tolist()), parts, seed)
        return np.array([part[str(graph)] for graph in self.graph.tolist()])

    def balanced(self, parts: int, seed: int) -> NDArray[np.int64]:
        """`dealt`, so that parts have as many runs each as they can.

        Graphs of most runs come first, each into the part that has fewest yet: two graphs that are
        a third of all runs and much alike are in two, as a graph's like are known to who asks.
        """
        _, graph, rows = np.unique(self.graph, return_inverse=True, return_counts=True)
        order = np.random.default_rng(seed).permutation(len(rows))
        part, load = np.zeros(len(rows), np.int64), np.zeros(parts)
        for one in order[np.argsort(-rows[order], kind="stable")]:
            part[one] = np.argmin(load)
            load[part[one]] += rows[one]
        found: NDArray[np.int64] = part[graph]
        return found

    def with_sums(self, sums_s: Array) -> NDArray[np.float32]:
        """``values`` with the ratio of sums that were learned to those of estimates."""
        found = self.values.copy()
        found[:, self.names.index(RATIO)] = np.log(sums_s / self.kernels_s)
        return found


def sums_of(factor: Forest, launches: SumStack) -> Array:
    """Seconds of all kernels with their factors, ``[runs]``."""
    return launches.total(launches.scale_s * np.exp(factor(launches.values)))


def stacked(runs: Sequence[MeasuredRun]) -> RunStack:
    """Runs as two tables.

    Raises:
        DataError: there are too few graphs.
    """
    counts = Counter(run.table.network_id for run in runs)
    if len(counts) < LEAST_GRAPHS:
        raise DataError(f"runs of {len(counts)} graphs", hint=f"at least {LEAST_GRAPHS}")
    names = features(runs)
    graphs = {one: i for i, one in enumerate(networks(runs).tolist())}
    values = [run.table.launch_values(names) for run in runs]
    length = [len(one) for one in values]
    launches = SumStack(
        names,
        np.concatenate(values),
        np.concatenate([one[:, names.index("kind")] for one in values]).astype(np.int64),
        np.concatenate([run.table.scale_s for run in runs]),
        np.zeros(sum(length)),
        np.repeat(np.arange(len(runs)), length),
        np.zeros(len(runs), np.int64),
        (("",),),
        np.array([run.row.time_s for run in runs]),
    )
    return RunStack(
        launches,
        np.concatenate([run.table.run_values(names) for run in runs]),
        np.array([run.table.kernels_s for run in runs]),
        np.array([graphs[run.table.network_id] for run in runs]),
        np.array([counts[run.table.network_id] ** -0.75 for run in runs]),
    )


def networks(runs: Sequence[MeasuredRun]) -> NDArray[np.int64]:
    """Return the `network_id` of each graph by its index, ``[graphs]``."""
    return np.array(sorted({run.table.network_id for run in runs}), np.int64)


def features(runs: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """Names of all columns: of kernels, then of runs, then one for each runtime."""
    table = runs[0].table
    of_run = [n for n in table.run if n not in table.launches and not n.startswith(IS_RUNTIME)]
    return (
        *table.launches, *of_run, RATIO,
        *(f"{IS_RUNTIME}{name}" for name in runtimes(runs)),
    )  # fmt: skip


def runtimes(runs: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """Each once, sorted."""
    return tuple(sorted({run.runtime for run in runs}))


def is_left_out(rows: NDArray[np.bool_]) -> bool:
    """Whether a chip of those rows is left out to calibrate others."""
    return bool(rows.sum() >= LEAST_LEFT_OUT and not rows.all())


def chips(runs: Sequence[MeasuredRun]) -> list[str]:
    """Of every run the first machine, by name, that is of its machine's chip."""
    names = sorted({run.row.deployment.target for run in runs})
    places = {name: place(name, SPREAD_OF) for name in names}
    first = {
        name: next(o for o in names if distance(places[o], places[name]) <= SAME_CHIP)
        for name in names
    }
    return [first[run.row.deployment.target] for run in runs]
