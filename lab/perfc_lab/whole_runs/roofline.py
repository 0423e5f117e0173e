"""The plain roofline: every launch at the rate of the data sheet, nothing learned.

A baseline on boards of predictors, and the start of `kernel_forest`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.predictor import GraphPredictor, Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.errors import PerfcError

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array
    from perfc.analyzers.steps.columns import Columns

SCALED = "scaled"
"""Variant whose sum is multiplied by a learned ratio."""
TRAINING_PASSES = 3.0
"""Passes of a training step: forward, gradients by inputs, gradients by weights."""


def roofline_s(columns: Columns, row: GraphRow) -> Array:
    """Return the longest of arithmetic and traffic of each launch, seconds, ``[launches]``.

    Williams et al., "Roofline", Communications of the ACM 2009. Leaves out launches, latency, waves
    and everything that keeps a kernel below the peak.
    """
    machine = sheet(row.target)
    rate = machine.matrix_flop_per_s(row.setting.precision.dtype)
    nbytes = columns.amounts["read_bytes"] + columns.amounts["write_bytes"]
    passes = TRAINING_PASSES if row.setting.training else 1.0
    longest: Array = np.maximum(
        2 * columns.amounts["mac"] / rate, nbytes / machine.device_bytes_per_s
    )
    # a row of launches stands for `times` equal ones
    return longest * columns.times * passes


class RooflineSum(GraphPredictor):
    """The sum over launches.

    The variant ``scaled`` multiplies by the median ratio of each way of running, learned from the
    rows trained on.
    """

    name: ClassVar[str] = "roofline"
    title: ClassVar[str] = "plain roofline of every launch"
    variants: ClassVar[tuple[str, ...]] = (SCALED,)

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.ratios: dict[str, float] = {}

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Fit one ratio for each execution mode (``part`` of a row), for the variant ``scaled``."""
        del validation, budget
        if self.quantity is not Quantity.TIME:
            raise PerfcError(f"a roofline gives no {self.quantity.value}", hint="predict time_s")
        if self.variant != SCALED:
            return
        plain = self.predict(train)
        parts = np.array([r.part for r in train.rows])
        ratio = train.values(self.quantity) / np.maximum(plain, 1e-12)
        self.ratios = {str(p): float(np.median(ratio[parts == p])) for p in np.unique(parts)}
        say(f"{self.name}: {', '.join(f'{k} {v:.2f}' for k, v in self.ratios.items())}")

    def predict(self, data: Measurements) -> Array:
        """Return the seconds of each row; an execution mode without a ratio is not scaled."""
        sums = [float(roofline_s(data.launches(row), row).sum()) for row in data.rows]
        factors = [self.ratios.get(r.part, 1.0) for r in data.rows]
        predicted: Array = np.array(sums, np.float64) * np.array(factors, np.float64)
        return predicted

    def arrays(self) -> Mapping[str, Array]:
        """Return the ratios."""
        return {name: np.array([ratio]) for name, ratio in self.ratios.items()}

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore the state that `arrays` gave."""
        del meta
        self.ratios = {name: float(array[0]) for name, array in arrays.items()}


PREDICTOR = RooflineSum
