"""Predict the time of a generation from the sums of its kernels, fitted to published generations.

``T = Σ calls · max(kernels_s + (factor - 1) · attention_s, launch_s · launches)``: the times of all
kernels and of fused attention, and the number of launches, are those of one call.

diffusers runs PyTorch operator by operator. Its fused attention is FlashAttention-2, also on
architectures whose attention perfc knows from the faster kernels of serving engines: these have a
factor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from perfc.common.fitted import data_next_to
from perfc.ir import record
from perfc.machine import Machine

FILE = Path(__file__).with_suffix(".toml")
"""The shipped fit, next to this file."""


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
        factors: multiplier of fused attention, by architecture; 1 on others.
        targets: machines of the fitted generations.
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
    targets: Sequence[str]
    launch_s: float
    seen: float
    unseen: float
    energy: float
    energy_seen: float
    energy_unseen: float
    rows: int
    models: int

    def factor(self, machine: Machine) -> float:
        """Return the multiplier of a machine's fused attention."""
        return self.factors.get(architecture(machine), 1.0)

    def is_known(self, machine: Machine) -> bool:
        """Return True if generations were measured on a machine."""
        return machine.name in self.targets

    def call_s(
        self, kernels_s: float, attention_s: float, launches: float, machine: Machine
    ) -> float:
        """Return the time of one call of a part in seconds.

        Args:
            kernels_s: sum of its kernels' estimates.
            attention_s: time of its fused attention kernels.
            launches: number of kernel launches.
            machine: the target.
        """
        # the part beyond 1 is added, as the sum has the attention once
        slower_s = (self.factor(machine) - 1) * attention_s
        return max(kernels_s + slower_s, self.launch_s * launches)

    def reach(self, machine: Machine) -> float:
        """Return the factor that bounds the error of nine in ten generations, up and down."""
        return math.exp(self.seen if self.is_known(machine) else self.unseen)

    def energy_of(
        self, parts_j: Sequence[float | None], batch: int, machine: Machine
    ) -> PictureEnergy | None:
        """Return the energy of a picture; None where that of a part is unknown.

        Args:
            parts_j: energy of each part for the whole batch.
            batch: pictures.
            machine: machine that generates them.
        """
        # one unknown part makes the sum unknown
        known_j = [joules for joules in parts_j if joules is not None]
        if len(known_j) < len(parts_j):
            return None
        each_j = self.energy * math.fsum(known_j) / batch
        reach = math.exp(self.energy_seen if self.is_known(machine) else self.energy_unseen)
        return PictureEnergy(each_j, each_j / reach, each_j * reach)


def architecture(machine: Machine) -> str:
    """Return the name of a machine's architecture, as ``sm9``."""
    return f"sm{machine.capability // 10}"


@cache
def law() -> Law:
    """Return the shipped fit, which ``benchmarks/diffusion.py`` wrote."""
    return Law(**data_next_to(__file__))
