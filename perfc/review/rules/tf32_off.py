"""PF408: f32 matrix products without TF32 on a device that supports it."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.machine import Unit
from perfc.passes.roofline.ceilings import KernelBound
from perfc.passes.runtimes import Tf32
from perfc.review.lint.rule import Finding, Rule, Subject

from .wide_type import share_in


class Tf32Off(Rule):
    """Float32 matrix products that may not use TF32.

    What it does:
        If the device supports TF32 and matrix products are computed in f32 without it, compares
        the run with one that may use TF32.

    Why is this bad:
        Matrix units multiply TF32 eight times as fast as vector units multiply f32 (A100), with the
        same range and f32 accumulation. PyTorch enables it for convolutions only by default.

    Example:
        torch.backends.cuda.matmul.allow_tf32 = False    # the default; perfc: --no-tf32

    Use instead:
        torch.set_float32_matmul_precision("high")

    Source:
        NVIDIA, A100 white paper, TF32; PyTorch, "CUDA semantics", TensorFloat-32.
    """

    code = "PF408"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield a finding if TF32 is off and would save time."""
        report = subject.report
        if (Unit.MATRIX, "tf32") not in report.machine.compute:
            return
        if not share_in(subject, is_product):
            return
        gain = subject.deployed(tf32=Tf32.ALL)
        if gain is None or gain.time_s <= 0:
            return
        yield self.finding(
            "f32 products run without TF32",
            "allow TF32 (--tf32); sums stay in f32, factors keep 10 bits of fraction",
            gain=gain,
        )


def is_product(bound: KernelBound) -> bool:
    """Return True if a kernel multiplies in f32 without TF32."""
    return bound.is_wide
