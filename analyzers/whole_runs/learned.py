"""Parts of a physics residual as arrays: multipliers, forests, memory; nothing here is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..artefacts.forest import Forest
from ..steps.predict import walked
from .kernel_sums import KindRates, LaunchSums, Pruned, effective_sheet, tabulated_runs
from .memory import OffsetMemory
from .pooled import pooled
from .similarity import OperatorSimilarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..graph.rows import Measurements


@dataclass(eq=False)
class Trees:
    """A forest that sums its trees for every row."""

    forest: Forest

    def __call__(self, values: NDArray[np.float32]) -> Array:
        """Return the sum of the trees for every row, ``[rows]``."""
        return walked(self.forest, values)


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything that was learned.

    Args:
        unit: of the quantity, a second's worth; 1 for times.
        rates: multipliers of kinds.
        factors: of launches, one for each part.
        residual: of graphs.
        spread: logarithm of the expected error.
        low: least of each pooled feature.
        high: largest.
        targets: machines it was learned on.
        memory: of graphs that were measured.
        kinship: what these are built like.
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
    kinship: OperatorSimilarity

    @property
    def modes(self) -> frozenset[str]:
        """Ways of running it was learned on."""
        return frozenset(kin.mode for kin in self.rates.known)

    def sums(self, pruned: Pruned) -> Array:
        """Seconds by kind with the mean factor of all parts, ``[runs, kinds]``."""
        factors = [one(pruned.stack.values) for one in self.factors]
        return pruned.seconds(np.mean(factors, axis=0))

    def features(self, data: Measurements) -> tuple[Array, NDArray[np.float32]]:
        """Sum of every run, and its pooled features."""
        runs = tabulated_runs(data, np.ones(len(data)), effective_sheet)
        return self.features_of(data, runs, Pruned.of(runs.stack, self.rates))

    def features_of(
        self, data: Measurements, runs: LaunchSums, pruned: Pruned
    ) -> tuple[Array, NDArray[np.float32]]:
        """The same from the launches of the runs."""
        by_kinds = self.sums(pruned)
        plain = runs.stack.total(self.rates.scaled(runs.stack))
        return by_kinds.sum(axis=1), pooled(data, runs, by_kinds, plain)
