"""Trains `perfc.analyzers.whole_runs.physics_residual`: multipliers, forests, bands of machines.

Machines and families are left out in turn; their errors calibrate machines that nobody measured,
and graphs unlike all trained on.
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
"""For machines left out in turn, whose errors calibrate those that nobody measured."""
LEAST_HELD_OUT = 100
"""Held-out rows that a band of graphs with similar ones, and of those without, is taken from."""


class PhysicsResidual(physics_residual.PhysicsResidual):
    """The predictor that ships, with its training."""

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Fit multipliers, factors by parts, then the residual; validation rows stop it."""
        self.learned = fitted(train, validation, self.quantity, budget, RECIPE, say)
        self.shift, self.moved = None, frozenset()
        self.bands = RunBands()
        if len(train.targets) > 1:
            self.bands.unseen = _left_out(train, self.quantity, budget, say)

    def finish(self, data: Measurements, budget: TrainingBudget, say: Say) -> None:
        """Learn again from every row, as many trees as validation had chosen.

        Bands of machines stay. Where families can be left out, graphs without similar ones get a
        band, and that of machines trained on becomes the band of the others.
        """
        if self.learned is None:
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        rounds = len(self.learned.residual.forest.roots)
        left_out = _families_left_out(data, self.quantity, budget, say, rounds).where(similar=False)
        if len(left_out.score) >= LEAST_HELD_OUT:
            self.bands.unfamiliar = band(left_out.score)
            known = self.calibrated and self.calibrated.where(similar=True)
            if known and len(known.score) >= LEAST_HELD_OUT:
                self.bands.seen = band(known.score)
        self.learned = fitted(
            data, data.of(()), self.quantity, budget, RECIPE, say, unwatched=rounds
        )


def _left_out(train: Measurements, quantity: Quantity, budget: TrainingBudget, say: Say) -> Unseen:
    """Return the errors of machines that are left out one at a time."""
    machines = []
    for target in train.targets:
        others = train.where(lambda r, t=target: r.target != t)  # type: ignore[misc]
        mine = train.where(lambda r, t=target: r.target == t)  # type: ignore[misc]
        one = PhysicsResidual(quantity=quantity)
        one.learned = fitted(others, train.of(()), quantity, budget, LEFT_OUT, lambda _: None, 2)
        detail = one.detail(mine)
        wrong = np.log(mine.values(quantity) / detail.value)
        each = [configuration_of(r).way for r in mine.rows]
        ways = np.unique(each, axis=0, return_inverse=True)[1]
        machines.append(LeftOut(AT_ONCE, wrong, detail.width, ways))
        say(f"without {target}: {np.abs(np.expm1(-wrong)).mean():.1%}")
    return unseen(machines)


def _families_left_out(
    data: Measurements, quantity: Quantity, budget: TrainingBudget, say: Say, rounds: int
) -> HeldOutScores:
    """Return the rows of families that are left out in turn, by what the others teach."""
    score, distances = [np.zeros(0)], [np.zeros(0)]
    for turn in range(FAMILY_PARTS):
        part = families_in_turn(data.architectures, turn)
        others = data.where(lambda r, p=part: p[r.architecture] is DatasetPart.TRAIN)  # type: ignore[misc]
        mine = data.where(lambda r, p=part: p[r.architecture] is DatasetPart.TEST)  # type: ignore[misc]
        if not len(others) or not len(mine):
            continue
        one = PhysicsResidual(quantity=quantity)
        one.learned = fitted(
            others, data.of(()), quantity, budget, RECIPE, lambda _: None, unwatched=rounds
        )
        detail = one.detail(mine)
        wrong = np.log(mine.values(quantity) / detail.value)
        score.append(wrong / detail.width)
        distances.append(detail.distance)
        say(f"families, part {turn + 1}: {np.abs(np.expm1(-wrong)).mean():.1%}")
    return HeldOutScores(np.concatenate(score), np.concatenate(distances))


PREDICTOR = PhysicsResidual
