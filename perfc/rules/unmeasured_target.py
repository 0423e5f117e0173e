"""PF902: the target has rates that nobody measured."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.lint.finding import Finding, Saves, Severity
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject
from perfc.machine import Machine, MemoryLevel
from perfc.passes.ceilings import KernelBound
from perfc.report.uncertainty import ENGINES, binding_entry
from perfc.report.units import share

LEAST_SHARE = 0.05
"""Kernels that a ceiling binds for less of the run are not worth a measurement."""


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
        table = report.prediction
        total = table.kernels_total.time_s
        time_s: dict[str, float] = {}
        for bound, estimate in zip(subject.kernels, table.kernels, strict=True):
            name = unmeasured(bound, report.machine)
            if name:
                time_s[name] = time_s.get(name, 0.0) + estimate.time_s
        shares = {n: t / total for n, t in time_s.items() if total and t / total >= LEAST_SHARE}
        if shares:
            ordered = sorted(shares.items(), key=lambda item: -item[1])
            names = ", ".join(f"{n} ({share(s)} of the time)" for n, s in ordered)
            yield self.finding(
                f"{report.machine.name} states rated figures only for {names}",
                "measure it: `perfc calibrate` on such a machine",
            )


def unmeasured(bound: KernelBound, machine: Machine) -> str:
    """The ceiling that binds a kernel, where nobody measured it; "" where somebody did."""
    entry = binding_entry(bound, machine)
    if entry is None or entry.sustained is not None:
        return ""
    if isinstance(entry, MemoryLevel):
        return bound.binding.value
    key = entry.nominal.key.split(".")
    dtype = key[2] if len(key) > 2 else bound.vector_dtype.code
    return f"{ENGINES[bound.binding].value} {dtype}"
