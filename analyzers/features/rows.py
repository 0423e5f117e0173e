"""Timing protocols of measured kernels, and the error of unusable rows."""

from __future__ import annotations

from enum import Enum

from perfc.errors import PerfcError


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
