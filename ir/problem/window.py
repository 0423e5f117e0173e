"""Windows that move over feature maps: convolutions, transposed ones, pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from ..dim import Dim

MOST_GAIN = 4.0
"""Of minimal filtering F(4, r) along an axis, whatever ``r``."""


class Form(Enum):
    """What is done with the elements of a window."""

    CONVOLUTION = "convolution"
    TRANSPOSED = "transposed convolution"
    POOL = "pool"

    __hash__ = object.__hash__


class Window(NamedTuple):
    """A window of ``extents`` that moves over ``[batch, in_channels, *in_extents]``.

    Args:
        batch: feature maps.
        in_channels: of a map, all groups together.
        out_channels: of a result, all groups together.
        in_extents: spatial ones, empty where they are not known.
        out_extents: spatial ones of the result.
        extents: of the window.
        strides: along each axis.
        dilations: along each axis.
        pads: before and after each axis, as stated.
        auto_pad: as ONNX has it; pads that are not ``NOTSET`` follow from extents.
        groups: of channels that do not meet.
        form: what is done with the elements.
        carried: sequences whose last inputs are kept for the next call; 0 where none are.
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
    form: Form = Form.CONVOLUTION
    carried: Dim = 0

    @property
    def is_transposed(self) -> bool:
        """Whether every input element spreads a filter over the result."""
        return self.form is Form.TRANSPOSED

    @property
    def is_depthwise(self) -> bool:
        """Whether each of several input channels has filters of its own, one or more.

        It sums over no channels, so it is no product of matrices. One channel without groups is a
        plain convolution: its filters share the columns of one product.
        """
        return self.form is not Form.POOL and self.groups > 1 and self.in_channels == self.groups

    @property
    def depth(self) -> Dim:
        """Input channels of a group."""
        return self.in_channels // self.groups

    @property
    def filters(self) -> Dim:
        """Output channels of a group."""
        return self.out_channels // self.groups

    @property
    def taps(self) -> Dim:
        """Elements of the window."""
        return _product(self.extents)

    @property
    def positions(self) -> Dim:
        """Elements of a channel of all results."""
        return self.batch * _product(self.out_extents)

    @property
    def stride(self) -> int:
        """Product over the axes."""
        return math.prod(self.strides)

    @property
    def static_extents(self) -> tuple[int, ...]:
        """The window as numbers, empty where one depends on a symbol."""
        known = tuple([d for d in self.extents if isinstance(d, int)])
        return known if len(known) == len(self.extents) else ()

    @property
    def winograd_gain(self) -> float:
        """Factor by which minimal filtering F(4, r) can cut the products of stride one.

        Per axis, ``4 r / (r + 3)``, or 4 where nobody knows ``r``: it is less for every ``r``.
        Left out: dilated windows, which no library filters so. Source: Winograd 1980; Lavin & Gray
        2016, section 3.
        """
        if self.form is Form.POOL or any(s != 1 for s in (*self.strides, *self.dilations)):
            return 1.0
        gains = [4 * r / (r + 3) if isinstance(r, int) else MOST_GAIN for r in self.extents]
        return math.prod(gain for gain in gains if gain > 1)

    def pads_before(self, extents: Sequence[int]) -> tuple[int, ...]:
        """What is added before each axis, with ``in_extents`` as numbers."""
        window = self.static_extents
        if not self.auto_pad.startswith("SAME") or len(window) != len(extents):
            return tuple([0 if self.auto_pad == "VALID" else before for before, _ in self.pads])
        found: list[int] = []
        axes = zip(extents, window, self.strides, self.dilations, strict=True)
        for extent, kernel, stride, dilation in axes:
            span = (kernel - 1) * dilation + 1
            total = max((-(-extent // stride) - 1) * stride + span - extent, 0)
            found.append(total // 2 if self.auto_pad == "SAME_UPPER" else total - total // 2)
        return tuple(found)


def _product(extents: tuple[Dim, ...]) -> Dim:
    found: Dim = 1
    for d in extents:
        found = found * d
    return found
