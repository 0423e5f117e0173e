"""Predict whole models by random forests of kinds of kernels, after nn-Meter.

Zhang et al., "nn-Meter", MobiSys 2021. This predictor learns from times of whole models; that of
`nn_meter` is the paper's, for kernels that were timed alone.
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
"""Columns of a launch that grow with the batch size: work, traffic and rows of a product."""
TRAITS = ("n", "k", "window", "stride", "channels", "reduced")
"""Columns of a launch that do not depend on the batch size."""
FEATURES = Schema(
    "kernels", (*AMOUNTS, *TRAITS, "rate", "bandwidth", "compiled", "channels_last", "training")
)
"""Features of a launch: amounts and traits as logarithms, rates of the machine, and the setting."""
TREES = 40
"""Trees of a forest."""
ROUNDS = 3
"""Number of times that run times are divided among kernels and forests are grown."""
MOST_KERNELS = 60_000
"""Maximum launches that the forest of a kind is grown from, drawn at random."""
MOST_LAUNCHES = 400_000
"""Approximate maximum launches of all kinds; rows are drawn at random until they have so many."""
LAUNCH_S = 2e-6
"""Time that is added to the roofline of a launch, so that no kernel is predicted near 0."""


class KernelForest(GraphPredictor):
    """Predictor whose time of a row is the sum of the forests' times of its launches.

    nn-Meter measures every kernel alone. For whole models only the sum is known. So the time of a
    row is divided among its launches, first in proportion to their rooflines, in later rounds to
    the times of the forests of the round before: a kind that is slower than its roofline gets a
    larger share. The forests learn the logarithm of a launch's time over its roofline. Launches
    that overlap, or that wait for the host, are not modeled, as in nn-Meter.
    """

    name: ClassVar[str] = "kernel-forest"
    title: ClassVar[str] = "a random forest for each kind of kernel, after nn-Meter (MobiSys 2021)"

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.forests: dict[int, Forest] = {}

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Divide the times of runs among launches and grow forests, several times in turn."""
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
            # logarithm of the time of a launch over its roofline
            target = np.log(np.maximum(seconds, 1e-9) / scale)
            forests = {}
            for kind in np.unique(kinds).tolist():
                rows = np.flatnonzero(kinds == kind)
                chosen = random.permutation(rows)[:MOST_KERNELS]
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
        """Return the seconds of each launch; their sum is the measured time of the row."""
        seconds = self.kernels_s(table)
        total = float((seconds * table.times).sum())
        shared: Array = seconds * (table.time_s / max(total, 1e-12))
        return shared

    def kernels_s(self, table: LaunchTable) -> Array:
        """Return the seconds of each launch by the forest of its kind, else by the roofline."""
        seconds = table.roofline_s.copy()
        for kind, trees in self.forests.items():
            mask = table.kinds == kind
            if mask.any():
                seconds[mask] *= np.exp(trees(table.features[mask]))
        return seconds

    def predict(self, data: Measurements) -> Array:
        """Return the predicted seconds of every row."""
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
        """Return the digest of the features, and the constant that each forest adds."""
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
    """The launches of one row; a line stands for equal launches.

    Args:
        data: rows with their graphs.
        row: row of the launches.
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
        self.times: Array = columns.times  # number of equal launches
        self.roofline_s: Array = roofline_s(columns, row) / np.maximum(self.times, 1e-9) + LAUNCH_S
        self.time_s = row.time_s


def kernel_tables(data: Measurements, rows: Sequence[GraphRow], *, limit: int) -> list[LaunchTable]:
    """Return the tables of the first rows, until their launches reach a limit."""
    tables: list[LaunchTable] = []
    launches = 0
    for row in rows:
        if launches >= limit:
            break
        tables.append(LaunchTable(data, row))
        launches += len(tables[-1].kinds)
    return tables


PREDICTOR = KernelForest
