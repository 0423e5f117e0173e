"""Kinds of launches that reach different shares of a machine's rates."""

from __future__ import annotations

from enum import Enum


class LaunchKind(Enum):
    """Kind of a launch; similar kinds are adjacent, as trees split at a threshold of the number.

    The order must not change: stored tables and trained weights contain the numbers.
    """

    STEM = "convolution of an image"
    """Up to four input channels."""
    DEPTHWISE = "depthwise convolution"
    GROUPED = "grouped convolution"
    POINTWISE = "1×1 convolution"
    CONVOLUTION = "convolution"
    MATMUL = "matrix product"
    BATCHED_MATMUL = "batched matrix product"
    ATTENTION = "attention"
    COPY = "copy of a permuted view"
    MOVEMENT = "movement"
    CAST = "cast of an activation"
    WEIGHT_CAST = "casts of all weights"
    ELEMENTWISE = "elementwise"
    ACTIVATION = "activation"
    BATCH_NORM = "batch normalisation"
    LAYER_NORM = "normalisation over features"
    GROUP_NORM = "group or instance normalisation"
    SOFTMAX = "softmax"
    REDUCTION = "reduction"
    POOL = "pooling"
    OTHER = "other"

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower

    @property
    def number(self) -> int:
        """Return the position among all kinds."""
        return NUMBERS[self]


NUMBERS = {kind: i for i, kind in enumerate(LaunchKind)}
"""Positions of the kinds, by kind."""
