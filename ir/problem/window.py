"""Problem size of windows that move over feature maps: convolutions, transposed ones, pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from ..symbolic.dim import Dim
from ..tensors.types import element_count

MOST_GAIN = 4.0
"""Limit of the gain 4 r / (r + 3) of minimal filtering F(4, r) along an axis, as ``r`` grows."""


class WindowOperation(Enum):
    """Operation on the elements of a window."""

    CONVOLUTION = "convolution"
    TRANSPOSED = "transposed convolution"
    POOL = "pool"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class SlidingWindow(NamedTuple):
    """A window of ``extents`` that moves over ``[batch, in_channels, *in_extents]``.

    Args:
        batch: number of feature maps.
        in_channels: input channels of all groups together.
        out_channels: output channels of all groups together.
        in_extents: spatial extents of the input, empty if unknown.
        out_extents: spatial extents of the result.
        extents: extents of the window.
        strides: along each axis.
        dilations: along each axis.
        pads: explicit padding before and after each axis.
        auto_pad: as in ONNX; unless ``NOTSET``, padding follows from the extents.
        groups: groups of channels that are convolved separately.
        form: operation on the elements.
        carried: sequences whose last inputs are stored for the next call; 0 if none.
    """

    batch: Dim
    in_channels: Dim
    out_channels: Dim
    in_extents: tuple[Dim, ...]
    out_extents: tuple[Dim, ...]
    extents: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    auto_pad: str = "NOTSET"
    groups: int = 1
    form: WindowOperation = WindowOperation.CONVOLUTION
    carried: Dim = 0

    @property
    def is_transposed(self) -> bool:
        """Return True if every input element spreads a filter over the result."""
        return self.form is WindowOperation.TRANSPOSED

    @property
    def is_depthwise(self) -> bool:
        """Return True if each of several input channels has its own filters, one or more.

        It does not sum over channels, so it is not a matrix product. One channel without groups
        is a plain convolution: its filters share the columns of one product.
        """
        return (
            self.form is not WindowOperation.POOL
            and self.groups > 1
            and self.in_channels == self.groups
        )

    @property
    def depth(self) -> Dim:
        """Return the input channels of a group."""
        return self.in_channels // self.groups

    @property
    def filters(self) -> Dim:
        """Return the output channels of a group."""
        return self.out_channels // self.groups

    @property
    def taps(self) -> Dim:
        """Return the number of elements of the window."""
        return element_count(self.extents)

    @property
    def positions(self) -> Dim:
        """Return the elements of a channel in all results together."""
        return self.batch * element_count(self.out_extents)

    @property
    def stride(self) -> int:
        """Return the product of strides over the axes."""
        return math.prod(self.strides)

    @property
    def static_extents(self) -> tuple[int, ...]:
        """Return the window as numbers, empty if one depends on a symbol."""
        known = tuple([d for d in self.extents if isinstance(d, int)])
        return known if len(known) == len(self.extents) else ()

    @property
    def winograd_gain(self) -> float:
        """Return the factor by which minimal filtering F(4, r) can reduce products with stride one.

        Per axis, ``4 r / (r + 3)``, or 4, which is larger for every ``r``, if ``r`` is unknown.
        Dilated windows are excluded, since no library does so. Source: Winograd 1980; Lavin & Gray
        2016, section 3.
        """
        if self.form is WindowOperation.POOL or any(
            s != 1 for s in (*self.strides, *self.dilations)
        ):
            return 1.0
        gains = [4 * r / (r + 3) if isinstance(r, int) else MOST_GAIN for r in self.extents]
        return math.prod(gain for gain in gains if gain > 1)

    def pads_before(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Return the padding before each axis, with ``in_extents`` as numbers."""
        window = self.static_extents
        if not self.auto_pad.startswith("SAME") or len(window) != len(extents):
            return tuple([0 if self.auto_pad == "VALID" else before for before, _ in self.pads])
        before: list[int] = []
        axes = zip(extents, window, self.strides, self.dilations, strict=True)
        for extent, kernel, stride, dilation in axes:
            span = (kernel - 1) * dilation + 1
            # padding with which the result has ceil(extent / stride) elements
            total = max((-(-extent // stride) - 1) * stride + span - extent, 0)
            # of an odd total SAME_UPPER has the larger part behind, SAME_LOWER before
            before.append(total // 2 if self.auto_pad == "SAME_UPPER" else total - total // 2)
        return tuple(before)
