"""Networks whose weights are read from the files that their authors publish.

`papers.checkpoints` reads such files; the classes are `dippm_authors` and `trappm_authors`.
"""

from __future__ import annotations

from typing import ClassVar

from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements
from perfc.errors import PerfcError

from .several import SeveralQuantities


class FromCheckpoint(SeveralQuantities):
    """A faithful network that is not trained here.

    Attributes:
        mode: way of running of the rows that its authors trained it on.
        framework: what those rows ran in, ``torch 2.0``.
    """

    variants: ClassVar[tuple[str, ...]] = ()
    mode: ClassVar[str]
    framework: ClassVar[str]

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Refuse: the weights are its authors'.

        Raises:
            PerfcError: always.
        """
        del train, validation, budget, say
        raise PerfcError(f"{self.name} has its authors' weights", hint=self.begins_from)
