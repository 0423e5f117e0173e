"""PF902: the target has rates that nobody measured."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.lint.finding import Finding, Saves, Severity
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject
from perfc.machine import Machine, Unit
from perfc.passes.ceilings import Ceiling, KernelBound
from perfc.report.units import share

LEAST_SHARE = 0.05
"""Kernels that a ceiling binds for less of the run are not worth a measurement."""
UNITS = {
    Ceiling.MATRIX: Unit.MATRIX,
    Ceiling.WAVES: Unit.MATRIX,
    Ceiling.VECTOR: Unit.VECTOR,
    Ceiling.SPECIAL: Unit.SPECIAL,
    Ceiling.INTEGER: Unit.INTEGER,
}
LEVELS = {Ceiling.L1: "l1", Ceiling.L2: "l2", Ceiling.DEVICE: "device"}


class UnmeasuredTarget(Rule):
    """A ceiling that binds a good part of the run has a rated number only.

    What it does:
        Sums the time that each unit and memory level binds, and reports those above a twentieth
        of the run whose rate in the target file is a vendor's or an assumption.

    Why is this bad:
        Rated numbers are reached by no kernel. Times, and the gains of all other findings, are
        too small by what the hardware falls short.

    Example:
        perfc lint model.onnx --target l4

    Use instead:
        perfc calibrate -o l4-measured.toml; perfc lint model.onnx --target l4-measured.toml

    Source:
        Yang et al. 2020, arXiv:2009.05257: empirical ceilings.
    """

    code = "PF902"
    saves = Saves.KNOWLEDGE
    severity = Severity.NOTE

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Ceilings of this run without a measurement."""
        report = subject.report
        total = report.roofline.time_s
        time_s: dict[str, float] = {}
        for bound in subject.kernels:
            name = unmeasured(bound, report.machine, report.tf32)
            if name:
                time_s[name] = time_s.get(name, 0.0) + bound.sustained_s
        shares = {n: t / total for n, t in time_s.items() if total and t / total >= LEAST_SHARE}
        if shares:
            ordered = sorted(shares.items(), key=lambda item: -item[1])
            names = ", ".join(f"{n} ({share(s)} of the time)" for n, s in ordered)
            yield self.finding(
                f"{report.machine.name} states rated figures only for {names}",
                "measure it: `perfc calibrate` on such a machine",
            )


def unmeasured(bound: KernelBound, machine: Machine, tf32: bool) -> str:
    """The ceiling that binds a kernel, where nobody measured it; "" where somebody did."""
    ceiling = bound.binding
    unit = UNITS.get(ceiling)
    if unit is not None:
        dtype = bound.dtype.code if unit is Unit.MATRIX or bound.dtype.is_float else "f32"
        code = "i32" if unit is Unit.INTEGER else dtype
        entry = machine.entry(unit, code, allow_tf32=tf32)
        key = entry.nominal.key.split(".")
        shown = key[2] if len(key) > 2 else code
        return "" if entry.sustained is not None else f"{unit.value} {shown}"
    level = machine.level(LEVELS[ceiling]) if ceiling in LEVELS else None
    return "" if level is None or level.sustained is not None else ceiling.value
