"""Predicts a generation from the sums of its kernels, fitted to published generations.

``T = Σ calls · max(factor · Σ kernels, launch · kernels)``. diffusers runs PyTorch operator by
operator, for seconds at a time; the kernels that perfc was fitted to were timed in isolation. Each
fitted machine has a factor; other machines use their geometric mean.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from perfc.ir import record
from perfc.machine import Machine

FILE = Path(__file__).with_suffix(".toml")


@record
class PictureEnergy:
    """Energy of a picture on the board.

    Args:
        energy_j: predicted.
        low_j: lower end of the interval that holds nine in ten.
        high_j: upper end.
    """

    energy_j: float
    low_j: float
    high_j: float


@record
class Law:
    """Fit of times and energies of generations.

    Args:
        factors: multiplier of the kernels' sum, by target.
        launch_s: least time per kernel.
        seen: half-width of the 90 % interval of the logarithm, for held-out models on fitted
            machines.
        unseen: the same on other machines.
        energy: measured over predicted energy.
        energy_seen: half-width of the interval of energy, on fitted machines.
        energy_unseen: the same on other machines.
        rows: number of fitted generations.
        models: number of models among them.
    """

    factors: Mapping[str, float]
    launch_s: float
    seen: float
    unseen: float
    energy: float
    energy_seen: float
    energy_unseen: float
    rows: int
    models: int

    def factor(self, machine: Machine) -> float:
        """Return the multiplier of a machine's kernels; the mean of all if it has none."""
        logs = [math.log(f) for f in self.factors.values()]
        return self.factors.get(machine.name, math.exp(math.fsum(logs) / len(logs)))

    def is_known(self, machine: Machine) -> bool:
        """Return True if generations were measured on a machine."""
        return machine.name in self.factors

    def call_s(self, kernels_s: float, launches: float, machine: Machine) -> float:
        """Return the time of one call of a part in seconds.

        Args:
            kernels_s: sum of its kernels' estimates.
            launches: number of kernel launches.
            machine: the target.
        """
        return max(self.factor(machine) * kernels_s, self.launch_s * launches)

    def reach(self, machine: Machine) -> float:
        """Factor that nine in ten generations are within, either way."""
        return math.exp(self.seen if self.is_known(machine) else self.unseen)

    def energy_of(
        self, parts_j: Sequence[float | None], batch: int, machine: Machine
    ) -> PictureEnergy | None:
        """Energy of a picture; None where that of a part is unknown.

        Args:
            parts_j: energy of each part for the whole batch.
            batch: pictures.
            machine: where.
        """
        known_j = [joules for joules in parts_j if joules is not None]
        if len(known_j) < len(parts_j):
            return None
        each_j = self.energy * math.fsum(known_j) / batch
        reach = math.exp(self.energy_seen if self.is_known(machine) else self.energy_unseen)
        return PictureEnergy(each_j, each_j / reach, each_j * reach)


@cache
def law() -> Law:
    """The shipped one. Made by ``benchmarks/diffusion.py``."""
    return Law(**tomllib.loads(FILE.read_text(encoding="utf-8")))
