"""Timing protocols of measured kernels, and the error of unusable rows."""

from __future__ import annotations

from enum import Enum

from perfc.errors import PerfcError


class Protocol(Enum):
    """Timing protocols; the same kernel has another time under each."""

    EAGER = "eager"
    """One call from the host, including its launch."""
    GRAPH = "graph"
    """Replay of a recorded CUDA graph, mean time of a kernel and its launch on the device."""
    KERNELS = "kernels"
    """Sum of the times of kernels in a profile, without gaps."""
    STEP = "step"
    """A whole synchronised step of a model."""


class DataError(PerfcError):
    """Measured rows that cannot be used."""
