"""How an optimiser reaches the device."""

from __future__ import annotations

from enum import Enum


class Implementation(Enum):
    """How an optimiser is launched."""

    FOREACH = "foreach"
    """A kernel an operation, over all tensors; the default of PyTorch."""
    FUSED = "fused"
    """One kernel for everything."""

    __hash__ = object.__hash__
