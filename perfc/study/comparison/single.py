"""Describe one kernel on several machines: the JSON document of ``perfc op``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from perfc.deployment import Deployment
from perfc.ir import Dim, Module, record
from perfc.passes.fusion.kernel import Kernel as FusedKernel
from perfc.view.report.formats.document import (
    Amount,
    Document,
    Fact,
    Facts,
    Note,
    Section,
    in_bytes,
)
from perfc.view.report.units import Unit, plural, quantity, size_text
from perfc.view.result import Fields, ResultLayout

from .fields import COMPARISON
from .rows import Comparison, Row
from .views import document as side_by_side


@record
class Kernels:
    """Work of the kernels of one run, in its precision.

    Args:
        flop: operations.
        mac: multiply-accumulates.
        read_bytes: compulsory bytes read.
        write_bytes: compulsory bytes written.
        count: number of kernels; several if the runtime has no single kernel for it.
    """

    flop: int
    mac: int
    read_bytes: int
    write_bytes: int
    count: int

    @classmethod
    def of(cls, module: Module, how: Deployment) -> Kernels:
        """Count the work in the model of one node, independent of the target.

        Helper launches depend on the target and are left out.
        """
        from perfc.api import analyze
        from perfc.ir import evaluate

        # any target: work and compulsory traffic do not depend on it
        report = analyze(module, "a100", deployment=how)
        kernels = [k for k in report.kernels.kernels if k.helper is None]
        env = report.env

        def total(of: Callable[[FusedKernel], Dim]) -> int:
            return sum(int(evaluate(of(k) * k.repeat, env)) for k in kernels)

        return cls(
            total(lambda k: k.work.flop),
            total(lambda k: k.work.mac),
            total(lambda k: k.traffic.read_bytes),
            total(lambda k: k.traffic.write_bytes),
            count=len(kernels),
        )

    @property
    def bytes(self) -> int:
        """Return the bytes read and written."""
        return self.read_bytes + self.write_bytes


NOTHING = Kernels(0, 0, 0, 0, 0)


@record
class KernelComparison(Comparison):
    """A kernel on several machines.

    Args:
        work: work of the kernels of one run.
    """

    layout: ClassVar[str] = "perfc.study.comparison.single:LAYOUT"
    work: Kernels = NOTHING


def document(comparison: KernelComparison) -> Document:
    """Build the document: the kernel's work and one row per target."""
    kernels = comparison.work
    reads, writes = map(size_text, (kernels.read_bytes, kernels.write_bytes))
    mac = quantity(kernels.mac, Unit.MAC)
    several = f"; {plural(kernels.count, 'kernel')}" if kernels.count > 1 else ""
    facts = (
        Fact("work", Amount(kernels.flop, Unit.FLOP), f"{mac}, each counted as two flop{several}"),
        Fact("traffic", in_bytes(kernels.bytes), f"{reads} read, {writes} written"),
    )
    targets = side_by_side(comparison)
    section = targets.sections[0]
    notes = tuple(note_of(kernels, row) for row in comparison.rows)
    work = Section("kernel", "kernel", (Facts(facts),))
    return replace(targets, sections=(work, replace(section, parts=(*section.parts, *notes))))


def note_of(kernels: Kernels, row: Row) -> Note:
    """Return the rates implied by the predicted time, and its confidence."""
    counts = ((kernels.flop, Unit.FLOP_PER_S), (kernels.bytes, Unit.BYTE_PER_S))
    rates = [quantity(n / row.time_s, unit) for n, unit in counts if n and row.time_s]
    text = f"{row.verdict.target}: {' and '.join(rates)} at the expected time"
    confidence = row.verdict.confidence
    return Note(
        f"{text}; {confidence.grade.value} confidence: {confidence.reason}" if confidence else text
    )


LAYOUT = ResultLayout(
    "perfc-op/1",
    Fields(KernelComparison, {**{f.name: f for f in COMPARISON.all}, "work": "work"}),
    document,
    rows="rows",
)
