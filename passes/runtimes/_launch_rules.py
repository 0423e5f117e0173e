"""Rules for the launches of a runtime in addition to the operators of a model."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import cache
from math import inf
from typing import NamedTuple

from perfc.common.fitted import data_next_to
from perfc.ir import record

from ..fusion.kernel import ConvAlgorithm, Helper

Range = tuple[float, float]
"""Least and greatest value of a trait, ends included; infinite where a rule has no limit."""


class RuleOperation(Enum):
    """Classes of kernels that rules distinguish."""

    CONVOLUTION = "convolution"
    """Convolution of one group of channels."""
    GROUPED = "grouped convolution"
    DEPTHWISE = "depthwise convolution"
    DATA_GRADIENT = "gradient of a feature map"
    FILTER_GRADIENT = "gradient of filters"
    """Both gradients are of convolutions of one group; those of grouped ones have no rules."""
    PRODUCT = "product"
    ATTENTION = "attention"
    BATCH_NORM = "batch normalization"
    PAD = "pad"
    POOL = "pool"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class Arithmetic(Enum):
    """Types of multiply-accumulates that rules distinguish."""

    HALF = "16 bits"
    TF32 = "TF32"
    F32 = "f32"
    OTHER = "other"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class KernelTraits(NamedTuple):
    """Numbers of a kernel that rules compare.

    Args:
        window: longest extent of the filter.
        stride: product of the strides.
        depth: input channels of a group.
        channels: the smaller of input and output channels.
        filters: output channels of a group.
        alignment: greatest common divisor of 8 and the pixels of the result.
        pixels: positions in a feature map of the result.
        batch: number of feature maps.
        elements: elements of the result.
        tiles: tiles of 128 x 256 of a product's result, divided by the machine's multiprocessors.
        capability: compute capability, 90 for ``sm_90``; 0 for other makers.
        channels_last: 1 for a feature map whose channels are the densest axis.
        strided: 1 if a product's left operand is no dense tensor.
        copied_weights: 1 if the filters lie in another order than the feature map.
        merged: 1 for a kernel that also computes operators after the convolution.
    """

    window: float = 1
    stride: float = 1
    depth: float = 0
    channels: float = 0
    filters: float = 0
    alignment: float = 8
    pixels: float = 0
    batch: float = 0
    elements: float = 0
    tiles: float = 0
    capability: float = 0
    channels_last: float = 0
    strided: float = 0
    copied_weights: float = 0
    merged: float = 0


@record
class LaunchRule:
    """Helper launches around a class of kernels.

    Args:
        operation: class of kernels.
        types: arithmetic of the kernels; any if empty.
        where: ranges of traits, ends included, all of which must hold.
        before: launches before the kernel, in order.
        after: launches after the kernel, in order.
        algorithm: how the library chooses the kernel; None if that makes no difference.
        maker: maker of the GPU.
        by_group: whether each group of channels is a launch.
    """

    operation: RuleOperation
    types: frozenset[Arithmetic] = frozenset()
    where: tuple[tuple[str, Range], ...] = ()
    before: tuple[Helper, ...] = ()
    after: tuple[Helper, ...] = ()
    algorithm: ConvAlgorithm | None = None
    maker: str = "NVIDIA"
    by_group: bool = False

    def without(self, helper: Helper) -> LaunchRule:
        """Return the rule without a helper after the kernel."""
        return replace(self, after=tuple([h for h in self.after if h is not helper]))

    def matches(self, traits: KernelTraits) -> bool:
        """Return True if the rule applies to a kernel with these traits, of its class and types."""
        return all(low <= getattr(traits, name) <= high for name, (low, high) in self.where)


@cache
def rules(*groups: str) -> tuple[LaunchRule, ...]:
    """Return the rules of the named groups of ``_launch_rules.toml``, in that order."""
    table = data_next_to(__file__)
    return tuple([_rule(**row) for group in groups for row in table[group]])


def _rule(
    operation: str,
    types: str = "",
    where: str = "",
    before: str = "",
    after: str = "",
    algorithm: str = "",
    maker: str = "NVIDIA",
    *,
    by_group: bool = False,
) -> LaunchRule:
    """Return a rule from a row: names separated by spaces, ranges as ``trait=low..high``."""
    helpers_before, helpers_after = (
        tuple([Helper[name.upper()] for name in text.split()]) for text in (before, after)
    )
    # ``trait=1`` and ``trait=2..8``
    ranges = (condition.partition("=") for condition in where.split())
    return LaunchRule(
        RuleOperation[operation.upper()],
        frozenset([Arithmetic[name.upper()] for name in types.split()]),
        tuple([(name, _range(text)) for name, _, text in ranges]),
        helpers_before,
        helpers_after,
        ConvAlgorithm[algorithm.upper()] if algorithm else None,
        maker,
        by_group,
    )


def _range(text: str) -> Range:
    """Return a range from ``low..high``, ``low..``, ``..high``, or one number for both ends."""
    low, dots, high = text.partition("..")
    least = float(low or -inf)
    return least, float(high or inf) if dots else least
