"""PF402: convolution channels that are not a multiple of the matrix instruction's."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perfc.ir.problem import SlidingWindow
from perfc.review.lint.rule import Finding, Rule, Subject
from perfc.view.report.units import share

from .misaligned_extents import GRANULE_ROWS, padding, summed_granule, unpadded

FEW = 4
"""Maximum input channels for which libraries have special kernels."""


class MisalignedChannels(Rule):
    """A convolution whose channels are not a multiple of the matrix instruction size.

    What it does:
        Rounds the input channels of a group up to 16 bytes and its output channels up to 8, and
        compares executed with required multiply–accumulates. The gain is the time that the matrix
        unit spends on padding, if that time is not hidden behind a slower unit. One to four input
        channels, as in images, round up to four, because libraries have kernels for four channels.
        A window without overlap (patch embedding) is one matrix product over all values of a
        patch, so its channels need no alignment. Depthwise convolutions are excluded: they do not
        run on the matrix unit.

    Why is this bad:
        Matrix unit kernels read channels-last data in whole instructions. A layer with 30 channels
        takes as long as one with 32, and one with 3 as long as one with 4 (tf32) or 8 (f16).

    Example:
        Conv(x[8, 30, 56, 56], w[30, 30, 3, 3])

    Use instead:
        Conv(x[8, 32, 56, 56], w[32, 32, 3, 3])

    Source:
        NVIDIA, Convolutional layers user's guide, channels in and out: multiples of 8 (f16),
        4 (tf32), 16 (int8).
    """

    code = "PF402"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield convolutions on the matrix unit with padding."""
        for i, bound in enumerate(subject.kernels):
            problem = bound.kernel.problem
            granule = summed_granule(bound, subject.report.machine)
            if not isinstance(problem, SlidingWindow) or not bound.counts.mac or granule is None:
                continue
            required = {"in": subject.extent(problem.depth), "out": subject.extent(problem.filters)}
            wanted = {"in": wanted_in(problem, required["in"], granule), "out": GRANULE_ROWS}
            off = {x: a for x, a in required.items() if a % wanted[x]}
            if problem.is_depthwise or not off:
                continue
            padded = padding(required, wanted)
            gain = subject.lightened(i, unpadded(bound, padded))
            of_group = " of each group" if problem.groups > 1 else ""
            names = ", ".join(f"{a} {x} (of {wanted[x]})" for x, a in off.items())
            message = f"{bound.dtype} convolution with channels{of_group} {names}: "
            yield self.finding(
                f"{message}{share(padded)} of its MACs are padding",
                "choose channel counts that are whole multiples",
                nodes=(bound.kernel.anchor,),
                gain=gain,
            )


def wanted_in(problem: SlidingWindow, channels: int, granule: int) -> int:
    """Return the multiple that a group's input channels must be of; 1 if any number works."""
    window = problem.static_extents
    # without overlap all values of a window are one row of a matrix product
    if window and problem.strides == window and channels * math.prod(window) % granule == 0:
        return 1
    return min(granule, FEW) if channels <= FEW else granule
