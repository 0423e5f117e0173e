"""How an optimiser reaches the device, and what a step keeps of its forward pass."""

from __future__ import annotations

from enum import Enum


class Implementation(Enum):
    """How an optimiser is launched."""

    FOREACH = "foreach"
    """A kernel an operation, over all tensors; the default of PyTorch."""
    FUSED = "fused"
    """One kernel for everything."""

    __hash__ = object.__hash__


class Policy(Enum):
    """Which results are computed again."""

    NONE = "none"
    """Everything that the backward pass reads is kept."""
    BLOCK = "block"
    """Of each repeated block only its operand is kept."""
    SELECTIVE = "selective"
    """Results of matrix operations are kept; what is cheap is computed again."""
    OPTIMAL = "optimal"
    """Each block as the time-memory curve has it at the share of bytes that may be kept."""

    __hash__ = object.__hash__
