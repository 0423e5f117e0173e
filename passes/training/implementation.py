"""Launch implementations of optimizers, and policies of activation checkpointing."""

from __future__ import annotations

from enum import Enum


class OptimizerLaunch(Enum):
    """Launch of an optimizer: the kernels of one update."""

    FOREACH = "foreach"
    """One kernel per operation over lists of tensors; PyTorch's default."""
    FUSED = "fused"
    """One kernel over lists of tensors for the whole update."""
    SINGLE = "single"
    """One kernel per operation and tensor, as PyTorch runs on processors."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class RecomputePolicy(Enum):
    """Policy that selects the results to recompute."""

    NONE = "none"
    """Save everything that the backward pass reads."""
    BLOCK = "block"
    """Save only the input of each repeated block."""
    SELECTIVE = "selective"
    """Save results of matrix operations; recompute the cheap ones."""
    OPTIMAL = "optimal"
    """Choose per block from the time-memory curve, within the share of bytes to save."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name
