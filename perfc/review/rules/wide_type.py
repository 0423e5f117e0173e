"""PF407: f32 instead of 16 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perfc.ir import DType
from perfc.passes.roofline.ceilings import KernelBound
from perfc.review.lint.rule import Finding, Rule, Subject
from perfc.view.report.units import share

HALF = "f16"
"""Element type of the run that is compared."""
LEAST_SHARE = 0.5
"""Minimum fraction of the run in f32."""


class WideType(Rule):
    """A model in f32 that would be faster in 16 bits.

    What it does:
        Sums the time of kernels that compute in f32, unless a precision is requested, and reports
        it above half of the run. The gain is that of the same model with every floating-point
        tensor in f16, as with `perfc analyze --dtype f16`.

    Why is this bad:
        16-bit types need half the bytes, and matrix units are 2 to 16 times as fast. Most trained
        networks lose no quality.

    Example:
        model.to(torch.float32)

    Use instead:
        model.half()                  # or bfloat16, or torch.autocast; then check the quality

    Source:
        Micikevicius et al. 2018, arXiv:1710.03740; data sheets of the targets.
    """

    code = "PF407"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield a finding if most of the time is f32."""
        report = subject.report
        if report.dtype or report.machine.kind == "cpu":
            return
        part = share_in(subject, is_wide)
        if part < LEAST_SHARE:
            return
        gain = subject.deployed(dtype=HALF)
        if gain is None or gain.time_s <= 0:
            return
        yield self.finding(
            f"{share(part)} of the run computes in f32",
            f"store and compute in {HALF} or bf16 (--dtype {HALF}); check the model's quality",
            gain=gain,
        )


def is_wide(bound: KernelBound) -> bool:
    """Return True if a kernel computes in f32."""
    return bound.dtype is DType.F32


def share_in(subject: Subject, chosen: Callable[[KernelBound], bool]) -> float:
    """Return the fraction of the kernels' time that the selected ones take."""
    table = subject.report.prediction
    whole = sum(k.time_s for k in table.kernels)
    times = zip(table.kernels, subject.kernels, strict=True)
    return sum(k.time_s for k, b in times if chosen(b)) / whole if whole else 0.0
