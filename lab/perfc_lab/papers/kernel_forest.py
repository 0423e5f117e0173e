"""A random forest for each kind of kernel, summed; after Zhang et al., "nn-Meter", MobiSys 2021.

A predictor of whole models; `nn_meter` is the paper's, for kernels that were timed alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.predictor import GraphPredictor, Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.graph.schema import Schema
from perfc.errors import PerfcError
from perfc_lab.training.xgboost_forest import random_forest

from ..whole_runs.roofline import roofline_s

AMOUNTS = ("mac", "read_bytes", "write_bytes", "m")
"""Columns of a launch that grow with the batch."""
TRAITS = ("n", "k", "window", "stride", "channels", "reduced")
FEATURES = Schema(
    "kernels", (*AMOUNTS, *TRAITS, "rate", "bandwidth", "compiled", "channels_last", "training")
)
"""Hyper-parameters, work and traffic of a kernel, and the machine; sizes by their logarithm."""
TREES = 40
"""Trees of a forest."""
ROUNDS = 3
"""Rounds that share a measured run among its kernels by the forests of the round before."""
MOST_KERNELS = 60_000
"""Maximum kernels of each kind, drawn at random."""
MOST_LAUNCHES = 400_000
"""Maximum launches of all kinds; whole rows are drawn at random until there are as many."""
LAUNCH_S = 2e-6
"""Time of an empty launch, so that no kernel is predicted near zero."""


class KernelForest(GraphPredictor):
    """The sum of what the forests say of the launches of a row.

    nn-Meter measures every kernel alone. Of whole models only the sum is known: a row's time is
    shared among its launches, first in proportion to the roofline, then to what the forests of the
    round before say, so that a kind that is slower than the roofline takes a larger share. The
    forests learn the log of a launch's time over its roofline. Launches that overlap, or that a
    busy host delays, are outside of it, as of nn-Meter.
    """

    name: ClassVar[str] = "kernel-forest"
    title: ClassVar[str] = "a random forest for each kind of kernel, after nn-Meter (MobiSys 2021)"

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.forests: dict[int, Forest] = {}

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Divide each run's time among its launches, fit forests, and divide again by these."""
        del validation
        if self.quantity is not Quantity.TIME:
            raise PerfcError(f"kernels have no {self.quantity.value}", hint="predict time_s")
        random = np.random.default_rng(budget.seed)
        order = random.permutation(len(train))
        tables = kernel_tables(train, [train.rows[i] for i in order], limit=MOST_LAUNCHES)
        self.forests = {}
        for number in range(ROUNDS):
            # the first round has no forests yet: `share` divides by the roofline
            seconds = np.concatenate([self.share(t) for t in tables])
            features = np.concatenate([t.features for t in tables])
            kinds = np.concatenate([t.kinds for t in tables])
            scale = np.concatenate([t.roofline_s for t in tables])
            target = np.log(np.maximum(seconds, 1e-9) / scale)
            forests = {}
            for kind in np.unique(kinds).tolist():
                rows = np.flatnonzero(kinds == kind)
                chosen = random.permutation(rows)[:MOST_KERNELS]
                # targets are logarithms of time over roofline
                forests[int(kind)] = random_forest(
                    features[chosen],
                    target[chosen],
                    FEATURES.columns,
                    num_parallel_tree=TREES,
                    max_depth=10,
                    min_child_weight=8,
                    seed=budget.seed,
                )
            self.forests = forests
            launches = f"{len(features):,} launches of {len(tables):,} rows"
            say(f"{self.name}: round {number + 1}, {launches}")

    def share(self, table: LaunchTable) -> Array:
        """Return the row's time shared among its launches, seconds of one launch each."""
        seconds = self.kernels_s(table)
        total = float((seconds * table.times).sum())
        shared: Array = seconds * (table.time_s / max(total, 1e-12))
        return shared

    def kernels_s(self, table: LaunchTable) -> Array:
        """Return the seconds of each launch by the forests, else by the roofline."""
        seconds = table.roofline_s.copy()
        for kind, trees in self.forests.items():
            mask = table.kinds == kind
            if mask.any():
                seconds[mask] *= np.exp(trees(table.features[mask]))
        return seconds

    def predict(self, data: Measurements) -> Array:
        """Return the seconds of every row."""
        if not self.forests:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        tables = (LaunchTable(data, row) for row in data.rows)
        sums = [float((self.kernels_s(t) * t.times).sum()) for t in tables]
        return np.array(sums, np.float64)

    def arrays(self) -> Mapping[str, Array]:
        """Return the arrays of every forest, named ``KIND.ARRAY``."""
        result: dict[str, Array] = {}
        for kind, trees in self.forests.items():
            result |= {f"{kind}.{name}": array for name, array in trees.arrays().items()}
        return result

    def meta(self) -> Mapping[str, Any]:
        """Return the schema and the forests' constants."""
        return {
            "schema": FEATURES.digest,
            "constants": {str(kind): trees.base for kind, trees in self.forests.items()},
        }

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore forests of the same features."""
        if meta["schema"] != FEATURES.digest:
            raise PerfcError(f"weights of {self.name} read other features", hint="train it again")
        for kind, base in meta["constants"].items():
            start = f"{kind}."
            tensors = {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
            self.forests[int(kind)] = Forest.from_arrays(FEATURES.columns, tensors, float(base))


class LaunchTable:
    """The launches of one row.

    Args:
        data: with its graph.
        row: measured.
    """

    def __init__(self, data: Measurements, row: GraphRow) -> None:
        columns, machine, setting = data.launches(row), sheet(row.target), row.setting
        ones = np.ones(len(columns))
        sizes = [np.log2(1 + columns.amounts[n]) for n in AMOUNTS]
        sizes += [np.log2(1 + columns.traits[n]) for n in TRAITS]
        rate = machine.matrix_flop_per_s(setting.precision.dtype)
        # equal for all launches of the row
        deployment = (
            np.log2(rate),
            np.log2(machine.device_bytes_per_s),
            float(setting.compiled),
            float(setting.channels_last),
            float(setting.training),
        )
        stacked = np.stack([*sizes, *(ones * x for x in deployment)], axis=1)
        self.features: NDArray[np.float32] = stacked.astype(np.float32)
        self.kinds: Array = columns.kind
        self.times: Array = columns.times  # launches that a line stands for
        self.roofline_s: Array = roofline_s(columns, row) / np.maximum(self.times, 1e-9) + LAUNCH_S
        self.time_s = row.time_s


def kernel_tables(data: Measurements, rows: Sequence[GraphRow], *, limit: int) -> list[LaunchTable]:
    """Return tables of the first rows, each whole, until their launches reach a limit."""
    tables: list[LaunchTable] = []
    launches = 0
    for row in rows:
        if launches >= limit:
            break
        tables.append(LaunchTable(data, row))
        launches += len(tables[-1].kinds)
    return tables


PREDICTOR = KernelForest
