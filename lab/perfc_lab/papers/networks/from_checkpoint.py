"""Base of networks whose weights come from the files that their authors published.

`papers.checkpoints` reads such files; `dippm_authors` and `trappm_authors` have the subclasses.
"""

from __future__ import annotations

from typing import ClassVar

from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements
from perfc.errors import PerfcError

from .several import SeveralQuantities


class FromCheckpoint(SeveralQuantities):
    """A faithful network, with its authors' weights, that cannot be trained here.

    Attributes:
        mode: mode of the rows that its authors trained it on: inference or training steps.
        framework: framework that ran those rows, ``torch 2.0``.
    """

    variants: ClassVar[tuple[str, ...]] = ()
    mode: ClassVar[str]
    framework: ClassVar[str]

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Raise an error, as the weights are those of its authors.

        Raises:
            PerfcError: always.
        """
        del train, validation, budget, say  # the interface of all predictors
        raise PerfcError(f"{self.name} has its authors' weights", hint=self.begins_from)
