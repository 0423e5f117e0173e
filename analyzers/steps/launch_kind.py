"""Kinds of launches that differ in how well they use a machine."""

from __future__ import annotations

from enum import Enum


class LaunchKind(Enum):
    """What a launch does; kin are neighbours, so that a tree can cut between groups of them."""

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

    __hash__ = object.__hash__

    @property
    def number(self) -> int:
        """Position among all kinds."""
        return NUMBERS[self]


NUMBERS = {kind: i for i, kind in enumerate(LaunchKind)}


class LaunchRole(Enum):
    """What a launch is for in a training step; gradients of convolutions run kernels of their own.

    The number is the value of a feature. A launch of no listed step has 0.
    """

    FORWARD = 1
    """The forward pass and the loss."""
    DATA_GRADIENT = 2
    """Of a convolution, by its feature maps."""
    FILTER_GRADIENT = 3
    """Of a convolution, by its filters."""
    BACKWARD = 4
    """Any other part of the backward pass."""
    OPTIMIZER = 5

    @property
    def number(self) -> int:
        """As a feature."""
        return self.value
