"""PF402: convolutions whose channels leave part of each matrix instruction empty."""

from __future__ import annotations

import math
from collections.abc import Iterator

from perfc.ir.problem import Window
from perfc.lint.finding import Finding
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject
from perfc.report.units import share

from .misaligned_extents import GRANULE_ROWS, padding, summed_granule, unpadded

FEW = 4
"""Input channels for which libraries have kernels of their own."""


class MisalignedChannels(Rule):
    """A convolution with channel counts that matrix instructions do not divide.

    What it does:
        Rounds the input channels of a group up to 16 bytes and its output channels up to 8, and
        compares the products that are executed with those that are asked for. The gain is the
        matrix unit's time on the padding, as far as it binds. Up to four input channels, as an
        image has, count as four: libraries have kernels for that. Patches that do not overlap are
        a product over all their pixels, whose channels need no alignment. Depthwise convolutions
        do not run on the matrix unit and are left out.

    Why is this bad:
        Kernels for the matrix unit read channels last and in whole instructions. A layer of 30
        channels takes as long as one of 32, and one of 3 as long as one of 4 (tf32) or 8 (f16).

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
        """Convolutions on the matrix unit with padding."""
        for i, bound in enumerate(subject.kernels):
            problem = bound.kernel.problem
            granule = summed_granule(bound, subject.report.machine)
            if not isinstance(problem, Window) or not bound.counts.mac or granule is None:
                continue
            asked = {"in": subject.extent(problem.depth), "out": subject.extent(problem.filters)}
            wanted = {"in": wanted_in(problem, asked["in"], granule), "out": GRANULE_ROWS}
            off = {x: a for x, a in asked.items() if a % wanted[x]}
            if problem.is_depthwise or not off:
                continue
            padded = padding(asked, wanted)
            gain = subject.lightened(i, unpadded(bound, padded))
            each = " of each group" if problem.groups > 1 else ""
            names = ", ".join(f"{a} {x} (of {wanted[x]})" for x, a in off.items())
            message = f"{bound.dtype} convolution with channels{each} {names}: "
            yield self.finding(
                f"{message}{share(padded)} of its products are padding",
                "choose channel counts that are whole multiples",
                nodes=(bound.kernel.anchor,),
                gain=gain,
            )


def wanted_in(problem: Window, channels: int, granule: int) -> int:
    """What the input channels of a group should be a multiple of; 1 where it does not matter."""
    window = problem.static_extents
    if window and problem.strides == window and channels * math.prod(window) % granule == 0:
        return 1
    return min(granule, FEW) if channels <= FEW else granule
