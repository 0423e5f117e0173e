"""Measured kernels of one class, one machine and one element type, as columns."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from perfc.errors import PerfcError

if TYPE_CHECKING:
    pass


class Protocol(Enum):
    """Timing protocols; the same kernel has another time under each."""

    EAGER = "eager"
    """One call from the host, its launch inside."""
    GRAPH = "graph"
    """Replay of a recorded graph, mean of a kernel and its launch on the device."""
    KERNELS = "kernels"
    """Sum of what a profiler says the kernels took, no gaps."""
    STEP = "step"
    """A whole synchronised step of a model."""


class DataError(PerfcError):
    """Measured rows that cannot be used."""
