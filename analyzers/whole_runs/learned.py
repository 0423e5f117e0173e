"""Fitted parts of `PhysicsResidual` as arrays: multipliers, forests and residuals of graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfc.ir import entity

from ..artefacts.forest import Forest
from ..features.classes import Array
from ..graph.rows import Measurements
from .kernel_sums import KindRates, LaunchSums, Pruned, effective_sheet, tabulated_runs
from .memory import OffsetMemory
from .pooled import pooled
from .similarity import OperatorSimilarity


@dataclass(eq=False)  # compared by identity: arrays have no single truth value
class Trees:
    """A forest that is called with the features of rows and returns the sum of its trees."""

    forest: Forest

    def __call__(self, values: NDArray[np.float32]) -> Array:
        """Return the sum of the trees for every row, ``[rows]``."""
        return self.forest(values)


@entity
class Learned:
    """All fitted parts of `PhysicsResidual`, as its file of weights stores them.

    Args:
        unit: amount of the quantity per second of kernels, such as watts or bytes; 1 for times.
        rates: multipliers of kinds of launches.
        factors: forests of the logarithm of launches' factors, one per part of the cross-fit.
        residual: forest of the logarithm of the remaining factor of a run, by pooled features.
        spread: forest of the logarithm of the expected error, by pooled features.
        low: minimum of each pooled feature in the training rows.
        high: maximum of each pooled feature.
        targets: training machines.
        memory: residuals of training graphs.
        similarity: operator shares of training graphs.
    """

    unit: float
    rates: KindRates
    factors: tuple[Trees, ...]
    residual: Trees
    spread: Trees
    low: Array
    high: Array
    targets: frozenset[str]
    memory: OffsetMemory
    similarity: OperatorSimilarity

    @property
    def modes(self) -> frozenset[str]:
        """Return the execution modes of the training rows."""
        return frozenset(configuration.mode for configuration in self.rates.known)

    def sums(self, pruned: Pruned) -> Array:
        """Return the time of each kind with the mean factor of all parts, ``[runs, kinds]``."""
        # forests give logarithms, so that their mean is the geometric mean of the parts' factors
        factors = [trees(pruned.stack.values) for trees in self.factors]
        return pruned.seconds(np.mean(factors, axis=0))

    def features(self, data: Measurements) -> tuple[Array, NDArray[np.float32]]:
        """Return the sums of runs, ``[runs]``, and their pooled features, ``[runs, features]``."""
        # ones in place of measured times, which a prediction does not have
        runs = tabulated_runs(data, np.ones(len(data)), effective_sheet)
        return self.features_of(data, runs, Pruned.of(runs.stack, self.rates))

    def features_of(
        self, data: Measurements, runs: LaunchSums, pruned: Pruned
    ) -> tuple[Array, NDArray[np.float32]]:
        """Return sums and features, as `features` does, from the launches of the runs."""
        by_kinds = self.sums(pruned)
        # the sum without trees is a feature as well: it shows how far they moved the estimate
        plain = runs.stack.total(self.rates.scaled(runs.stack))
        return by_kinds.sum(axis=1), pooled(data, runs, by_kinds, plain)
