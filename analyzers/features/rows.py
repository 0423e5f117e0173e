"""Timing protocols of measured kernels, and the error of unusable rows."""

from __future__ import annotations

from enum import Enum

from perfc.errors import PerfcError


class Protocol(Enum):
    """Timing protocols: the same kernel has different times under different protocols."""

    EAGER = "eager"
    """One call from the host, including its launch."""
    GRAPH = "graph"
    """Replay of a recorded CUDA graph: mean time of a kernel with its launch on the device."""
    KERNELS = "kernels"
    """Sum of the times of kernels in a profile, without the gaps between them."""
    STEP = "step"
    """A whole step of a model, up to the end of its work on the device."""


class DataError(PerfcError):
    """Measured rows that cannot be used."""
