"""Confidence in a predicted time: a grade and its main reason."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.estimate import ROUNDING, Estimate, Predictor
from perfc.analyzers.estimate.interval import HIGH_ERROR, MEDIUM_ERROR
from perfc.common.fitted import data_next_to
from perfc.ir import record
from perfc.passes.roofline.cost import Tier

from ..amounts import ratio
from ..names import emulated, machine_title, runs_elsewhere
from ..units import share, time_text
from .coverage import listed
from .uncertainty import LEAST_SHARE, in_doubt

if TYPE_CHECKING:
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.api import Report

LEAST_MEASURED = 0.5
"""Minimum share of the time in kernels of kinds measured on the machine, for that to be the reason
of a high grade."""
LEAST_CLIPPED = 0.5
"""Share of the time predicted below its lower bound that makes the grade low: *assumed*, as
`LEAST_IN_DOUBT`."""
LEAST_RESIDUAL = 0.05
"""Relative difference of measured runs from the sum of their kernels, above which it is part of the
words."""

NOUNS: dict[str, str] = data_next_to(__file__)
"""Nouns for kernel classes and kinds; the noun of any other is its name."""


class Grade(Enum):
    """Grade of confidence in a predicted time, highest first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@record
class Confidence:
    """Grade of confidence and its main reason.

    Args:
        grade: high, medium or low.
        reason: main reason, in words that do not begin a sentence.
        residual: what measured runs take beyond the kernels, as text; "" if about nothing.
    """

    grade: Grade
    reason: str
    residual: str = ""

    @property
    def words(self) -> str:
        """Return the reason and residual as text."""
        return "; ".join(filter(None, (self.reason, self.residual)))


def confidence(report: Report, table: PredictionTable) -> Confidence:
    """Grade a prediction and give the main reason.

    The grade follows the median error implied by the prediction interval: at most 10 % is high, at
    most 25 % is medium. It is low above that, if the model's family is unknown or part of the costs
    is, if the runtime does not run on the machine, if the machine lacks units for a type of
    products, or if half of the time is a lower bound in place of a prediction below it or depends
    on measured rates that were not reproducible. It is at most medium if a twentieth is such a
    bound, or if half of the time depends on assumed rates.
    """
    # reasons for a low grade come first, from the most to the least serious
    if report.module.origin.assumed:
        return Confidence(Grade.LOW, report.module.origin.assumed)
    if report.cost.is_bound:
        return Confidence(Grade.LOW, uncounted(report))
    if report.kernels.alternatives:
        return Confidence(Grade.LOW, "data decide between branches: the dearer one is counted")
    if not table.kernels:
        return Confidence(Grade.HIGH, "no kernel is launched")
    unsupported = runs_elsewhere(report.kernels.runtime, report.machine) or emulated(
        report.machine, {k.dtype.code for k in report.roofline.kernels if k.dtype is not None}
    )
    if unsupported:
        return Confidence(Grade.LOW, unsupported)
    raised, clipped_share = at_bound(report, table)
    if clipped_share >= LEAST_CLIPPED:
        return Confidence(Grade.LOW, raised)
    if unsteady := in_doubt(report, table, is_measured=True):
        return Confidence(Grade.LOW, unsteady)
    error = table.total.time.middle_error
    doubt = next(iter(table.outside), "") if table.total.predictor else in_doubt(report, table)
    doubt = doubt or (raised if clipped_share >= LEAST_SHARE else "")
    if error <= HIGH_ERROR and not doubt:
        return Confidence(Grade.HIGH, known(report, table), residual(table))
    grade = Grade.MEDIUM if error <= MEDIUM_ERROR else Grade.LOW
    reason = doubt if doubt and not table.is_host_bound else unknown(report, table)
    return Confidence(grade, reason, residual(table))


def at_bound(report: Report, table: PredictionTable) -> tuple[str, float]:
    """Return which kernels were predicted below their bounds, and their share of the time."""
    where, total = machine_title(report.machine), table.total
    if total.predictor:
        is_raised = 0 < total.time_s <= total.floor_s * (1 + ROUNDING)
        return f"measured runs gave less than the lower bound on {where}", float(is_raised)
    clipped = [k for k in table.kernels if k.is_clipped]
    if not clipped:
        return "", 0.0
    noun = noun_of(max(clipped, key=lambda k: k.time_s))
    clipped_share = math.fsum(k.time_s for k in clipped) / table.kernels_s
    return f"{noun}s were predicted below their lower bound on {where}", clipped_share


def noun_of(estimate: Estimate) -> str:
    """Return the noun of a kernel's class."""
    return NOUNS.get(estimate.class_name, f"{estimate.class_name.replace('_', ' ')} kernel")


