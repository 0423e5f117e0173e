"""Train `perfc.analyzers.whole_runs.physics_residual`: multipliers, forests, bands of machines.

Machines and families of architectures are held out in turn. Their errors calibrate the intervals of
unmeasured machines, and of graphs unlike all training graphs.
"""

from __future__ import annotations

import numpy as np

from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.intervals.conformal import AT_ONCE, Unseen, band
from perfc.analyzers.whole_runs import physics_residual
from perfc.analyzers.whole_runs.kernel_sums import configuration_of
from perfc.analyzers.whole_runs.machine_bands import RunBands
from perfc.analyzers.whole_runs.physics_residual import HeldOutScores
from perfc.errors import PerfcError

from ..tables.architectures import FAMILY_PARTS, DatasetPart, families_in_turn
from ..training.calibration.unseen import LeftOut
from ..training.calibration.unseen import unseen_runs as unseen
from ..training.runs.sums import SumRecipe
from .residual_fit import RECIPE, fitted

LEFT_OUT = SumRecipe(trees=60, depth=6, learning_rate=0.3, knee=0.1)
"""Smaller recipe for trainings without one machine, as there is one training for each machine."""
LEAST_HELD_OUT = 100
"""Minimum held-out rows to set the band of graphs with, or without, similar training graphs."""


class PhysicsResidual(physics_residual.PhysicsResidual):
    """The shipped predictor, with methods to train it."""

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Fit multipliers, cross-fitted factors, then the residual, with early stopping."""
        self.learned = fitted(train, validation, self.quantity, budget, RECIPE, say)
        # `adapt` may have set these for an earlier training
        self.shift, self.moved = None, frozenset()
        self.bands = RunBands()
        if len(train.targets) > 1:
            self.bands.unseen = _left_out(train, self.quantity, budget, say)

    def finish(self, data: Measurements, budget: TrainingBudget, say: Say) -> None:
        """Fit again to all rows, with the number of trees that early stopping had chosen.

        Bands of unmeasured machines stay. If enough rows of held-out families exist, graphs without
        similar training graphs get their own band, and the band of measured machines is set on the
        other graphs alone.
        """
        if self.learned is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        rounds = len(self.learned.residual.forest.roots)
        left_out = _families_left_out(data, self.quantity, budget, say, rounds).where(similar=False)
        if len(left_out.score) >= LEAST_HELD_OUT:
            self.bands.unfamiliar = band(left_out.score)
            similar = self.calibrated and self.calibrated.where(similar=True)
            if similar and len(similar.score) >= LEAST_HELD_OUT:
                self.bands.seen = band(similar.score)
        self.learned = fitted(
            data, data.of(()), self.quantity, budget, RECIPE, say, unwatched=rounds
        )


def _left_out(train: Measurements, quantity: Quantity, budget: TrainingBudget, say: Say) -> Unseen:
    """Return the interval of unmeasured machines, by machines that are left out one at a time."""
    machines = []
    for target in train.targets:
        others = train.where(lambda r, t=target: r.target != t)  # type: ignore[misc]
        held_out = train.where(lambda r, t=target: r.target == t)  # type: ignore[misc]
        predictor = PhysicsResidual(quantity=quantity)
        predictor.learned = fitted(
            others,
            train.of(()),
            quantity,
            budget,
            LEFT_OUT,
            lambda _: None,
            parts=2,  # fewer than usual, as the smaller recipe
        )
        detail = predictor.detail(held_out)
        residuals = np.log(held_out.values(quantity) / detail.value)
        # a number for each way of running
        modes_of_rows = [configuration_of(r).way for r in held_out.rows]
        modes = np.unique(modes_of_rows, axis=0, return_inverse=True)[1]
        # each machine counts as `AT_ONCE` far from the others, the least distance of an unmeasured
        # machine: about three machines are too few to derive a smaller one
        machines.append(LeftOut(AT_ONCE, residuals, detail.width, modes))
        say(f"without {target}: {np.abs(np.expm1(-residuals)).mean():.1%}")
    return unseen(machines)


def _families_left_out(
    data: Measurements, quantity: Quantity, budget: TrainingBudget, say: Say, rounds: int
) -> HeldOutScores:
    """Return the scores of rows of held-out families, predicted by fits to the other families."""
    score, distances = [np.zeros(0)], [np.zeros(0)]
    for turn in range(FAMILY_PARTS):
        part = families_in_turn(data.architectures, turn)
        others = data.where(lambda r, p=part: p[r.architecture] is DatasetPart.TRAIN)  # type: ignore[misc]
        held_out = data.where(lambda r, p=part: p[r.architecture] is DatasetPart.TEST)  # type: ignore[misc]
        if not len(others) or not len(held_out):
            continue
        predictor = PhysicsResidual(quantity=quantity)
        predictor.learned = fitted(
            others, data.of(()), quantity, budget, RECIPE, lambda _: None, unwatched=rounds
        )
        detail = predictor.detail(held_out)
        residuals = np.log(held_out.values(quantity) / detail.value)
        score.append(residuals / detail.width)
        distances.append(detail.distance)
        say(f"families, part {turn + 1}: {np.abs(np.expm1(-residuals)).mean():.1%}")
    return HeldOutScores(np.concatenate(score), np.concatenate(distances))


PREDICTOR = PhysicsResidual
