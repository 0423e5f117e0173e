"""PF408: f32 products without TF32 on a machine that has it."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.lint.finding import Finding
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject
from perfc.machine import Unit
from perfc.passes.ceilings import KernelBound
from perfc.passes.runtimes import Tf32

from .wide_type import share_in


class Tf32Off(Rule):
    """Products of f32 that may not use TF32.

    What it does:
        Where the machine has TF32, and products are computed in f32 without it, compares the run
        with one that may use it.

    Why is this bad:
        Matrix units multiply TF32 eight times as fast as vector units multiply f32 (A100), at the
        same range and sums in f32. PyTorch's default is off for products and on for convolutions.

    Example:
        torch.backends.cuda.matmul.allow_tf32 = False    # as it comes; perfc: --no-tf32

    Use instead:
        torch.set_float32_matmul_precision("high")

    Source:
        NVIDIA, A100 white paper, TF32; PyTorch, "CUDA semantics", TensorFloat-32.
    """

    code = "PF408"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """The run, where TF32 is off and would serve."""
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
    """Whether a kernel multiplies in f32 without TF32."""
    return bound.is_wide
