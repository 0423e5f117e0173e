"""PF505: matrix products of a trace with extents or types that slow them down."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfc.ir import DType, dtype_named
from perfc.machine import Unit
from perfc.measuring.trace.analyses.rates import TF32, ProductShape
from perfc.measuring.trace.facts import TensorArgument
from perfc.measuring.trace.summary import KernelTime
from perfc.passes.roofline.floor import Floors
from perfc.review.lint.finding import Finding
from perfc.review.lint.traced import TracedSubject, TraceRule, amount, counted

from .avoidable_copies import name_of
from .misaligned_extents import GRANULE_BYTES

_F32 = re.compile(r"sgemm|simt|scudnn|ffma|f32f32_f32f32|gemmk1|gemv", re.I)
"""Names of kernels that multiply f32 on the vector units."""


class SlowProducts(TraceRule):
    """Products of a trace with unaligned extents, or in f32 without TF32.

    What it does:
        Finds products on matrix units with rows of operands or of the result that are no multiple
        of 16 bytes. Finds f32 products and convolutions on vector units where the target has TF32.
        They save at most their time less their lower bound, that in TF32 for the latter.

    Why is this bad:
        Rows that are not aligned to 16 bytes need narrower loads.
        TF32 multiplies f32 about eight times as fast, with 10 bits of mantissa.

    Example:
        torch.nn.Linear(768, 50257)

    Use instead:
        torch.nn.Linear(768, 50304)
        torch.set_float32_matmul_precision("high")         # TF32

    Source:
        NVIDIA, Matrix multiplication background user's guide, requirements to use tensor cores.
    """

    code = "PF505"

    def check_trace(self, subject: TracedSubject) -> Iterator[Finding]:
        """Yield unaligned products, and products without TF32, by operator."""
        # one finding for each operator and type: it names the extents of the kernel that takes
        # longest, which is the first in the summary
        by_extents: dict[tuple[str, str, str], list[KernelTime]] = {}
        by_name: dict[str, list[KernelTime]] = {}
        first_seen: dict[tuple[str, str], str] = {}
        for k in subject.summary.bounded:
            shape = ProductShape.of(k.floor)
            if in_tf32_s(subject, k) is not None:
                by_name.setdefault(name_of(k), []).append(k)
            elif shape is not None and (rows_off := unaligned(k, shape)):
                extents = ", ".join(f"{name} = {size} (of {each})" for name, size, each in rows_off)
                key = name_of(k), shape.dtype
                by_extents.setdefault((*key, first_seen.setdefault(key, extents)), []).append(k)
        for (name, dtype, extents), kernels in by_extents.items():
            floor_s = sum(k.floor.floor_s * k.executions for k in kernels if k.floor)
            yield self.at(
                name,
                f"{dtype} products with unaligned rows, as {extents}: {amount(rows(kernels))}",
                "pad the extents to whole multiples once, in the weights",
                subject.saves(sum(k.operator_ns for k in kernels), floor_s),
            )
        for name, kernels in by_name.items():
            floor_s = sum((in_tf32_s(subject, k) or 0.0) * k.executions for k in kernels)
            yield self.at(
                name,
                f"f32 products without TF32: {amount(rows(kernels))}",
                'torch.set_float32_matmul_precision("high"); check the model\'s quality',
                subject.saves(sum(k.operator_ns for k in kernels), floor_s),
            )


def rows(kernels: list[KernelTime]) -> list[tuple[int, int, str]]:
    """Return executions, time in nanoseconds and extents of operators, for `amount`."""
    return [(k.executions, k.operator_ns, k.shapes) for k in kernels]


def unaligned(k: KernelTime, shape: ProductShape) -> tuple[tuple[str, int, int], ...]:
    """Return name (m, n or k), extent and required multiple of unaligned rows of a product.

    A row lies along the axis with stride 1. Rows of the result have n elements. Rows of an operand
    are read from its recorded strides; without strides, the first operand is taken as row-major,
    with rows of k elements. Empty for products on vector units: f32, f64 and those of vectors.
    """
    if shape.dtype in ("f32", "f64") or min(shape.m, shape.n, shape.k) == 1:
        return ()
    dtype = DType.F32 if shape.dtype == TF32 else dtype_named(shape.dtype)
    multiple = GRANULE_BYTES * 8 // dtype.bits
    recorded = k.call.arguments if k.call else ()
    # extent by stride, of the last two axes of each operand
    axes = [
        dict(zip(a.strides[-2:], a.sizes[-2:], strict=True))
        for a in recorded
        if isinstance(a, TensorArgument) and a.strides is not None and len(a.strides) > 1
    ]
    # lengths of rows; an operand without an axis of stride 1 adds none
    lengths = {shape.n, *(axis.get(1, shape.n) for axis in axes)} if axes else {shape.n, shape.k}
    # by extent, so that of equal extents only the last name is reported
    extents = {int(getattr(shape, name)): name for name in "mkn"}
    return tuple((n, e, multiple) for e, n in extents.items() if e in lengths and e % multiple)


def in_tf32_s(subject: TracedSubject, k: KernelTime) -> float | None:
    """Return the lower bound in TF32 of f32 products that do not use it; None for others."""
    machine = subject.summary.target
    if machine is None or k.call is None or k.floor is None or k.floor.tf32:
        return None
    if not _F32.search(k.kernel) or (Unit.MATRIX, TF32) not in machine.compute:
        return None
    work = counted(k.call, (k.kernel,))
    if work is None or work.dtype is not DType.F32 or not work.counts.mac:
        return None
    times_s = Floors(machine, tf32=True).times_s(work.counts, work.dtype)
    return float(max(times_s.values()))