def residual(table: PredictionTable) -> str:
    """Return the factor by which measured runs exceed their kernels; "" if that is about 1."""
    if abs(table.run_factor - 1) < LEAST_RESIDUAL:
        return ""
    alone = time_text(table.timeline.time_s)
    return f"sum of kernels {alone} × {table.run_factor:.2g} (run-to-kernel ratio)"


def uncounted(report: Report) -> str:
    """Return the operators of unknown cost and the share of nodes without sizes."""
    names = [f"{name} x{len(nodes)}" for (name, _), nodes in report.cost.uncounted.items()]
    if not names:
        return "some nodes have unknown cost (--view coverage)"
    text = f"unknown cost of {listed(names)} (--view coverage)"
    unsized = report.cost.count(Tier.UNKNOWN)
    sizes = f"; {share(ratio(unsized, len(report.cost.nodes)))} of the nodes have unknown sizes"
    return text + (sizes if unsized else "")


def known(report: Report, table: PredictionTable) -> str:
    """Return the basis of a good prediction."""
    where = machine_title(report.machine)
    if table.publications:
        return f"this network was measured on {where} ({', '.join(table.publications)})"
    if table.total.predictor:
        return "similar whole runs were measured"
    measured_s = math.fsum(k.time_s for k in table.kernels if k.is_own)
    part = measured_s / table.kernels_s if table.kernels_s else 0.0
    if part >= LEAST_MEASURED:
        return f"kernels of these kinds were measured on {where}"
    return f"kernels of these kinds were measured on machines similar to {where}"


def unknown(report: Report, table: PredictionTable) -> str:
    """Return what widens the interval most: the host, a whole-run predictor or a kernel class."""
    if table.total.predictor:
        measured = (
            "measurements of this network" if table.publications else "similar measured models"
        )
        words = f"interval from the spread of {measured}"
        if table.is_host_bound:
            words += " on other hosts (--host-launch)"
        return next(iter(table.outside), words)
    if table.is_host_bound and report.deployment.host_launch is not None:
        return "host-bound, and launch times on a host vary"
    if table.is_host_bound:
        return "host-bound, and the launch overhead of the host is assumed, not measured"
    # kernels are grouped by the measurements behind them; the group whose intervals are the widest
    # in sum is the reason
    by_basis: dict[tuple[object, ...], list[int]] = {}
    for i, k in enumerate(table.kernels):
        by_basis.setdefault((k.predictor, k.class_name, k.is_own, k.is_extrapolating), []).append(i)

    def width_s(indices: list[int]) -> float:
        return math.fsum(
            table.kernels[i].summed.high - table.kernels[i].summed.low for i in indices
        )

    widest = max(by_basis.values(), key=width_s)[0]
    return of_kernel(report, widest, table.kernels[widest])


def of_kernel(report: Report, index: int, estimate: Estimate) -> str:
    """Return the reason for the uncertainty of one kernel."""
    where = machine_title(report.machine)
    noun = noun_of(estimate)
    match estimate.predictor:
        case Predictor.ROOFLINE:
            return f"no predictor covers {noun}s on {where}: roofline only"
        case Predictor.LAW if not estimate.is_own:
            return f"no {noun} was measured on {where}: its law is of other machines"
        case Predictor.LAW:
            return f"measured {noun}s on {where} vary widely around their law"
        case _:
            return learned(report, index, estimate, noun, where)


def learned(report: Report, index: int, estimate: Estimate, noun: str, where: str) -> str:
    """Return the reason for the uncertainty of a kernel predicted by forests."""
    from perfc.analyzers.estimators.forest import HALVES, basis

    rows = basis(report.execution, index)
    if rows is None:
        return f"no measured {noun} is similar to these"
    declared = report.roofline.kernels[index].dtype.code
    dtype = "TF32" if rows.dtype == "tf32" else rows.dtype
    if not estimate.is_own and report.machine.name not in rows.machines:
        # weights of bf16 also predict f16, and the reverse: the reason names the model's type
        half = declared if {declared, dtype} == HALVES else dtype
        return f"no measured {half} {noun} on {where if rows.machines else 'any machine'}"
    if not estimate.is_own:
        return f"no measured {dtype} {noun} on {where}"
    if not rows.is_timed_so:
        return f"every measured {dtype} {noun} on {where} was timed alone, none within a run"
    if estimate.is_extrapolating:
        return f"no measured {dtype} {noun} of similar shape on {where}"
    return f"times of measured {dtype} {noun}s on {where} vary as much"
