"""PF902: a target with unmeasured rates."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.machine import Machine, MemoryLevel
from perfc.passes.roofline.ceilings import KernelBound
from perfc.review.lint.rule import Finding, Rule, Saves, Severity, Subject
from perfc.view.report.sections.uncertainty import ENGINES, binding_entry
from perfc.view.report.units import share

LEAST_SHARE = 0.05
"""Minimum fraction of the run that an unmeasured ceiling binds."""


class UnmeasuredTarget(Rule):
    """A ceiling that binds much of the run and was not measured.

    What it does:
        Sums the time that each unit and memory level binds, and reports those above 5 % of the
        run whose rate in the target file is from the vendor or assumed.

    Why is this bad:
        No kernel reaches rated numbers. Sustained times, and the gains of all other findings, are
        too small by that difference.

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
        """Yield a finding for the unmeasured ceilings of this run."""
        report = subject.report
        table = report.prediction
        total = table.total.time_s
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
                f"{report.machine.name} has no measured rates for {names}",
                "measure it: `perfc calibrate` on such a machine",
            )


def unmeasured(bound: KernelBound, machine: Machine) -> str:
    """Return the ceiling that binds a kernel if it was not measured, else ""."""
    entry = binding_entry(bound, machine)
    if entry is None or entry.sustained is not None:
        return ""
    if isinstance(entry, MemoryLevel):
        return bound.binding.value
    key = entry.nominal.key.split(".")  # as compute.matrix.f16.sustained_flop_per_s
    dtype = key[2] if len(key) > 2 else bound.vector_dtype.code
    return f"{ENGINES[bound.binding].value} {dtype}"
