"""Prediction of a run: time, prediction interval and predictors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.ir.record import project

from ..amounts import key, ratio
from ..formats.document import (
    Amount,
    Column,
    Fact,
    Facts,
    Note,
    Section,
    in_seconds,
    tabulate,
)
from ..memory_sections.footprint import mig_slice
from ..units import INTERVAL, LOWER_BOUND, Unit, share, span, time_text
from .limits import held_by

if TYPE_CHECKING:
    from perfc.analyzers.estimate.estimate import CandidateRun, Estimate
    from perfc.analyzers.runs.energy import Energy
    from perfc.analyzers.runs.prediction import PredictionTable
    from perfc.api import Report
    from perfc.passes.roofline.ceilings import KernelBound

    from .confidence import Confidence

QUANTITIES: Mapping[str, tuple[str, Unit]] = {
    "time_s": ("time", Unit.SECOND),
    "memory_bytes": ("memory", Unit.BYTE),
    "energy_j": ("energy", Unit.JOULE),
    "power_w": ("power", Unit.WATT),
    "sm_active": ("active multiprocessors", Unit.SHARE),
}
"""Title and unit of each ``Quantity`` of whole-run predictors, by its value."""


@record
class Forecast:
    """Prediction of one kernel, with all its launches in one run.

    Args:
        share: share of the predicted time of the run.
        time_s: predicted time in the run; at least the lower bound.
        low_s: lower end of the 90 % prediction interval.
        high_s: upper end of the interval.
        wait_s: part of the time that waits for the host.
        gap_s: part of the time between launches.
        bound: limiting ceiling, or launch.
        predictor: fitted to this machine and runtime, a law of its class, learned on several
            machines, or the roofline.
        class_name: class of the measured kernels it is based on.
        is_extrapolating: True if no measured kernel is similar.
        is_measured: True if kernels of the class were measured on this or a similar machine.
        energy_j: energy of the board; None without a fitted power model.
        energy_low_j: lower end of the energy's interval.
        energy_high_j: upper end of the energy's interval.
        power_w: mean power of the board during the kernel.
    """

    share: float
    time_s: float
    low_s: float
    high_s: float
    wait_s: float
    gap_s: float
    bound: str
    predictor: str
    class_name: str
    is_extrapolating: bool
    is_measured: bool
    energy_j: float | None
    energy_low_j: float | None
    energy_high_j: float | None
    power_w: float | None


@record
class PredictorShare:
    """One predictor and its share of the kernels.

    Args:
        predictor: name of the predictor.
        kernels: number of kernels it predicted.
        share: share of the predicted kernel time.
        classes: kernel classes it is based on, longest first.
    """

    predictor: str
    kernels: int
    share: float
    classes: tuple[str, ...]


@record
class OtherRun:
    """Prediction of a whole-run predictor that was not used.

    Args:
        predictor: name of the predictor, as for ``--predictor``.
        time_s: predicted time.
        low_s: lower end of its interval.
        high_s: upper end of its interval; None if it has none.
        words: description of its training runs.
        reason: why it was not used.
        outside: why it extrapolates; empty if it does not.
    """

    predictor: str
    time_s: float
    low_s: float
    high_s: float | None
    words: str
    reason: str
    outside: tuple[str, ...]

    @classmethod
    def of(cls, run: CandidateRun) -> OtherRun:
        """Create the view of a candidate run."""
        high_s = None if math.isinf(run.high_s) else run.high_s  # JSON has no infinity
        return project(cls, run, high_s=high_s, reason=run.withheld)

    @property
    def ends(self) -> str:
        """Return the prediction interval as text."""
        if self.high_s is None:
            return f"from {time_text(self.low_s)}"
        return span(self.low_s, self.high_s, Unit.SECOND)


@record
class Prediction:
    """Prediction of a run.

    Args:
        floor_s: lower bound of the run.
        time_s: predicted time: ``kernels_s`` and ``fixed_s``.
        predictor: whole-run predictor; empty if the kernels are summed.
        whole: description of that predictor and its training runs.
        kernels_s: sum of ``predicted.time_s`` of all kernels.
        fixed_s: part of the time of no kernel: start, end, and nodes that run on the host.
        run_factor: time of measured runs of such networks over that of the timeline of the kernels,
            by which all times are scaled; 1 without a whole-run predictor.
        low_s: lower end of the 90 % prediction interval.
        high_s: upper end of the interval.
        wait_s: part of the time in which the device waits for the host.
        gap_s: part of the time between launches.
        energy_j: energy of the board in one run; unknown without a fitted power model.
        energy_low_j: lower end of the energy's interval.
        energy_high_j: upper end of the energy's interval.
        power_w: mean power of the board.
        predictors: predictors with their shares.
        notes: warnings about the prediction.
        others: predictions of whole-run predictors that were not used.
        other_quantities: by the whole-run predictor, ``memory_bytes`` or ``energy_j``.
        mig_profile: smallest MIG slice that holds allocator and context, where a whole-run
            predictor gives a memory; null without known slices.
    """

    floor_s: Amount
    time_s: Amount
    predictor: str
    whole: str
    kernels_s: Amount
    fixed_s: Amount
    run_factor: float
    low_s: Amount
    high_s: Amount
    wait_s: Amount
    gap_s: Amount
    energy_j: Amount
    energy_low_j: Amount
    energy_high_j: Amount
    power_w: Amount
    predictors: tuple[PredictorShare, ...]
    notes: tuple[str, ...]
    others: tuple[OtherRun, ...] = ()
    other_quantities: Mapping[str, float] = field(default_factory=dict)
    mig_profile: str | None = None


def forecast(
    estimate: Estimate, energy: Energy | None, total_s: float, bound: KernelBound
) -> Forecast:
    """Return the prediction of one kernel."""
    return project(
        Forecast,
        estimate,
        share=ratio(estimate.time_s, total_s),
        bound=key(held_by(bound, estimate.time_s, estimate.idle_s)),
        **fields_of(energy),
    )


def fields_of(energy: Energy | None) -> dict[str, float | None]:
    """Return the fields of an energy in views; None without a fitted power model."""
    names = ("energy_j", "energy_j"), ("energy_low_j", "low_j"), ("energy_high_j", "high_j")
    return {name: getattr(energy, of, None) for name, of in (*names, ("power_w", "power_w"))}


def collect(report: Report) -> Prediction:
    """Collect the prediction of ``report``."""
    table = report.prediction
    total = table.total
    energies = {
        name: Amount(value, Unit.WATT if name == "power_w" else Unit.JOULE)
        for name, value in fields_of(table.energy).items()
    }
    return project(
        Prediction,
        table,
        floor_s=Amount(total.floor_s, Unit.SECOND, is_bound=True),
        time_s=in_seconds(total.time_s),
        predictor=total.predictor,
        kernels_s=in_seconds(table.kernels_s),
        fixed_s=in_seconds(total.fixed_s),
        low_s=in_seconds(total.low_s),
        high_s=in_seconds(total.high_s),
        wait_s=in_seconds(table.wait_s),
        gap_s=in_seconds(table.gap_s),
        **energies,
        predictors=shares(table),
        others=tuple(map(OtherRun.of, report.other_runs)),
        other_quantities=dict(table.other_quantities),
        mig_profile=mig_slice(report) if table.other_quantities else None,
    )


def shares(table: PredictionTable) -> tuple[PredictorShare, ...]:
    """Return the share of each predictor, largest first."""
    times: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    for k in table.kernels:
        name = k.predictor.value
        classes = times.setdefault(name, {})
        classes[k.class_name] = classes.get(k.class_name, 0.0) + k.time_s
        counts[name] = counts.get(name, 0) + 1
    total_s = sum(sum(c.values()) for c in times.values())
    answered = (
        PredictorShare(
            name,
            counts[name],
            ratio(sum(classes.values()), total_s),
            tuple(sorted(classes, key=lambda c: (-classes[c], c))),
        )
        for name, classes in times.items()
    )
    return tuple(sorted(answered, key=lambda p: -p.share))


COLUMNS = (
    Column("predictor"),
    Column("kernels", "kernels", Unit.COUNT),
    Column("share", "share", Unit.SHARE),
    Column("classes", "kernel classes", is_name=True, cell=lambda p: ", ".join(p.classes)),
)


def section(view: Prediction, confidence: Confidence | None) -> Section:
    """Return the section of the prediction: time, interval, confidence and predictors."""
    ends = span(view.low_s.value or 0.0, view.high_s.value or 0.0, Unit.SECOND)
    tight = share(ratio(view.floor_s.value or 0, view.time_s.value or 0))
    parts = [
        f"{part} {words}"
        for part, words in ((view.gap_s, "between launches"), (view.wait_s, "waiting for the host"))
        if part.value
    ]
    fixed = [Fact("fixed", view.fixed_s, "of no kernel")] if view.fixed_s.value else []
    rows = [
        Fact("predicted", view.time_s, view.whole or "kernels and their launches"),
        Fact("kernels", view.kernels_s, "; ".join(parts) or "their sum"),
        *fixed,
        *(
            Fact(
                other.predictor,
                in_seconds(other.time_s),
                f"{other.ends}; not used: {other.reason}",
            )
            for other in view.others
        ),
        Fact(INTERVAL, None, ends),
        Fact(LOWER_BOUND, view.floor_s, f"{tight} of the predicted time"),
    ]
    if confidence is not None:
        words = f"{confidence.grade.value}: {confidence.words}"
        rows.insert(-1, Fact("confidence", None, words))  # before the lower bound
    if view.energy_j.value is not None:
        ends = span(view.energy_low_j.value or 0.0, view.energy_high_j.value or 0.0, Unit.JOULE)
        words = f"{ends}; {view.power_w} on average, board only"
        rows.append(Fact("energy", view.energy_j, words))
    for name, value in view.other_quantities.items():
        title, unit = QUANTITIES[name]
        rows.append(Fact(title, Amount(value, unit), f"by {view.predictor}, without an interval"))
    if view.mig_profile:
        words = "the smallest that holds allocator and context, as by perfc mig"
        rows.append(Fact("MIG slice", None, f"{view.mig_profile}: {words}"))
    table = (tabulate(COLUMNS, view.predictors),) if view.predictors else ()
    reason = "" if confidence is None else confidence.reason
    # a note that is the reason of the confidence is in its row already
    notes = tuple(Note(n, is_warning=True) for n in view.notes if not reason or reason not in n)
    return Section("prediction", "prediction", (Facts(tuple(rows)), *table, *notes))
