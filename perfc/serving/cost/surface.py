"""Kernel costs on a grid of sizes, and the parts that a step is interpolated as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfc.ir.record import entity, record

from .grid import Grid
from .program import QUANTITIES, KernelCost


@entity
class Surface:
    """Costs of kernels on a grid of sizes."""

    grids: Mapping[str, Grid]

    @classmethod
    def of(cls, axes: Sequence[Sequence[float]], costs: Sequence[KernelCost]) -> Surface:
        """Return a surface from costs in the order of the grid's points."""
        return cls({name: Grid.of(axes, [getattr(c, name) for c in costs]) for name in QUANTITIES})

    def at(self, quantity: str, *sizes: float) -> float:
        """Return one of ``QUANTITIES`` at the given sizes."""
        return self.grids[quantity].at(*sizes)


@record
class Parts:
    """A quantity of a step, split into collectives and all other kernels."""

    kernels: float
    exchanges: float
