"""PF201: convolutions without sums over channels, which a matrix unit cannot speed up."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir.problem import Window
from perfc.lint.finding import Finding, Severity
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject
from perfc.passes.ceilings import Ceiling


class DepthwiseOnMatrixPath(Rule):
    """A depthwise convolution that the vector unit binds.

    What it does:
        Finds convolutions with one filter a channel whose multiply–accumulates take longer on the
        vector unit than their bytes take to move. The gain is the difference to the next ceiling.

    Why is this bad:
        A depthwise convolution has no sum over channels, so it is no product of matrices: it runs
        on the vector unit, at a small part of the rate that its flop are usually compared with.
        Small filters hide behind memory; large ones do not.

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
        """Depthwise kernels bound by the vector unit."""
        for i, bound in enumerate(subject.kernels):
            problem = bound.kernel.problem
            if not isinstance(problem, Window) or not problem.is_depthwise:
                continue
            if bound.binding is not Ceiling.VECTOR:
                continue
            rest = [t for c, t in bound.sustained.items() if c is not Ceiling.VECTOR]
            then = max(rest, default=0.0)
            lower = [t for c, t in bound.floor.items() if c is not Ceiling.VECTOR]
            gain = subject.lightened(i, then, max(lower, default=0.0))
            window = "x".join(map(str, problem.static_extents))
            times = bound.sustained_s / then if then else 0.0
            message = f"depthwise {window} convolution: vector unit {times:.1f}x its next ceiling"
            yield self.finding(
                message,
                "separate the filter, make it smaller, or group eight channels and more",
                nodes=(bound.kernel.anchor,),
                gain=gain,
            )
