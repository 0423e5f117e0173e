"""PF201: depthwise convolutions, which matrix units cannot accelerate."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir.problem import SlidingWindow
from perfc.passes.roofline.ceilings import Ceiling
from perfc.review.lint.rule import Finding, Rule, Severity, Subject


class DepthwiseOnMatrixPath(Rule):
    """A depthwise convolution that is bound by the vector units.

    What it does:
        Finds convolutions with one filter per channel whose multiply–accumulates on the vector
        units take longer than their memory traffic. The gain is the distance to the next ceiling.

    Why is this bad:
        A depthwise convolution does not sum over channels, so it is not a matrix product and runs
        on the vector units, at a small fraction of the matrix units' rate. Small filters are
        memory-bound anyway; large ones are not.

    Example:
        Conv(x, kernel 7x7, group=C)

    Use instead:
        two depthwise convolutions 7x1 and 1x7, a smaller filter, or groups of at least
        eight channels

    Source:
        Chollet 2017, arXiv:1610.02357; NVIDIA, Convolutional layers user's guide, group counts.
    """

    code = "PF201"
    severity = Severity.NOTE

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield depthwise kernels that are bound by the vector units."""
        for i, bound in enumerate(subject.kernels):
            problem = bound.kernel.problem
            if not isinstance(problem, SlidingWindow) or not problem.is_depthwise:
                continue
            if bound.binding is not Ceiling.VECTOR:
                continue
            others = [t for c, t in bound.sustained.items() if c is not Ceiling.VECTOR]
            next_s = max(others, default=0.0)
            other_floors = [t for c, t in bound.floor.items() if c is not Ceiling.VECTOR]
            gain = subject.lightened(i, next_s, max(other_floors, default=0.0))
            window = "x".join(map(str, problem.static_extents))
            times = bound.sustained_s / next_s if next_s else 0.0
            message = (
                f"depthwise {window} convolution: vector units at {times:.1f}x the next ceiling"
            )
            yield self.finding(
                message,
                "separate the filter, make it smaller, or group eight channels and more",
                nodes=(bound.kernel.anchor,),
                gain=gain,
            )
