"""PF401: matrix product extents that are not a multiple of the matrix instruction's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perfc.ir import DType
from perfc.ir.problem import Product
from perfc.machine import Machine, Unit
from perfc.passes.roofline.ceilings import Ceiling, KernelBound
from perfc.review.lint.rule import Finding, Rule, Subject
from perfc.view.report.units import share

GRANULE_BYTES = 16
"""Bytes of the reduction dimension in the smallest matrix instruction, and of the widest load."""
GRANULE_ROWS = 8
"""Rows and columns of the smallest matrix instruction."""


class MisalignedExtents(Rule):
    """A matrix product whose extents are not a multiple of the matrix instruction size.

    What it does:
        Rounds m and n of a matrix product up to multiples of 8, and the reduction dimension k up
        to 16 bytes. If a batch is multiplied by one matrix, m counts the rows of all items.
        Compares executed with required multiply–accumulates. The gain is the time that the matrix
        unit spends on padding, if that time is not hidden behind a slower unit.

    Why is this bad:
        The matrix unit multiplies whole fragments, including padding. Rows that are not aligned
        to 16 bytes also need more, narrower loads. The gain leaves these loads out, because
        published times (DeepBench on V100 and T4, k = 1530 against 1536) show no penalty that all
        shapes share.

    Example:
        MatMul([8, 1000], [1000, 30])          # n = 30 takes as long as n = 32

    Use instead:
        MatMul([8, 1000], [1000, 32])

    Source:
        NVIDIA, Matrix multiplication background user's guide, dimension quantization; PTX ISA,
        shapes of mma: m16n8k8 for f16, m16n8k4 for tf32, m8n8k16 for 8-bit integers.
    """

    code = "PF401"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield matrix products on the matrix unit with padding."""
        for i, bound in enumerate(subject.kernels):
            problem = bound.kernel.problem
            if not isinstance(problem, Product) or not bound.counts.mac:
                continue
            granule = summed_granule(bound, subject.report.machine)
            # the guide is not about kernels that dequantize their weights
            if granule is None or problem.weight_bits:
                continue
            extents = {"m": problem.rows, "n": problem.n, "k": problem.k}
            required = {name: subject.extent(d) for name, d in extents.items()}
            wanted = {"n": GRANULE_ROWS, "k": granule}
            # few rows follow from a small batch, and such products wait for memory anyway
            if required["m"] > GRANULE_ROWS:
                wanted["m"] = GRANULE_ROWS
            off = {k: a for k, a in required.items() if k in wanted and a % wanted[k]}
            # a product of a matrix and a vector does not run on the matrix unit
            if not off or required["n"] == 1:
                continue
            padded = padding(required, wanted)
            gain = subject.lightened(i, unpadded(bound, padded))
            names = ", ".join(f"{k} = {a} (of {wanted[k]})" for k, a in sorted(off.items()))
            part = share(padded)
            message = f"{bound.dtype} matrix product with {names}: {part} of its MACs are padding"
            advice = "choose extents that are whole multiples, or pad them once in the weights"
            yield self.finding(message, advice, nodes=(bound.kernel.anchor,), gain=gain)


def summed_granule(bound: KernelBound, machine: Machine) -> int | None:
    """Return k of a matrix instruction for a kernel's type; None if no matrix unit supports it."""
    if machine.kind != "cuda" or bound.dtype.bits == 0:
        return None
    code = bound.dtype.code
    if bound.dtype is DType.F32:
        code = "tf32" if bound.tf32 else "f32"
    # targets have one rate for signed and unsigned integers
    if (Unit.MATRIX, code.replace("u", "i")) not in machine.compute:
        return None
    return GRANULE_BYTES * 8 // bound.dtype.bits


def padding(required: Mapping[str, int], wanted: Mapping[str, int]) -> float:
    """Return the fraction of executed MACs that is padding."""
    executed = needed = 1
    for name, extent in required.items():
        granule = wanted.get(name, 1)
        needed *= max(extent, 1)
        executed *= -(-max(extent, 1) // granule) * granule  # rounded up
    return 1 - needed / executed


def unpadded(bound: KernelBound, share: float) -> float:
    """Return the time of a kernel without padding, which is ``share`` of its executed MACs.

    The analysis counts required MACs; with padding the unit takes ``1 / (1 - share)`` times as
    long.
    """
    other_s = max(
        (t for c, t in bound.sustained.items() if c not in (Ceiling.MATRIX, Ceiling.WAVES)),
        default=0.0,
    )
    # a kernel that is shorter than its launch does not end earlier
    other_s = max(other_s, bound.time_s if bound.launch_gap_s else 0.0)
    matrix_s = max(bound.sustained.get(c, 0.0) for c in (Ceiling.MATRIX, Ceiling.WAVES))
    padded_s = max(matrix_s / (1 - share), other_s)
    return bound.time_s - (padded_s - max(matrix_s, other_s))
