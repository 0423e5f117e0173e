"""What kernels of a step cost on a grid of sizes, and the parts that a step is read off as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfc.ir.record import entity, record

from .grid import Grid
from .program import QUANTITIES, KernelCost


@entity
class Surface:
    """What some kernels cost on a grid of sizes."""

    grids: Mapping[str, Grid]

    @classmethod
    def of(cls, axes: Sequence[Sequence[float]], costs: Sequence[KernelCost]) -> Surface:
        """Of costs in the order of the grid's points."""
        return cls({name: Grid.of(axes, [getattr(c, name) for c in costs]) for name in QUANTITIES})

    def at(self, quantity: str, *sizes: float) -> float:
        """One of ``QUANTITIES``."""
        return self.grids[quantity].at(*sizes)


@record
class Parts:
    """A quantity of a step: of its exchanges among ranks, and of all other kernels."""

    kernels: float
    exchanges: float
